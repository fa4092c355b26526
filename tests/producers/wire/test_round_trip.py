"""The carrier of 2026-07-28: questions in an interim result, answers in the client's retry."""

from __future__ import annotations

from typing import Any

import pytest
from conversation import (
    BRANCH,
    CANCELLED,
    DECLINED,
    FORM_ONLY,
    MODERN,
    NO_MODE,
    URL_ONLY,
    Conversation,
    accepted,
    call,
    cancelled,
    error,
    failures,
    findings,
    form_params,
    interim,
    request,
    result,
    retry,
    success,
    tool_error,
    url_params,
)

from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    Event,
    FindingName,
    Mode,
    Presentation,
    ReferenceKind,
)

FORM = form_params()
TAG = form_params("Which tag?", {"tag": {"type": "string", "title": "Tag"}})
URL = url_params(elicitation_id=None)
MAIN = accepted({"branch": "main"})


def asked(
    questions: dict[str, Any] | None = None,
    state: object = "state 1",
    capabilities: dict[str, Any] | None = None,
) -> Conversation:
    """A tool call answered with questions, five seconds gone."""
    talk = (
        Conversation(MODERN)
        if capabilities is None
        else Conversation(MODERN, capabilities=capabilities)
    )
    talk.client(call(1))
    talk.server(interim(1, {"k": FORM} if questions is None else questions, state))
    talk.wait(seconds=5)
    return talk


# A question and its answer, row by row


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (MAIN, "answered accepted by person_claimed"),
        (accepted({}), "answered accepted by person_claimed"),
        (accepted(), "answered accepted by person_claimed"),
        (DECLINED, "answered declined by person_claimed"),
        (CANCELLED, "answered cancelled by person_claimed"),
        (
            accepted({"branch": 5}),
            "answered invalid by person_claimed [accept_schema_mismatch]",
        ),
        ({"action": "reject"}, "answered malformed by unknown [unknown_action]"),
        ({"content": {}}, "answered malformed by unknown [malformed_message]"),
        ("accept", "answered malformed by unknown [malformed_message]"),
    ],
)
def test_an_answer_in_the_retry(given: object, expected: str) -> None:
    talk = asked()
    talk.client(retry(2, {"k": given}, "state 1"))
    talk.server(success(2))
    assert talk.story == ["requested open", expected, "resumed (success)"]


def test_what_stands_on_the_receipts() -> None:
    talk = asked()
    talk.client(retry(2, {"k": MAIN}, "state 1"))
    talk.server(success(2))
    assert {r.carrier for r in talk.receipts} == {Carrier.MULTI_ROUND_TRIP}
    assert len({r.operation_id for r in talk.receipts}) == 1
    assert talk.receipts[0].operation_id is not None
    assert talk.elicitations == 1
    assert [r.attempt for r in talk.receipts] == [0, 1, 1]
    assert {r.protocol_version for r in talk.receipts} == {MODERN}
    assert {r.client_name for r in talk.receipts} == {"scripted-client"}
    kinds = [{ref.kind for ref in r.correlation_refs} for r in talk.receipts]
    assert kinds[0] == {
        ReferenceKind.OPERATION_REQUEST_ID,
        ReferenceKind.REQUEST_KEY,
        ReferenceKind.REQUEST_STATE,
    }


def test_an_answer_sooner_than_a_person_could() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(interim(1, {"k": FORM}, "s"))
    talk.client(retry(2, {"k": MAIN}, "s"))
    assert talk.story[1:] == [
        "answered accepted by automatic_suspected [implausible_latency]",
    ]


@pytest.mark.parametrize(
    "raw",
    [
        '{"id":2,"id":2,"method":"tools/call","params":%s}',
        '{"id":2,"method":"tools/call","method":"tools/call","params":%s}',
    ],
)
def test_a_retry_with_two_ids_or_methods_is_malformed(raw: str) -> None:
    talk = asked()
    talk.client(
        raw % '{"name":"deploy","arguments":{},"requestState":"state 1",'
        '"inputResponses":{"k":{"action":"decline"}}}'
    )
    assert talk.story[1:] == ["answered malformed by unknown [duplicate_member]"]


