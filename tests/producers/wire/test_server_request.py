"""The carrier of 2025-06-18 and 2025-11-25: the server asks by a request of its own."""

from __future__ import annotations

from typing import Any

import pytest
from conversation import (
    BRANCH,
    FIRST,
    FORM_ONLY,
    MODERN,
    NO_MODE,
    SECOND,
    URL_ONLY,
    Conversation,
    accept,
    answer,
    call,
    cancel,
    cancelled,
    completion,
    decline,
    error,
    failures,
    findings,
    form,
    form_params,
    notification,
    question,
    request,
    success,
    tool_error,
    url,
    url_params,
)
from policies import policy_with

from elicitation_receipts.schemas.vocabulary import (
    Action,
    Carrier,
    Event,
    FindingName,
    Mode,
    Presentation,
    Proof,
    ReferenceKind,
)

OK = {"ok": {"type": "boolean", "title": "Really?"}}
COUNT = {"count": {"type": "integer", "title": "How many", "minimum": 1}}


def asked(
    revision: str = SECOND, asking: Any = None, capabilities: dict[str, Any] | None = None
) -> Conversation:
    """A tool call under way, a question put, five seconds gone."""
    talk = (
        Conversation(revision)
        if capabilities is None
        else Conversation(revision, capabilities=capabilities)
    )
    talk.client(call(1))
    talk.server(asking or form(7))
    talk.wait(seconds=5)
    return talk


# A question and its answer, row by row


@pytest.mark.parametrize("revision", [FIRST, SECOND])
def test_a_question_reaches_the_client_and_is_accepted(revision: str) -> None:
    talk = asked(revision)
    talk.client(accept(7, {"branch": "main"}))
    talk.server(success(1))
    assert talk.story == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]


def test_what_stands_on_the_receipts_of_one_elicitation() -> None:
    talk = asked()
    talk.client(accept(7, {"branch": "main"}))
    talk.server(success(1))
    requested, answered, resumed = talk.receipts
    assert talk.elicitations == 1
    assert {r.operation_id for r in talk.receipts} == {requested.operation_id}
    assert requested.operation_id is not None
    assert [(r.round, r.attempt) for r in talk.receipts] == [(1, 0), (1, 1), (1, 1)]
    assert {r.carrier for r in talk.receipts} == {Carrier.SERVER_REQUEST}
    assert {r.mode for r in talk.receipts} == {Mode.FORM}
    assert {r.presentation for r in talk.receipts} == {Presentation.FORM}
    assert [r.action for r in talk.receipts] == [None, Action.ACCEPT, None]
    assert [r.since_previous_us for r in talk.receipts] == [None, 5_000_000, 0]
    assert answered.occurred_at - requested.occurred_at == 5_000_000
    assert {r.tool for r in talk.receipts} == {"deploy"}
    assert {r.operation_method for r in talk.receipts} == {"tools/call"}
    assert requested.validation is not None
    assert requested.validation.requested == 1
    assert answered.validation is not None
    assert answered.validation.answered == 1
    assert answered.payload_digest is not None
    assert requested.payload_digest is None
    assert resumed.payload_digest is None


def test_protocol_ids_survive_only_as_references() -> None:
    talk = asked(asking=url(7))
    kinds = {reference.kind for reference in talk.last.correlation_refs}
    assert kinds == {
        ReferenceKind.QUESTION_ID,
        ReferenceKind.OPERATION_REQUEST_ID,
        ReferenceKind.ELICITATION_ID,
    }


def test_accept_of_a_url_is_consent_and_nothing_more() -> None:
    talk = asked(asking=url(7))
    talk.client(accept(7))
    talk.server(success(1))
    assert talk.story == [
        "requested open",
        "answered consented by person_claimed",
        "resumed (success)",
    ]
    talk.close()
    assert talk.story[3:] == ["abandoned unproven by runtime"]


@pytest.mark.parametrize("asking", [form(7), url(7)], ids=["form", "url"])
def test_decline(asking: Any) -> None:
    talk = asked(asking=asking)
    talk.client(decline(7))
    assert talk.story[1:] == ["answered declined by person_claimed"]
    assert talk.last.action is Action.DECLINE


@pytest.mark.parametrize("asking", [form(7), url(7)], ids=["form", "url"])
def test_cancel(asking: Any) -> None:
    talk = asked(asking=asking)
    talk.client(cancel(7))
    assert talk.story[1:] == ["answered cancelled by person_claimed"]
    assert talk.last.action is Action.CANCEL


