"""The vocabularies say what the schema file says, and hold every name the specification has."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest
from avro_schema import named_types

from elicitation_receipts.schemas import vocabulary
from elicitation_receipts.schemas.vocabulary import UNRECOGNIZED, FindingName, Gate, Outcome

FINDINGS = {
    Gate.HARD: """
        secret_field data_class_prohibited approval_as_field redaction_failed credential_in_url
        content_on_url_answer content_on_refusal arguments_changed identity_mismatch
        value_leaked_in_error
    """,
    Gate.PROTOCOL: """
        before_initialized mode_not_declared mode_not_allowed oversized_message
        no_originating_request unknown_mode mixed_mode_members missing_message
        missing_elicitation_id missing_requested_schema schema_off_subset empty_schema duplicate_id
        id_not_verbatim id_reused_on_retry unknown_response_id duplicate_member batch_array
        malformed_message error_answer accept_schema_mismatch unasked_field unknown_response_key
        missing_response state_not_echoed state_invented unknown_completion_id retired_code
        unknown_action
    """,
    Gate.RECOVERY: """
        answer_not_delivered proof_insufficient receipt_field_missing state_reused duplicate_answer
        answer_after_end duplicate_completion duplicate_effect unanswered task_expired
        resume_without_answer
    """,
    Gate.UX: """
        url_in_text url_not_https url_scheme url_userinfo url_punycode url_mixed_script
        url_ip_literal url_origin_not_allowed reask_loop reask_after_refusal reask_after_accept
        implausible_latency needless_question too_many_fields value_limit missing_description
    """,
}

WORDS = {
    "Event": """
        requested refused answered completed resumed expired abandoned
        stream_opened stream_closed policy_loaded noted lost
        key_rotated key_destroyed hold_set hold_lifted segment_sealed segment_dropped looked_up
        reported exported
    """,
    "Carrier": "server_request url_required_error multi_round_trip task",
    "Mode": "form url task_input unknown",
    "Presentation": "form url unknown",
    "Action": "accept decline cancel",
    "Outcome": """
        open consented accepted declined cancelled invalid completed unsupported errored blocked
        withdrawn expired abandoned unproven malformed ambiguous
    """,
    "DecidedBy": "person_claimed automatic_suspected policy runtime unknown",
    "Proof": "server_notification operation_result status_check authenticated_callback",
    "OperationResult": "success tool_error error",
    "Decision": "allow warn block not_evaluated",
    "Vantage": "stdio http asgi stream replay server",
    "Fidelity": "bytes parsed",
}

ENUMS = [
    value
    for value in vars(vocabulary).values()
    if isinstance(value, type) and issubclass(value, StrEnum) and value is not StrEnum
]
AVRO_ENUMS = {name: found for name, found in named_types().items() if found["type"] == "enum"}


def test_every_enum_of_the_schema_is_a_vocabulary_and_back() -> None:
    assert set(AVRO_ENUMS) == {enum.__name__ for enum in ENUMS}


@pytest.mark.parametrize("enum", ENUMS, ids=lambda enum: enum.__name__)
def test_symbols_are_the_words_and_one_for_foreign_readers(enum: type[StrEnum]) -> None:
    avro: dict[str, Any] = AVRO_ENUMS[enum.__name__]
    assert avro["symbols"] == [*map(str, enum), UNRECOGNIZED]
    assert avro["default"] == UNRECOGNIZED
    assert UNRECOGNIZED not in list(enum)


@pytest.mark.parametrize("name", WORDS)
def test_the_specification_has_these_words(name: str) -> None:
    assert set(getattr(vocabulary, name)) == set(WORDS[name].split())


@pytest.mark.parametrize("gate", Gate)
def test_the_specification_has_these_findings(gate: Gate) -> None:
    assert {name for name in FindingName if name.gate is gate} == set(FINDINGS[gate].split())


@pytest.mark.parametrize("finding", FindingName)
def test_every_finding_weighs_something(finding: FindingName) -> None:
    assert finding.default_severity in vocabulary.Severity


def test_what_is_not_terminal() -> None:
    assert {outcome for outcome in Outcome if not outcome.is_terminal} == {
        "open",
        "consented",
        "invalid",
    }