@pytest.mark.parametrize(
    "responses",
    [
        '{"k":{"action":"decline"},"k":{"action":"accept"}}',
        '{"k":{"action":"decline","action":"accept"}}',
        '{"k":{"action":"accept","content":{},"content":{}}}',
        '{"k":{"action":"accept","content":{"branch":"a","branch":"b"}}}',
    ],
)
def test_an_answer_of_which_there_are_two_is_malformed(responses: str) -> None:
    talk = asked()
    talk.client(
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"deploy",'
        f'"arguments":{{}},"requestState":"state 1","inputResponses":{responses}}}}}'
    )
    assert talk.story[1:] == ["answered malformed by unknown [duplicate_member]"]


def test_a_question_with_a_member_that_stands_twice() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(
        '{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":'
        '{"k":{"method":"elicitation/create","params":{"message":"a","message":"b",'
        '"requestedSchema":{"type":"object","properties":{"b":{"type":"string","title":"B"}}}}}}}}'
    )
    assert talk.story == ["requested open [duplicate_member]"]


# URL


def test_consent_is_completed_by_the_success_of_the_retried_operation() -> None:
    talk = asked({"k": URL})
    assert talk.last.mode is Mode.URL
    talk.client(retry(2, {"k": accepted()}, "state 1"))
    talk.wait(seconds=60)
    talk.server(success(2))
    talk.close()
    assert talk.story == [
        "requested open",
        "answered consented by person_claimed",
        "completed completed by runtime (operation_result)",
        "resumed (success)",
    ]


def test_a_retry_met_by_the_same_address_is_its_next_round() -> None:
    talk = asked({"k": URL})
    talk.client(retry(2, {"k": accepted()}, "state 1"))
    talk.server(interim(2, {"k": URL}, "state 2"))
    talk.wait(seconds=5)
    talk.client(retry(3, {"k": accepted()}, "state 2"))
    talk.server(success(3))
    assert talk.story[2:] == [
        "requested open round 2",
        "answered consented by person_claimed round 2",
        "completed completed by runtime (operation_result) round 2",
        "resumed (success) round 2",
    ]
    assert talk.elicitations == 1


@pytest.mark.parametrize(
    ("final", "how"), [(tool_error(2), "tool_error"), (error(2, -32603), "error")]
)
def test_a_retry_that_fails_leaves_consent_without_proof(final: dict[str, Any], how: str) -> None:
    talk = asked({"k": URL})
    talk.client(retry(2, {"k": accepted()}, "state 1"))
    talk.server(final)
    assert talk.story[2:] == [f"resumed ({how})"]
    assert talk.wait(seconds=3_599) == []
    talk.wait(seconds=2)
    assert talk.story[3:] == ["abandoned unproven by runtime"]
    assert talk.close() == []


def test_a_declined_address_is_not_completed_by_success() -> None:
    talk = asked({"k": URL})
    talk.client(retry(2, {"k": DECLINED}, "state 1"))
    talk.server(success(2))
    assert talk.story[1:] == ["answered declined by person_claimed", "resumed (success)"]


def test_a_url_question_needs_no_elicitation_id_here() -> None:
    assert findings(asked({"k": URL}).receipts[0]) == set()


# Missing capability


def in_vain(required: object) -> Conversation:
    talk = Conversation(MODERN, capabilities=NO_MODE)
    talk.client(call(1))
    talk.server(
        error(1, -32021, data={"requiredCapabilities": required} if required is not None else None)
    )
    talk.close()
    return talk


@pytest.mark.parametrize(
    ("required", "modes"),
    [
        ({"elicitation": {}}, [Mode.FORM]),
        ({"elicitation": {"form": {}}}, [Mode.FORM]),
        ({"elicitation": {"url": {}}}, [Mode.URL]),
        ({"elicitation": {"form": {}, "url": {}}}, [Mode.FORM, Mode.URL]),
    ],
)
def test_nothing_could_be_asked(required: object, modes: list[Mode]) -> None:
    talk = in_vain(required)
    assert talk.story == ["requested open", "refused unsupported by runtime"] * len(modes)
    assert [r.mode for r in talk.of(Event.REQUESTED)] == modes
    assert [r.presentation for r in talk.of(Event.REQUESTED)] == [
        Presentation(mode.value) for mode in modes
    ]
    for receipt in talk.receipts:
        assert receipt.carrier is Carrier.MULTI_ROUND_TRIP
        assert receipt.round == 1
        assert receipt.operation_id is not None
        assert receipt.tool == "deploy"
        assert receipt.question_digest is None
        assert receipt.redaction_status.value == "applied"
        assert ReferenceKind.REQUEST_KEY not in {ref.kind for ref in receipt.correlation_refs}