def test_accept_with_content_that_is_not_valid() -> None:
    talk = asked(asking=form(7, properties=OK))
    talk.client(accept(7, {"ok": "yes"}))
    assert talk.story[1:] == ["answered invalid by person_claimed [accept_schema_mismatch]"]
    assert failures(talk.last) == [("ok", "type")]


# Who decided


@pytest.mark.parametrize(
    ("asking", "given", "expected"),
    [
        (form(7), accept(7, {}), "answered accepted"),
        (form(7), decline(7), "answered declined"),
        (form(7), cancel(7), "answered cancelled"),
        (url(7), accept(7), "answered consented"),
    ],
    ids=["accept", "decline", "cancel", "consent"],
)
def test_sooner_than_a_person_could(asking: Any, given: Any, expected: str) -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(asking)
    talk.wait(seconds=0.249)
    talk.client(given)
    assert talk.story[1:] == [f"{expected} by automatic_suspected [implausible_latency]"]


def test_sooner_than_a_person_could_and_not_valid() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7, properties=OK, required=["ok"]))
    talk.client(accept(7, {}))
    assert talk.story[1:] == [
        "answered invalid by automatic_suspected [accept_schema_mismatch implausible_latency]"
    ]


def test_a_quarter_of_a_second_is_not_too_soon() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.wait(seconds=0.25)
    talk.client(decline(7))
    assert talk.story[1:] == ["answered declined by person_claimed"]


def test_how_soon_is_too_soon_is_the_policys_number() -> None:
    talk = Conversation(policy=policy_with("thresholds", automatic_below_ms=6_000))
    talk.client(call(1))
    talk.server(form(7))
    talk.wait(seconds=5)
    talk.client(decline(7))
    assert talk.story[1:] == ["answered declined by automatic_suspected [implausible_latency]"]


def test_how_soon_counts_from_the_last_round() -> None:
    talk = asked()
    talk.client(decline(7))
    talk.server(form(8))
    talk.client(decline(8))
    assert talk.story[3:] == [
        "answered declined by automatic_suspected round 2 [implausible_latency]"
    ]


# Refused by a runtime


@pytest.mark.parametrize("code", [-32601, -32602, -32600])
def test_a_client_that_cannot_ask(code: int) -> None:
    talk = asked()
    talk.client(error(7, code, "whatever its text"))
    talk.server(tool_error(1))
    assert talk.story[1:] == [
        "refused unsupported by runtime [error_answer]",
        "resumed (tool_error)",
    ]


@pytest.mark.parametrize("code", [-32602, -32603, 0, -1, 4001])
@pytest.mark.parametrize(
    ("capabilities", "asking"),
    [(NO_MODE, form(7)), (FORM_ONLY, url(7)), (URL_ONLY, form(7))],
    ids=["none", "form only", "url only"],
)
def test_any_error_to_a_mode_never_declared(
    capabilities: dict[str, Any], asking: Any, code: int
) -> None:
    talk = asked(asking=asking, capabilities=capabilities)
    talk.client(error(7, code))
    assert talk.story == [
        "requested open [mode_not_declared]",
        "refused unsupported by runtime",
    ]


def test_an_undeclared_mode_can_be_answered_all_the_same() -> None:
    talk = asked(capabilities=NO_MODE)
    talk.client(accept(7, {}))
    assert talk.story == [
        "requested open [mode_not_declared]",
        "answered accepted by person_claimed",
    ]


@pytest.mark.parametrize("code", [0, -32603, -32000, 1])
def test_the_clients_handler_crashed(code: int) -> None:
    talk = asked()
    talk.client(error(7, code, "Request cancelled"))
    assert talk.story[1:] == ["refused errored by runtime [error_answer]"]


@pytest.mark.parametrize(
    ("params", "defect"),
    [
        ({"requestedSchema": {"type": "object", "properties": BRANCH}}, "missing_message"),
        ({"message": "?"}, "missing_requested_schema"),
        (url_params(elicitation_id=None), "missing_elicitation_id"),
        ("no object", "malformed_message"),
    ],
    ids=["message", "schema", "elicitation id", "params"],
)
def test_invalid_params_in_answer_to_a_malformed_question(params: object, defect: str) -> None:
    talk = asked(asking=question(7, params))
    assert defect in findings(talk.receipts[0])
    talk.client(error(7, -32602))
    assert talk.story[1:] == ["refused errored by runtime"]


