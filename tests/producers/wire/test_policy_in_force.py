"""What a policy says takes effect on the wire: times, codes, weights and required fields."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conversation import (
    MODERN,
    Conversation,
    accept,
    accepted,
    call,
    completion,
    failures,
    findings,
    form,
    form_params,
    interim,
    retry,
    success,
    url,
)
from policies import policy_for_tool, policy_with

from elicitation_receipts.producers.policy import BUILT_IN, Policy
from elicitation_receipts.producers.policy.document import Weight
from elicitation_receipts.producers.policy.words import Effect, FieldNames, RequiredText
from elicitation_receipts.schemas.vocabulary import (
    Event,
    FindingName,
    Gate,
    Mode,
    Proof,
    Severity,
)


def asked(policy: Policy, question: object = None) -> Conversation:
    """A tool has been called and has put a question."""
    talk = Conversation(policy=policy)
    talk.client(call(1))
    talk.server(question or form(7))  # type: ignore[arg-type]
    return talk


# Times


def test_a_question_expires_when_the_policys_time_is_over() -> None:
    talk = asked(policy_with("ttl", question_s=30))
    assert talk.last.expires_at == talk.last.occurred_at + 30_000_000
    talk.wait(seconds=29.9)
    assert talk.story == ["requested open"]
    talk.wait(seconds=0.1)
    assert talk.story[1:] == ["expired expired by runtime [unanswered]"]


def test_an_answer_after_the_time_is_late_even_where_nobody_looked_at_the_clock() -> None:
    talk = asked(policy_with("ttl", question_s=30))
    talk._elapsed_us += 31_000_000
    talk.client(accept(7, {"branch": "main"}))
    assert talk.story[1:] == [
        "expired expired by runtime [unanswered]",
        "noted [answer_after_end]",
    ]


def test_a_url_consented_to_is_unproven_when_its_session_is_over() -> None:
    talk = asked(policy_with("ttl", url_s=30), url(7))
    talk.wait(seconds=20)
    talk.client(accept(7))
    talk.wait(seconds=10)
    talk.server(completion())
    assert talk.story[1:] == [
        "answered consented by person_claimed",
        "abandoned unproven by runtime",
        "noted [unknown_completion_id]",
    ]
    assert talk.of(Event.COMPLETED) == []


def test_each_mode_has_a_time_of_its_own() -> None:
    policy = policy_with("ttl", question_s=30, url_s=None)
    talk = asked(policy, url(7))
    assert talk.last.expires_at is None
    talk.wait(seconds=100)
    assert talk.story == ["requested open"]


def test_the_next_round_has_the_whole_time_again() -> None:
    talk = Conversation(MODERN, policy=policy_with("ttl", question_s=30))
    talk.client(call(1))
    talk.server(interim(1, {"a": form_params()}, state="s1"))
    talk.wait(seconds=20)
    talk.client(retry(2, {"a": accepted({"branch": 5})}, state="s1"))
    talk.server(interim(2, {"a": form_params()}, state="s2"))
    talk.wait(seconds=20)
    assert talk.last.event is Event.REQUESTED
    talk.wait(seconds=10)
    assert talk.last.event is Event.EXPIRED


# Rules of an operation


def test_the_codes_of_an_operation_stand_on_its_receipts_alone() -> None:
    policy = policy_for_tool(
        "deploy", flow="release", purpose="choose-region", notice="n1", retention_class="short"
    )
    talk = asked(policy)
    talk.wait(seconds=5)
    talk.client(accept(7, {"branch": "main"}))
    talk.server(success(1))
    for receipt in talk.receipts:
        assert receipt.flow == "release"
        assert (receipt.purpose, receipt.notice) == ("choose-region", "n1")
        assert receipt.retention_class == "short"
    other = Conversation(policy=policy)
    other.client(call(1, tool="delete"))
    other.server(form(7))
    assert (other.last.flow, other.last.purpose, other.last.retention_class) == (None, None, None)


@pytest.mark.parametrize("modes", [(), (Mode.URL,), (Mode.URL, Mode.TASK_INPUT)])
def test_a_mode_the_operation_may_not_use_is_found(modes: tuple[Mode, ...]) -> None:
    talk = asked(policy_for_tool("deploy", modes=modes))
    assert findings(talk.last) == {FindingName.MODE_NOT_ALLOWED}


def test_a_mode_the_operation_may_use_is_not() -> None:
    assert findings(asked(policy_for_tool("deploy", modes=(Mode.FORM,))).last) == set()


def test_the_proof_an_operation_requires_is_required_of_it_alone() -> None:
    policy = policy_for_tool("deploy", required_proof=Proof.AUTHENTICATED_CALLBACK)
    for tool, outcome in (("deploy", "noted [proof_insufficient]"), ("other", "completed")):
        talk = Conversation(policy=policy)
        talk.client(call(1, tool=tool))
        talk.server(url(7))
        talk.wait(seconds=5)
        talk.client(accept(7))
        talk.server(completion())
        assert talk.story[2].startswith(outcome)


# Findings


def test_a_finding_weighs_what_the_policy_says() -> None:
    heavy = Weight(severity=Severity.ERROR, gate=Gate.HARD)
    policy = replace(BUILT_IN, findings={FindingName.MISSING_DESCRIPTION: heavy})
    talk = asked(policy, form(7, properties={"branch": {"type": "string"}}))
    (finding,) = talk.last.findings
    assert (finding.severity, finding.gate) == (Severity.ERROR, Gate.HARD)


def test_what_is_off_is_not_looked_for() -> None:
    off = Weight(effect=Effect.OFF)
    policy = replace(BUILT_IN, findings={FindingName.MISSING_DESCRIPTION: off})
    assert findings(asked(policy, form(7, properties={"branch": {"type": "string"}})).last) == set()


@pytest.mark.parametrize(
    ("required", "field", "lacks"),
    [
        (RequiredText.NONE, {}, False),
        (RequiredText.EITHER, {}, True),
        (RequiredText.EITHER, {"title": "B"}, False),
        (RequiredText.EITHER, {"description": "B"}, False),
        (RequiredText.TITLE, {"description": "B"}, True),
        (RequiredText.TITLE, {"title": "B"}, False),
        (RequiredText.DESCRIPTION, {"title": "B"}, True),
        (RequiredText.DESCRIPTION, {"description": "B"}, False),
        (RequiredText.BOTH, {"title": "B"}, True),
        (RequiredText.BOTH, {"title": "B", "description": "C"}, False),
    ],
)
def test_the_policy_says_which_text_a_field_must_have(
    required: RequiredText, field: dict[str, str], lacks: bool
) -> None:
    policy = policy_with("form", required_text=required)
    talk = asked(policy, form(7, properties={"branch": {"type": "string", **field}}))
    assert findings(talk.last) == ({FindingName.MISSING_DESCRIPTION} if lacks else set())


@pytest.mark.parametrize("single_use", [True, False])
def test_whether_a_state_may_be_used_again_is_the_policys_word(single_use: bool) -> None:
    talk = Conversation(MODERN, policy=policy_with("resume", single_use=single_use))
    talk.client(call(1))
    talk.server(interim(1, {"a": form_params()}, state="s1"))
    talk.wait(seconds=5)
    talk.client(retry(2, {"a": accepted({"branch": "main"})}, state="s1"))
    talk.client(retry(3, {"a": accepted({"branch": "main"})}, state="s1"))
    seen = {name for receipt in talk.receipts for name in findings(receipt)}
    assert (FindingName.STATE_REUSED in seen) is single_use


# What a receipt must hold


def test_a_field_that_an_outcome_requires_and_that_is_empty_is_found() -> None:
    policy = replace(BUILT_IN, receipt_fields={"accepted": ("trace_id",), "every": ("tenant",)})
    talk = asked(policy)
    assert findings(talk.last) == set()
    talk.wait(seconds=5)
    talk.client(accept(7, {"branch": "main"}))
    assert findings(talk.last) == {FindingName.RECEIPT_FIELD_MISSING}
    talk.server(success(1))
    assert findings(talk.last) == set()


def test_failed_fields_stand_by_their_place_where_the_policy_says_so() -> None:
    for names, field in ((FieldNames.KEEP, "branch"), (FieldNames.ORDINAL, "[0]")):
        talk = asked(replace(BUILT_IN, field_names=names))
        talk.wait(seconds=5)
        talk.client(accept(7, {"branch": 5}))
        assert failures(talk.last) == [(field, "type")]