@pytest.mark.parametrize("required", [None, {}, {"sampling": {}}, {"elicitation": 1}, "all"])
def test_another_capability_is_none_of_ours(required: object) -> None:
    assert in_vain(required).story == []


def test_an_earlier_question_of_the_operation_is_resumed_by_the_error() -> None:
    talk = asked({"k": FORM}, capabilities=FORM_ONLY)
    talk.client(retry(2, {"k": MAIN}, "state 1"))
    talk.server(error(2, -32021, data={"requiredCapabilities": {"elicitation": {"url": {}}}}))
    assert talk.story[2:] == [
        "requested open",
        "refused unsupported by runtime",
        "resumed (error)",
    ]
    assert talk.last.elicitation_id == talk.receipts[0].elicitation_id


def test_a_mode_that_was_asked_although_not_declared() -> None:
    talk = asked(capabilities=URL_ONLY)
    assert talk.story == ["requested open [mode_not_declared]"]


# Keys


def test_several_questions_in_one_interim_result() -> None:
    talk = asked({"a": FORM, "b": TAG})
    talk.client(retry(2, {"a": MAIN, "b": DECLINED}, "state 1"))
    talk.server(success(2))
    assert talk.story == [
        "requested open",
        "requested open",
        "answered accepted by person_claimed",
        "answered declined by person_claimed",
        "resumed (success)",
        "resumed (success)",
    ]
    assert talk.elicitations == 2


def test_requests_of_other_kinds_are_none_of_ours() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(
        result(
            1,
            resultType="input_required",
            inputRequests={
                "roots": {"method": "roots/list"},
                "model": {"method": "sampling/createMessage", "params": {}},
                "odd": 5,
                "k": {"method": "elicitation/create", "params": FORM},
            },
        )
    )
    talk.wait(seconds=5)
    talk.client(retry(2, {"roots": {"roots": []}, "model": {}, "odd": None, "k": MAIN}))
    talk.server(success(2))
    assert talk.story == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]


def test_a_key_that_was_never_asked_stands_on_the_receipt_of_what_was_answered() -> None:
    talk = asked()
    talk.client(retry(2, {"other": MAIN, "k": DECLINED}, "state 1"))
    assert talk.story[1:] == ["answered declined by person_claimed [unknown_response_key]"]


def test_a_key_that_was_never_asked_is_stray_where_nothing_was_answered() -> None:
    talk = Conversation(MODERN)
    talk.client(retry(1, {"k": MAIN}))
    assert talk.story == ["noted [unknown_response_key]"]
    assert talk.last.elicitation_id is None


def test_a_retry_that_leaves_a_question_out() -> None:
    talk = asked({"a": FORM, "b": TAG})
    talk.client(retry(2, {"a": MAIN}, "state 1"))
    talk.server(success(2))
    assert talk.story[2:] == [
        "answered accepted by person_claimed",
        "noted [missing_response]",
        "resumed (success)",
        "abandoned abandoned by runtime (success) [resume_without_answer unanswered]",
    ]
    assert talk.receipts[3].elicitation_id == talk.receipts[1].elicitation_id


def test_a_retry_without_any_answer() -> None:
    talk = asked()
    talk.client(retry(2, state="state 1"))
    assert talk.story[1:] == ["noted [missing_response]"]


def test_a_question_left_out_and_asked_again_is_its_next_round() -> None:
    talk = asked()
    talk.client(retry(2, {}, "state 1"))
    talk.server(interim(2, {"k": FORM}, "state 2"))
    talk.wait(seconds=5)
    talk.client(retry(3, {"k": MAIN}, "state 2"))
    talk.server(success(3))
    assert talk.story[1:] == [
        "noted [missing_response]",
        "requested open round 2",
        "answered accepted by person_claimed round 2",
        "resumed (success) round 2",
    ]


def test_a_question_left_out_is_answered_late_although_not_asked_again() -> None:
    talk = asked({"a": FORM, "b": TAG})
    talk.client(retry(2, {"a": MAIN}, "state 1"))
    talk.server(interim(2, {"c": form_params("Which fork?")}, "state 2"))
    talk.wait(seconds=5)
    talk.client(retry(3, {"b": DECLINED, "c": MAIN}, "state 2"))
    assert talk.story[5:] == [
        "answered declined by person_claimed",
        "answered accepted by person_claimed",
    ]
    assert talk.receipts[5].elicitation_id == talk.receipts[1].elicitation_id