def test_method_not_found_in_answer_to_a_malformed_question_is_still_unsupported() -> None:
    talk = asked(asking=question(7, {"message": "?"}))
    talk.client(error(7, -32601))
    assert talk.story[1:] == ["refused unsupported by runtime"]


def test_an_error_is_never_too_soon() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.client(error(7, -32603))
    assert talk.story[1:] == ["refused errored by runtime [error_answer]"]


# Malformed answers


@pytest.mark.parametrize(
    ("given", "finding"),
    [
        (answer(7, {"action": "reject"}), "unknown_action"),
        (answer(7, {"action": "Accept", "content": {}}), "unknown_action"),
        (answer(7, {"action": None}), "unknown_action"),
        (answer(7, {"action": ["accept"]}), "unknown_action"),
        (answer(7, {}), "malformed_message"),
        (answer(7, {"content": {"branch": "main"}}), "malformed_message"),
        (answer(7, "accept"), "malformed_message"),
        (answer(7, None), "malformed_message"),
        (answer(7, [{"action": "accept"}]), "malformed_message"),
        ({**accept(7, {}), "error": {"code": 1, "message": ""}}, "malformed_message"),
        ({"jsonrpc": "2.0", "id": 7}, "malformed_message"),
        ('{"id":8,"id":7,"result":{"action":"accept","content":{}}}', "duplicate_member"),
        ('{"id":7,"result":{"action":"decline"},"result":{"action":"accept"}}', "duplicate_member"),
        ('{"id":7,"error":{"code":1},"error":{"code":2}}', "duplicate_member"),
        ('{"id":7,"result":{"action":"decline","action":"accept"}}', "duplicate_member"),
        ('{"id":7,"result":{"action":"accept","content":{},"content":{}}}', "duplicate_member"),
        (
            '{"id":7,"result":{"action":"accept","content":{"branch":"a","branch":"b"}}}',
            "duplicate_member",
        ),
    ],
)
def test_malformed_answer(given: Any, finding: str) -> None:
    talk = asked()
    talk.client(given)
    talk.server(success(1))
    assert talk.story[1:] == [
        f"answered malformed by unknown [{finding}]",
        "resumed (success)",
    ]
    assert talk.receipts[1].action is None


def test_a_malformed_answer_is_never_too_soon() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.client(answer(7, {"action": "yes"}))
    assert talk.story[1:] == ["answered malformed by unknown [unknown_action]"]


@pytest.mark.parametrize(
    "raw",
    [
        '{"jsonrpc":"2.0","jsonrpc":"2.0","id":7,"result":{"action":"accept","content":{}}}',
        '{"id":7,"result":{"action":"accept","content":{},"_meta":1,"_meta":2}}',
    ],
)
def test_a_member_that_stands_twice_where_nothing_hangs_on_it(raw: str) -> None:
    talk = asked()
    talk.client(raw)
    assert talk.story[1:] == ["answered accepted by person_claimed [duplicate_member]"]


# Ids


@pytest.mark.parametrize(
    ("asked_with", "answered_with"),
    [(7, "7"), (7, "007"), (7, " 7 "), ("7", 7), ("007", 7), (7, 7.0), (7, "+7"), (7, -7)],
)
def test_the_same_integer_but_for_type_padding_or_sign(
    asked_with: object, answered_with: object
) -> None:
    talk = asked(asking=form(asked_with))
    talk.client(accept(answered_with, {}))
    assert talk.story[1:] == ["answered accepted by unknown [id_not_verbatim]"]


def test_a_lenient_pairing_is_never_too_soon() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.client(decline("7"))
    assert talk.story[1:] == ["answered declined by unknown [id_not_verbatim]"]


def test_an_id_with_its_type_comes_before_a_lenient_reading() -> None:
    talk = asked(asking=form(7))
    talk.server(form("7", "Which tag?"))
    talk.wait(seconds=5)
    talk.client(decline("7"))
    talk.client(accept(7, {}))
    assert talk.story[2:] == [
        "answered declined by person_claimed",
        "answered accepted by person_claimed",
    ]
    assert [r.elicitation_id for r in talk.receipts[2:]] == [
        talk.receipts[1].elicitation_id,
        talk.receipts[0].elicitation_id,
    ]


def test_a_lenient_reading_with_two_candidates_pairs_neither() -> None:
    talk = asked(asking=form(7))
    talk.server(form("7", "Which tag?"))
    talk.wait(seconds=5)
    talk.client(decline("07"))
    assert talk.story[2:] == ["noted [unknown_response_id]"]
    assert talk.last.elicitation_id is None


def test_a_lenient_reading_counts_other_requests_as_candidates() -> None:
    talk = asked(asking=form("7"))
    talk.server(request(7, "roots/list"))
    talk.client(decline("07"))
    assert talk.story[1:] == ["noted [unknown_response_id]"]


@pytest.mark.parametrize("unknown", [99, "seven", "", True, {}, [7], None, 7.5, "9" * 5_000])
def test_a_response_to_nothing(unknown: object) -> None:
    talk = asked()
    talk.client(accept(unknown, {"branch": "main"}))
    assert talk.story[1:] == ["noted [unknown_response_id]"]
    assert talk.last.elicitation_id is None


def test_id_null_in_an_error_response_is_no_finding() -> None:
    talk = asked()
    assert talk.client(error(None, -32700)) == []


@pytest.mark.parametrize("forbidden", [None, 7.5, 7.0, True, [7], {"id": 7}])
def test_a_question_with_a_forbidden_id_is_recorded_and_never_paired(forbidden: object) -> None:
    talk = asked(asking=form(forbidden))
    assert talk.story == ["requested open [malformed_message]"]
    talk.client(accept(forbidden, {"branch": "main"}))
    assert talk.story[1:] == ["noted [unknown_response_id]"]
    talk.server(success(1))
    assert talk.story[2:] == [
        "abandoned abandoned by runtime (success) [resume_without_answer unanswered]"
    ]


def test_a_question_without_an_id_is_recorded_and_never_paired() -> None:
    talk = asked(asking=notification("elicitation/create", **form_params()))
    talk.close()
    assert talk.story == [
        "requested open [malformed_message]",
        "abandoned abandoned by runtime [unanswered]",
    ]


def test_ids_of_the_two_directions_do_not_collide() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(1))
    talk.wait(seconds=5)
    talk.client(accept(1, {}))
    talk.server(success(1))
    assert talk.story == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]


def test_two_outstanding_questions_with_one_id_neither_is_guessed() -> None:
    talk = asked()
    talk.server(form(7, "Which tag?"))
    talk.wait(seconds=5)
    talk.client(accept(7, {"branch": "main"}))
    assert talk.story == [
        "requested open",
        "requested open [duplicate_id]",
        "answered ambiguous by unknown",
        "answered ambiguous by unknown",
    ]
    assert talk.elicitations == 2
    talk.server(success(1))
    assert talk.story[4:] == ["resumed (success)", "resumed (success)"]


def test_up_to_the_second_revision_an_id_is_never_used_again() -> None:
    talk = asked()
    talk.client(decline(7))
    talk.server(form(7, "Which tag?"))
    assert talk.story[2:] == ["requested open [duplicate_id]"]
    talk.wait(seconds=5)
    talk.client(accept(7, {}))
    assert talk.story[3:] == ["answered accepted by person_claimed"]


def test_an_id_of_another_request_of_the_server_is_used_too() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(request(7, "roots/list"))
    talk.client(answer(7, {"roots": []}))
    talk.server(form(7))
    assert talk.story == ["requested open [duplicate_id]"]


def test_responses_to_other_requests_of_the_server_are_none_of_ours() -> None:
    talk = Conversation()
    talk.server(request(3, "sampling/createMessage", {"messages": []}))
    assert talk.client(answer(3, {"role": "assistant"})) == []


# Arrays


def test_a_question_inside_an_array_is_recorded_and_an_answer_inside_one_is_not_paired() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server([form(7), form(8, "Which tag?")])
    talk.wait(seconds=5)
    talk.client([accept(7, {"branch": "main"})])
    assert talk.story == [
        "requested open [batch_array]",
        "requested open [batch_array]",
        "noted [batch_array]",
    ]
    assert talk.last.elicitation_id is None
    talk.client(decline(7))
    assert talk.story[3:] == ["answered declined by person_claimed"]


# Completion


def test_a_completion_notification_proves_the_ceremony_once() -> None:
    talk = asked(asking=url(7))
    talk.client(accept(7))
    talk.wait(seconds=60)
    talk.server(completion())
    talk.server(success(1))
    talk.server(completion())
    talk.close()
    assert talk.story[1:] == [
        "answered consented by person_claimed",
        "completed completed by runtime (server_notification)",
        "resumed (success)",
        "noted [duplicate_completion]",
    ]
    assert talk.of(Event.COMPLETED)[0].since_previous_us == 60_000_000
    assert talk.elicitations == 1