def test_a_key_answered_before_and_not_asked_now_is_a_duplicate_answer() -> None:
    talk = asked({"a": FORM})
    talk.client(retry(2, {"a": MAIN}, "state 1"))
    talk.server(interim(2, {"b": TAG}, "state 2"))
    talk.wait(seconds=5)
    talk.client(retry(3, {"a": DECLINED, "b": DECLINED}, "state 2"))
    talk.server(success(3))
    assert sorted(talk.story[3:5]) == [
        "answered declined by person_claimed",
        "noted [duplicate_answer]",
    ]
    noted = next(r for r in talk.receipts if r.event is Event.NOTED)
    assert noted.elicitation_id == talk.receipts[0].elicitation_id
    assert noted.attempt == 2
    assert talk.story[5:] == ["resumed (success)", "resumed (success)"]


# Rounds


def test_the_same_key_with_the_same_properties_is_the_next_round() -> None:
    talk = asked({"k": form_params(required=["branch"])})
    talk.client(retry(2, {"k": accepted({})}, "state 1"))
    talk.server(interim(2, {"k": form_params("Please, a branch", required=["branch"])}, "state 2"))
    talk.wait(seconds=5)
    talk.client(retry(3, {"k": MAIN}, "state 2"))
    talk.server(success(3))
    assert talk.story == [
        "requested open",
        "answered invalid by person_claimed [accept_schema_mismatch]",
        "requested open round 2",
        "answered accepted by person_claimed round 2",
        "resumed (success) round 2",
    ]
    assert failures(talk.receipts[1]) == [("branch", "required")]
    assert talk.elicitations == 1
    assert [r.attempt for r in talk.receipts] == [0, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("given", "finding"),
    [
        (DECLINED, "reask_after_refusal"),
        (CANCELLED, "reask_after_refusal"),
        (MAIN, "reask_after_accept"),
    ],
)
def test_asked_again_after_a_refusal_or_an_accept(given: dict[str, Any], finding: str) -> None:
    talk = asked()
    talk.client(retry(2, {"k": given}, "state 1"))
    talk.server(interim(2, {"k": FORM}, "state 2"))
    assert talk.story[2:] == [f"requested open round 2 [{finding}]"]


@pytest.mark.parametrize("other", [TAG, URL], ids=["properties", "mode"])
def test_a_key_reused_for_another_shape_is_a_new_elicitation(other: dict[str, Any]) -> None:
    talk = asked()
    talk.client(retry(2, {"k": DECLINED}, "state 1"))
    talk.server(interim(2, {"k": other}, "state 2"))
    assert talk.story[2:] == ["requested open"]
    assert talk.elicitations == 2


def test_a_key_reused_for_a_request_of_another_kind_asks_no_more() -> None:
    talk = asked({"k": FORM})
    talk.client(retry(2, {"k": MAIN}, "state 1"))
    talk.server(
        result(2, resultType="input_required", inputRequests={"k": {"method": "roots/list"}})
    )
    talk.client(retry(3, {"k": {"roots": []}}))
    talk.server(success(3))
    assert talk.story[2:] == ["resumed (success)"]


def test_another_key_with_the_same_question_is_a_new_elicitation() -> None:
    talk = asked()
    talk.client(retry(2, {"k": DECLINED}, "state 1"))
    talk.server(interim(2, {"k2": FORM}, "state 2"))
    assert talk.story[2:] == ["requested open [reask_after_refusal]"]
    assert talk.elicitations == 2


def test_the_fourth_round_is_a_loop() -> None:
    talk = asked({"k": form_params(required=["branch"])})
    for number in (2, 3, 4, 5):
        talk.client(retry(number, {"k": accepted({})}, f"state {number - 1}"))
        talk.server(interim(number, {"k": form_params(required=["branch"])}, f"state {number}"))
        talk.wait(seconds=5)
    requested = [findings(r) for r in talk.of(Event.REQUESTED)]
    loop = {FindingName.REASK_LOOP}
    assert requested == [set(), set(), set(), loop, loop]


def test_a_state_alone_asks_nothing() -> None:
    talk = asked({}, "busy")
    talk.client(retry(2, state="busy"))
    talk.server(interim(2, {"k": FORM}, "state 2"))
    talk.wait(seconds=5)
    talk.client(retry(3, {"k": MAIN}, "state 2"))
    talk.server(success(3))
    assert talk.story == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]