def test_a_ceremony_can_complete_after_its_operation_went_on() -> None:
    talk = asked(asking=url(7))
    talk.client(accept(7))
    talk.server(success(1))
    talk.server(completion())
    talk.close()
    assert talk.story[2:] == [
        "resumed (success)",
        "completed completed by runtime (server_notification)",
    ]


def test_a_proof_weaker_than_the_policy_requires_completes_nothing() -> None:
    talk = Conversation(policy=policy_with("defaults", required_proof=Proof.AUTHENTICATED_CALLBACK))
    talk.client(call(1))
    talk.server(url(7))
    talk.wait(seconds=5)
    talk.client(accept(7))
    talk.server(completion())
    talk.close()
    assert talk.story[2:] == [
        "noted [proof_insufficient]",
        "abandoned unproven by runtime",
    ]
    assert talk.receipts[2].elicitation_id == talk.receipts[0].elicitation_id
    assert {r.required_proof for r in talk.receipts} == {Proof.AUTHENTICATED_CALLBACK}


def test_a_completion_with_an_id_nobody_knows_is_stray() -> None:
    talk = asked(asking=url(7))
    talk.server(completion("another"))
    assert talk.story[1:] == ["noted [unknown_completion_id]"]
    assert talk.last.elicitation_id is None


@pytest.mark.parametrize("params", [{}, {"elicitationId": 5}, {"elicitationId": None}])
def test_a_completion_without_an_id_is_stray(params: dict[str, Any]) -> None:
    talk = asked(asking=url(7))
    talk.server(notification("notifications/elicitation/complete", **params))
    assert talk.story[1:] == ["noted [missing_elicitation_id]"]
    assert talk.last.elicitation_id is None


def test_a_completion_after_a_refusal_completes_nothing() -> None:
    talk = asked(asking=url(7))
    talk.client(decline(7))
    talk.server(completion())
    assert talk.story[2:] == ["noted [unknown_completion_id]"]


def test_success_of_the_operation_proves_nothing_where_the_client_did_not_retry() -> None:
    talk = asked(asking=url(7))
    talk.client(accept(7))
    talk.server(success(1))
    assert talk.of(Event.COMPLETED) == []


# Going on


@pytest.mark.parametrize(
    ("final", "how"),
    [(success(1), "success"), (tool_error(1), "tool_error"), (error(1, -32603), "error")],
)
def test_the_operation_delivers_its_final_result(final: Any, how: str) -> None:
    talk = asked()
    talk.client(decline(7))
    talk.server(final)
    assert talk.story[1:] == [
        "answered declined by person_claimed",  # a server's error after it changes nothing
        f"resumed ({how})",
    ]
    assert talk.last.outcome is None


@pytest.mark.parametrize(("final", "how"), [(success(1), "success"), (error(1, -32603), "error")])
def test_the_operation_delivers_its_result_while_a_question_is_open(final: Any, how: str) -> None:
    talk = asked()
    talk.server(final)
    assert talk.story[1:] == [
        f"abandoned abandoned by runtime ({how}) [resume_without_answer unanswered]"
    ]


def test_every_question_of_an_operation_is_resumed() -> None:
    talk = asked()
    talk.client(accept(7, {"branch": "main"}))
    talk.server(form(8, "Which tag?"))
    talk.wait(seconds=5)
    talk.client(cancel(8))
    talk.server(success(1))
    assert talk.story[4:] == ["resumed (success)", "resumed (success)"]
    assert len({r.elicitation_id for r in talk.receipts[4:]}) == 2


def test_an_unpaired_result_resumes_nothing() -> None:
    talk = asked()
    talk.client(decline(7))
    assert talk.server(success(99)) == []


# Which operation


def test_with_several_calls_outstanding_no_operation_is_guessed() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.client(call(2, tool="build"))
    talk.server(form(7))
    talk.wait(seconds=5)
    talk.server(success(2))
    talk.client(accept(7, {}))
    talk.server(success(1))
    assert talk.story == ["requested open", "answered accepted by person_claimed"]
    assert {r.operation_id for r in talk.receipts} == {None}
    assert {r.tool for r in talk.receipts} == {None}


def test_an_unattributed_question_never_resumes_without_an_answer() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.client(call(2))
    talk.server(form(7))
    talk.server(success(1))
    talk.server(success(2))
    talk.close()
    assert talk.story == ["requested open", "abandoned abandoned by runtime [unanswered]"]


def test_only_originating_requests_count() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.client(request(2, "tools/list"))
    talk.server(form(7))
    assert talk.last.operation_id is not None