def test_an_interim_result_with_neither_questions_nor_state_is_malformed() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(interim(1))
    assert talk.story == ["noted [malformed_message]"]


# Which operation a retry continues


def test_without_a_state_equal_method_name_and_arguments_continue() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1, {"path": "/x", "depth": 1}))
    talk.server(interim(1, {"k": FORM}))
    talk.wait(seconds=5)
    talk.client(retry(2, {"k": MAIN}, arguments={"depth": 1.0, "path": "/x"}))
    talk.server(success(2))
    assert talk.story[1:] == ["answered accepted by person_claimed", "resumed (success)"]


@pytest.mark.parametrize(
    "unequal", [{"arguments": {"path": "/y"}}, {"tool": "build"}], ids=["arguments", "tool"]
)
def test_without_a_state_unequal_calls_are_operations_of_their_own(unequal: dict[str, Any]) -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(interim(1, {"k": FORM}))
    talk.wait(seconds=5)
    talk.client(retry(2, {"k": MAIN}, **unequal))
    assert talk.story[1:] == ["noted [unknown_response_key]"]
    assert talk.last.operation_id != talk.receipts[0].operation_id


@pytest.mark.parametrize(
    ("method", "params"),
    [("prompts/get", {"name": "review"}), ("resources/read", {"uri": "file:///etc/hosts"})],
)
def test_prompts_and_resources_ask_too(method: str, params: dict[str, Any]) -> None:
    talk = Conversation(MODERN)
    talk.client(request(1, method, params))
    talk.server(interim(1, {"k": FORM}, "s"))
    talk.wait(seconds=5)
    talk.client(request(2, method, {**params, "inputResponses": {"k": MAIN}, "requestState": "s"}))
    talk.server(success(2))
    assert talk.story == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]


@pytest.mark.parametrize(
    "changed", [{"arguments": {"path": "/y"}}, {"tool": "build"}], ids=["arguments", "tool"]
)
def test_a_state_echoed_with_another_call_continues_the_operation(changed: dict[str, Any]) -> None:
    talk = asked()
    talk.client(retry(2, {"k": MAIN}, "state 1", **changed))
    talk.server(success(2))
    assert talk.story[1:] == [
        "answered accepted by person_claimed [arguments_changed]",
        "resumed (success)",
    ]
    assert len({r.operation_id for r in talk.receipts}) == 1


def test_a_state_echoed_with_another_method_continues_the_operation() -> None:
    talk = asked()
    params = {"name": "deploy", "inputResponses": {"k": MAIN}, "requestState": "state 1"}
    talk.client(request(2, "prompts/get", params))
    assert talk.story[1:] == ["answered accepted by person_claimed [arguments_changed]"]


def test_the_call_decides_between_operations_with_one_state() -> None:
    talk = Conversation(MODERN)
    for number, path in ((1, "/x"), (2, "/y")):
        talk.client(call(number, {"path": path}))
        talk.server(interim(number, {"k": FORM}, "one state"))
    talk.wait(seconds=5)
    talk.client(retry(3, {"k": MAIN}, "one state", arguments={"path": "/y"}))
    assert talk.story[2:] == ["answered accepted by person_claimed"]
    assert talk.last.operation_id == talk.receipts[1].operation_id


@pytest.mark.parametrize("state", [None, "one state"])
def test_where_several_operations_match_every_candidate_is_ambiguous(state: str | None) -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.client(call(2))
    talk.server(interim(1, {"k": FORM}, state))
    talk.server(interim(2, {"k": FORM}, state))
    talk.wait(seconds=5)
    talk.client(retry(3, {"k": MAIN}, state))
    talk.server(success(3))
    talk.close()
    assert talk.story == [
        "requested open",
        "requested open",
        "answered ambiguous by unknown",
        "answered ambiguous by unknown",
    ]
    assert len({r.operation_id for r in talk.receipts}) == 2


def test_where_several_operations_match_a_call_that_echoes_nothing_is_no_guess_either() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.client(call(2))
    talk.server(interim(1, {"k": FORM}))
    talk.server(interim(2, {"k": FORM}))
    talk.client(call(3))
    assert talk.story[2:] == ["answered ambiguous by unknown"] * 2


def test_a_state_that_is_always_the_same_joins_only_what_is_open() -> None:
    talk = Conversation(MODERN)
    for number in (1, 3):
        talk.client(call(number))
        talk.server(interim(number, {"k": FORM}, "constant"))
        talk.wait(seconds=5)
        talk.client(retry(number + 1, {"k": MAIN}, "constant"))
        talk.server(success(number + 1))
    assert talk.story == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
        "requested open [reask_after_accept]",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]
    assert len({r.operation_id for r in talk.receipts}) == 2


def test_an_equal_call_that_echoes_nothing_continues() -> None:
    talk = asked()
    talk.client(call(2))
    talk.server(success(2))
    assert talk.story[1:] == [
        "noted [missing_response state_not_echoed]",
        "abandoned abandoned by runtime (success) [resume_without_answer unanswered]",
    ]


def test_states_of_parallel_operations_keep_them_apart() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.client(call(2))
    talk.server(interim(1, {"k": FORM}, "state 1"))
    talk.server(interim(2, {"k": FORM}, "state 2"))
    talk.wait(seconds=5)
    talk.client(retry(3, {"k": MAIN}, "state 2"))
    talk.client(retry(4, {"k": DECLINED}, "state 1"))
    talk.server(success(4))
    talk.server(success(3))
    assert talk.story[2:] == [
        "answered accepted by person_claimed",
        "answered declined by person_claimed",
        "resumed (success)",
        "resumed (success)",
    ]
    first, second = (r.elicitation_id for r in talk.receipts[:2])
    assert [r.elicitation_id for r in talk.receipts[2:]] == [second, first, first, second]


def test_an_equal_call_before_the_interim_result_is_an_operation_of_its_own() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.client(call(2))
    talk.server(interim(1, {"k": FORM}))
    talk.server(success(2))
    assert talk.story == ["requested open"]


# State


def test_a_state_issued_and_not_echoed() -> None:
    talk = asked()
    talk.client(retry(2, {"k": MAIN}))
    assert talk.story[1:] == ["answered accepted by person_claimed [state_not_echoed]"]


def test_no_state_issued_and_none_echoed() -> None:
    talk = asked(state=None)
    talk.client(retry(2, {"k": MAIN}))
    assert talk.story[1:] == ["answered accepted by person_claimed"]


@pytest.mark.parametrize("issued", [None, "state 1"])
def test_a_state_never_issued_in_this_operation(issued: str | None) -> None:
    talk = asked(state=issued)
    talk.client(retry(2, {"k": MAIN}, "my own"))
    assert talk.story[1:] == ["answered accepted by person_claimed [state_invented]"]


def test_a_state_on_a_first_call_is_invented_and_stray() -> None:
    talk = Conversation(MODERN)
    talk.client(retry(1, state="my own"))
    assert talk.story == ["noted [state_invented]"]
    assert talk.last.elicitation_id is None


def test_a_state_used_again_without_having_been_issued_again() -> None:
    talk = asked()
    talk.client(retry(2, {"k": MAIN}, "state 1"))
    talk.server(interim(2, {"k2": TAG}, "state 2"))
    talk.wait(seconds=5)
    talk.client(retry(3, {"k2": DECLINED}, "state 1"))
    assert talk.story[3:] == ["answered declined by person_claimed [state_reused]"]


def test_a_state_issued_again_is_not_reused() -> None:
    talk = asked()
    talk.client(retry(2, {"k": MAIN}, "state 1"))
    talk.server(interim(2, {"k2": TAG}, "state 1"))
    talk.wait(seconds=5)
    talk.client(retry(3, {"k2": DECLINED}, "state 1"))
    assert talk.story[3:] == ["answered declined by person_claimed"]


def test_a_retry_sent_once_more_after_the_end_has_no_second_outcome() -> None:
    talk = asked()
    talk.client(retry(2, {"k": MAIN}, "state 1"))
    talk.server(success(2))
    talk.client(retry(3, {"k": DECLINED}, "state 1"))
    talk.server(success(3))
    assert talk.story[1:] == [
        "answered accepted by person_claimed",
        "resumed (success)",
        "noted [answer_after_end state_reused]",
    ]
    assert talk.last.elicitation_id == talk.receipts[0].elicitation_id


def test_an_answer_given_again_while_the_operation_runs() -> None:
    talk = asked()
    talk.client(retry(2, {"k": MAIN}, "state 1"))
    talk.client(retry(3, {"k": DECLINED}, "state 1"))
    talk.server(success(2))
    assert talk.story[2:] == ["noted [duplicate_answer state_reused]", "resumed (success)"]