def test_a_question_without_an_originating_request() -> None:
    talk = Conversation()
    talk.server(form(7))
    assert talk.story == ["requested open [no_originating_request]"]
    assert talk.last.operation_id is None


def test_two_operations_have_ids_of_their_own() -> None:
    talk = Conversation()
    for number, asking in ((1, 7), (2, 8)):
        talk.client(call(number))
        talk.server(form(asking, f"Question {asking}?"))
        talk.wait(seconds=5)
        talk.client(accept(asking, {}))
        talk.server(success(number))
    assert len({r.operation_id for r in talk.receipts}) == 2


@pytest.mark.parametrize(
    ("method", "params"),
    [("prompts/get", {"name": "review"}), ("resources/read", {"uri": "file:///etc/hosts"})],
)
def test_prompts_and_resources_are_operations_too(method: str, params: dict[str, Any]) -> None:
    talk = Conversation()
    talk.client(request(1, method, params))
    talk.server(form(7))
    talk.wait(seconds=5)
    talk.client(decline(7))
    talk.server(success(1))
    assert talk.story[2:] == ["resumed (success)"]
    assert talk.last.operation_method == method


# The same question again


def test_an_equal_question_after_the_round_ended_is_the_next_round() -> None:
    talk = asked()
    talk.client(decline(7))
    talk.server(form(8))
    talk.wait(seconds=5)
    talk.client(accept(8, {}))
    talk.server(success(1))
    assert talk.story == [
        "requested open",
        "answered declined by person_claimed",
        "requested open round 2 [reask_after_refusal]",
        "answered accepted by person_claimed round 2",
        "resumed (success) round 2",
    ]
    assert talk.elicitations == 1
    assert [r.attempt for r in talk.receipts] == [0, 1, 0, 1, 1]


def test_another_wording_directly_after_invalid_is_the_next_round() -> None:
    talk = asked(asking=form(7, properties=COUNT))
    talk.client(accept(7, {"count": 0}))
    talk.server(form(8, "At least one, please", properties=COUNT))
    assert talk.story[1:] == [
        "answered invalid by person_claimed [accept_schema_mismatch]",
        "requested open round 2",
    ]


def test_another_wording_after_a_decline_is_another_question() -> None:
    talk = asked()
    talk.client(decline(7))
    talk.server(form(8, "Please, which branch?"))
    assert talk.story[2:] == ["requested open"]
    assert talk.elicitations == 2


def test_other_properties_after_invalid_are_another_question() -> None:
    talk = asked(asking=form(7, properties=COUNT))
    talk.client(accept(7, {"count": 0}))
    talk.server(form(8))
    assert talk.story[2:] == ["requested open"]
    assert talk.elicitations == 2


def test_another_question_in_between_is_not_directly_after() -> None:
    talk = asked(asking=form(7, properties=COUNT))
    talk.client(accept(7, {"count": 0}))
    talk.server(form(8))
    talk.server(form(9, "At least one, please", properties=COUNT))
    assert talk.story[2:] == ["requested open", "requested open"]
    assert talk.elicitations == 3


def test_an_equal_question_while_the_first_is_open_is_another_one() -> None:
    talk = asked()
    talk.server(form(8))
    assert talk.story == ["requested open", "requested open"]
    assert talk.elicitations == 2


def test_an_equal_address_while_consent_waits_for_its_proof_is_another_question() -> None:
    talk = asked(asking=url(7))
    talk.client(accept(7))
    talk.server(url(8, "ceremony 2"))
    assert talk.story[2:] == ["requested open"]
    assert talk.elicitations == 2


def test_an_equal_question_after_a_withdrawal_is_the_next_round() -> None:
    talk = asked()
    talk.server(cancelled(7))
    talk.server(form(8))
    assert talk.story[2:] == ["requested open round 2"]


def test_the_fourth_round_is_a_loop() -> None:
    talk = asked(asking=form(7, properties=COUNT))
    for asking in (8, 9, 10, 11):
        talk.client(accept(asking - 1, {"count": 0}))
        talk.server(form(asking, properties=COUNT))
        talk.wait(seconds=5)
    requested = [findings(r) for r in talk.of(Event.REQUESTED)]
    loop = {FindingName.REASK_LOOP}
    assert requested == [set(), set(), set(), loop, loop]


@pytest.mark.parametrize("given", [decline(8), cancel(8)])
def test_an_equal_question_of_the_tool_within_ten_minutes_of_a_refusal(given: Any) -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(8))
    talk.wait(seconds=5)
    talk.client(given)
    talk.server(success(1))
    talk.wait(seconds=600)
    talk.client(call(2, {"other": "arguments"}))
    talk.server(form(9))
    assert talk.story[3:] == ["requested open [reask_after_refusal]"]
    assert talk.elicitations == 2


def test_an_equal_question_of_the_tool_within_ten_minutes_of_a_valid_accept() -> None:
    talk = asked()
    talk.client(accept(7, {}))
    talk.server(success(1))
    talk.client(call(2))
    talk.server(form(8))
    assert talk.story[3:] == ["requested open [reask_after_accept]"]


def test_an_equal_question_after_an_answer_that_was_not_valid_is_no_finding() -> None:
    talk = asked(asking=form(7, properties=COUNT))
    talk.client(accept(7, {"count": 0}))
    talk.server(success(1))
    talk.client(call(2))
    talk.server(form(8, properties=COUNT))
    assert talk.story[3:] == ["requested open"]


def test_after_more_than_ten_minutes_an_equal_question_is_no_finding() -> None:
    talk = asked()
    talk.client(decline(7))
    talk.server(success(1))
    talk.wait(seconds=600.001)
    talk.client(call(2))
    talk.server(form(8))
    assert talk.story[3:] == ["requested open"]


def test_an_equal_question_of_another_tool_is_no_finding() -> None:
    talk = asked()
    talk.client(decline(7))
    talk.server(success(1))
    talk.client(call(2, tool="build"))
    talk.server(form(8))
    assert talk.story[3:] == ["requested open"]


# Terminal means terminal


def test_a_second_answer_while_the_operation_runs() -> None:
    talk = asked()
    talk.client(decline(7))
    talk.client(accept(7, {"branch": "main"}))
    talk.server(success(1))
    assert talk.story[1:] == [
        "answered declined by person_claimed",
        "noted [duplicate_answer]",
        "resumed (success)",
    ]
    noted = talk.receipts[2]
    assert noted.elicitation_id == talk.receipts[0].elicitation_id
    assert noted.attempt == 2
    assert noted.payload_digest is None


def test_a_second_answer_to_a_round_that_another_has_followed() -> None:
    talk = asked()
    talk.client(decline(7))
    talk.server(form(8))
    talk.wait(seconds=5)
    talk.client(decline(7))
    talk.client(accept(8, {}))
    assert talk.story[2:] == [
        "requested open round 2 [reask_after_refusal]",
        "noted [duplicate_answer]",
        "answered accepted by person_claimed round 2",
    ]
    assert [(r.round, r.attempt) for r in talk.receipts] == [(1, 0), (1, 1), (2, 0), (1, 2), (2, 1)]


def test_an_answer_to_a_withdrawn_round_that_another_has_followed() -> None:
    talk = asked()
    talk.server(cancelled(7))
    talk.server(form(8))
    talk.wait(seconds=5)
    talk.client(decline(7))
    talk.close()
    assert talk.story[2:] == [
        "requested open round 2",
        "noted [answer_after_end]",
        "abandoned abandoned by runtime round 2 [unanswered]",
    ]


def test_an_answer_after_the_final_result() -> None:
    talk = asked()
    talk.server(success(1))
    talk.client(accept(7, {}))
    assert talk.story[2:] == ["noted [answer_after_end]"]


def test_a_second_answer_after_the_final_result() -> None:
    talk = asked()
    talk.client(decline(7))
    talk.server(success(1))
    talk.client(decline(7))
    assert talk.story[3:] == ["noted [answer_after_end]"]


def test_an_answer_after_a_withdrawal() -> None:
    talk = asked()
    talk.server(cancelled(7))
    talk.client(accept(7, {}))
    talk.server(success(1))
    talk.close()
    assert talk.story[1:] == [
        "refused withdrawn by runtime",
        "noted [answer_after_end]",
        "resumed (success)",
    ]


# Withdrawn


def test_the_server_cancels_its_own_question() -> None:
    talk = asked()
    talk.server(cancelled(7))
    talk.server(success(1))
    assert talk.story[1:] == ["refused withdrawn by runtime", "resumed (success)"]


def test_the_server_cancels_after_the_answer() -> None:
    talk = asked()
    talk.client(decline(7))
    assert talk.server(cancelled(7)) == []


def test_the_server_cancels_what_it_never_asked() -> None:
    talk = asked()
    assert talk.server(cancelled(8)) == []
    assert talk.server(cancelled("7")) == []
    assert talk.server(cancelled([7])) == []