# Ids


def test_a_retry_under_the_id_of_an_earlier_request() -> None:
    talk = asked()
    talk.client(retry(1, {"k": MAIN}, "state 1"))
    talk.server(success(1))
    assert talk.story[1:] == [
        "answered accepted by person_claimed [id_reused_on_retry]",
        "resumed (success)",
    ]


def test_from_the_modern_revision_an_id_may_be_used_again_once_answered() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(success(1))
    talk.client(call(1))
    assert talk.story == []


def test_two_outstanding_calls_under_one_id() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.client(call(1))
    talk.client(call(1))
    assert talk.story == ["noted [duplicate_id]"]
    assert talk.last.elicitation_id is None


# Arrays


def test_a_question_inside_an_array_is_recorded() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server([interim(1, {"k": FORM}, "s")])
    assert talk.story == ["requested open [batch_array]"]


def test_an_answer_inside_an_array_is_not_paired() -> None:
    talk = asked()
    talk.client([retry(2, {"k": MAIN}, "state 1")])
    assert talk.story[1:] == ["noted [batch_array]"]
    assert talk.last.elicitation_id is None
    talk.server(error(None, -32600))
    talk.client(retry(3, {"k": DECLINED}, "state 1"))
    talk.server(success(3))
    assert talk.story[2:] == ["answered declined by person_claimed", "resumed (success)"]


# The end


def test_the_final_result_while_a_question_is_open() -> None:
    talk = asked()
    talk.client(retry(2, state="state 1"))
    talk.server(success(2))
    assert talk.story[1:] == [
        "noted [missing_response]",
        "abandoned abandoned by runtime (success) [resume_without_answer unanswered]",
    ]


def test_a_retry_that_never_comes() -> None:
    talk = asked()
    assert talk.wait(seconds=3_594) == []
    talk.wait(seconds=1)
    assert talk.story[1:] == ["abandoned abandoned by runtime [unanswered]"]
    assert talk.close() == []


def test_an_answer_after_the_wait_has_passed() -> None:
    talk = asked()
    talk.wait(seconds=3_600)
    talk.client(retry(2, {"k": MAIN}, "state 1"))
    assert talk.story[1:] == [
        "abandoned abandoned by runtime [unanswered]",
        "noted [answer_after_end]",
    ]


def test_a_retry_in_flight_is_no_wait() -> None:
    talk = asked({"k": URL})
    talk.client(retry(2, {"k": accepted()}, "state 1"))
    assert talk.wait(seconds=7_200) == []
    talk.server(success(2))
    assert talk.story[2:] == [
        "completed completed by runtime (operation_result)",
        "resumed (success)",
    ]


def test_the_end_of_a_recording() -> None:
    talk = asked({"a": FORM, "b": URL})
    talk.client(retry(2, {"b": accepted()}, "state 1"))
    talk.close()
    assert talk.story[4:] == [
        "abandoned abandoned by runtime [unanswered]",
        "abandoned unproven by runtime",
    ]


def test_the_client_cancels_its_retry() -> None:
    talk = asked({"a": FORM, "b": TAG})
    talk.client(retry(2, {"a": MAIN}, "state 1"))
    talk.client(cancelled(2))
    assert talk.story[4:] == ["refused withdrawn by unknown"]
    assert talk.last.elicitation_id == talk.receipts[1].elicitation_id


def test_a_submitted_value_in_the_error_of_the_operation() -> None:
    talk = asked()
    talk.client(retry(2, {"k": MAIN}, "state 1"))
    talk.server(tool_error(2, "main: no such branch"))
    assert talk.story[2:] == ["resumed (tool_error) [value_leaked_in_error]"]


def test_a_value_of_an_earlier_round_in_the_error_of_the_operation() -> None:
    talk = asked({"k": form_params(properties=BRANCH, required=["branch"])})
    talk.client(retry(2, {"k": accepted({"other": "secret"})}, "state 1"))
    talk.server(interim(2, {"k": form_params(properties=BRANCH, required=["branch"])}, "s2"))
    talk.wait(seconds=5)
    talk.client(retry(3, {"k": DECLINED}, "s2"))
    talk.server(error(3, -32603, "you said secret"))
    assert talk.story[-1] == "resumed (error) round 2 [value_leaked_in_error]"