def test_the_client_cancels_the_operation() -> None:
    talk = asked()
    talk.client(cancelled(1))
    assert talk.story[1:] == ["refused withdrawn by unknown"]


def test_the_client_cancels_the_operation_after_the_answer() -> None:
    talk = asked()
    talk.client(decline(7))
    assert talk.client(cancelled(1)) == []


def test_the_client_cancels_another_request() -> None:
    talk = asked()
    assert talk.client(cancelled(2)) == []
    assert talk.client(cancelled({})) == []


def test_the_final_result_of_a_cancelled_operation_still_says_how_it_ended() -> None:
    talk = asked()
    talk.client(cancelled(1))
    talk.server(error(1, 0, "Request cancelled"))
    assert talk.story[2:] == ["resumed (error)"]


def test_a_cancelled_operation_asks_nothing_more() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.client(cancelled(1))
    talk.client(call(2))
    talk.server(form(7))
    assert talk.last.operation_id is not None
    talk.client(decline(7))
    talk.server(success(2))
    assert talk.last.event is Event.RESUMED


# The end of the connection


def test_the_connection_of_an_open_question_ends() -> None:
    talk = asked()
    talk.close()
    assert talk.story[1:] == ["abandoned abandoned by runtime [unanswered]"]


def test_the_connection_ends_once() -> None:
    talk = asked()
    talk.close()
    assert talk.close() == []


def test_a_question_waits_on_its_connection_however_long() -> None:
    talk = asked()
    assert talk.wait(seconds=100_000) == []
    talk.client(accept(7, {}))
    assert talk.story[1:] == ["answered accepted by person_claimed"]


def test_what_has_ended_is_not_abandoned() -> None:
    talk = asked(asking=form(7, properties=COUNT))
    talk.client(accept(7, {"count": 0}))
    assert talk.close() == []


# A retired carrier


def test_a_server_request_in_a_modern_session_is_recorded_with_retired_code() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(form(7))
    talk.wait(seconds=5)
    talk.client(accept(7, {}))
    talk.server(success(1))
    assert talk.story == [
        "requested open [retired_code]",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]


def test_from_the_modern_revision_only_an_outstanding_id_is_a_duplicate() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(form(7))
    talk.wait(seconds=5)
    talk.client(decline(7))
    talk.server(form(7, "Which tag?"))
    talk.server(form(7, "Which fork?"))
    assert talk.story[2:] == [
        "requested open [retired_code]",
        "requested open [duplicate_id retired_code]",
    ]


# Values in errors


@pytest.mark.parametrize(
    ("content", "final"),
    [
        ({"branch": "main"}, tool_error(1, "no branch main here")),
        ({"branch": "main"}, error(1, -32603, "no branch main here")),
        ({"branch": "main"}, error(1, -32603, data={"input": "main"})),
        ({"branch": 4711}, error(1, -32603, data={"input": 4711})),
        ({"branch": ["main"]}, tool_error(1, "main")),
        ({"ok": True}, tool_error(1, "input_value={'ok': True}, input_type=dict")),
        ({"ok": True}, tool_error(1, 'bad input {"ok": true}')),
        ({"ok": True}, tool_error(1, 'bad input {"ok":true}')),
        ({"ok": True}, error(1, -32603, data={"errors": [{"input": {"ok": True}}]})),
    ],
)
def test_a_submitted_value_in_an_error_of_the_operation(
    content: dict[str, Any], final: dict[str, Any]
) -> None:
    talk = asked()
    talk.client(accept(7, content))
    talk.server(final)
    assert FindingName.VALUE_LEAKED_IN_ERROR in findings(talk.last)
    assert talk.last.event is Event.RESUMED


@pytest.mark.parametrize(
    ("content", "final"),
    [
        ({"branch": "abc"}, tool_error(1, "abc")),  # shorter than four bytes
        ({"branch": "main"}, success(1)),
        ({"branch": "main"}, tool_error(1, "no such branch")),
        ({}, tool_error(1, "bad input {}")),  # nothing was submitted
        ({"branch": "done"}, success(1)),  # no error, so nothing leaked in one
        ({"ok": True}, tool_error(1, "True is not false")),
    ],
)
def test_what_is_no_submitted_value_in_an_error(
    content: dict[str, Any], final: dict[str, Any]
) -> None:
    talk = asked()
    talk.client(accept(7, content))
    talk.server(final)
    assert FindingName.VALUE_LEAKED_IN_ERROR not in findings(talk.last)
