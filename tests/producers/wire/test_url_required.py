"""The carrier of 2025-11-25 that is an error: -32042, "URL elicitation required", and the retry."""

from __future__ import annotations

from typing import Any

import pytest
from conversation import (
    MODERN,
    SECOND,
    Conversation,
    accept,
    call,
    cancelled,
    completion,
    error,
    findings,
    request,
    result,
    success,
    tool_error,
    url,
    url_params,
    url_required,
)

from elicitation_receipts.schemas.vocabulary import Carrier, Event, Mode, ReferenceKind

PAY = url_params("pay", "https://pay.example/start")
SIGN = url_params("sign", "https://sign.example/start", "Sign to continue")


def required(*entries: object, revision: str = SECOND) -> Conversation:
    """A tool call answered with -32042, a minute gone."""
    talk = Conversation(revision)
    talk.client(call(1))
    talk.server(url_required(1, *(entries or (PAY,))))
    talk.wait(seconds=60)
    return talk


def test_the_retried_operation_ends_with_success() -> None:
    talk = required()
    talk.client(call(2))
    talk.wait(seconds=1)
    talk.server(success(2))
    talk.close()
    assert talk.story == [
        "requested open",
        "completed completed by runtime (operation_result)",
        "resumed (success)",
    ]


def test_what_stands_on_the_receipts() -> None:
    talk = required()
    talk.client(call(2))
    talk.server(success(2))
    assert {r.carrier for r in talk.receipts} == {Carrier.URL_REQUIRED_ERROR}
    assert {r.mode for r in talk.receipts} == {Mode.URL}
    assert {r.url_origin for r in talk.receipts} == {"https://pay.example"}
    assert len({r.operation_id for r in talk.receipts}) == 1
    assert talk.elicitations == 1
    assert {ref.kind for ref in talk.receipts[0].correlation_refs} == {
        ReferenceKind.OPERATION_REQUEST_ID,
        ReferenceKind.ELICITATION_ID,
    }


def test_each_entry_is_an_elicitation() -> None:
    talk = required(PAY, SIGN)
    assert talk.story == ["requested open", "requested open"]
    talk.client(call(2))
    talk.server(success(2))
    assert sorted(talk.story[2:]) == [
        "completed completed by runtime (operation_result)",
        "completed completed by runtime (operation_result)",
        "resumed (success)",
        "resumed (success)",
    ]
    assert talk.elicitations == 2


def test_completion_notified_before_the_retry() -> None:
    talk = required(PAY, SIGN)
    talk.server(completion("pay"))
    talk.client(call(2))
    talk.server(success(2))
    assert talk.story[2:] == [
        "completed completed by runtime (server_notification)",
        "resumed (success)",
        "completed completed by runtime (operation_result)",
        "resumed (success)",
    ]


def test_completion_notified_although_nobody_retries() -> None:
    talk = required()
    talk.server(completion("pay"))
    talk.close()
    assert talk.story[1:] == ["completed completed by runtime (server_notification)"]


@pytest.mark.parametrize(
    "again",
    [PAY, url_params("pay", "https://elsewhere.example/"), url_params("new", PAY["url"])],
    ids=["equal", "same id", "same question under a new id"],
)
def test_a_retry_met_by_the_same_question_is_its_next_round(again: dict[str, Any]) -> None:
    talk = required()
    # The same question under a new id has the message of the first.
    talk.client(call(2))
    talk.server(url_required(2, again))
    talk.client(call(3))
    talk.server(success(3))
    assert talk.story[1:] == [
        "requested open round 2",
        "completed completed by runtime (operation_result) round 2",
        "resumed (success) round 2",
    ]
    assert talk.elicitations == 1


def test_a_retry_met_by_another_question() -> None:
    talk = required()
    talk.client(call(2))
    talk.server(url_required(2, SIGN))
    assert talk.story[1:] == ["requested open"]
    assert talk.elicitations == 2
    assert len({r.operation_id for r in talk.receipts}) == 1


def test_a_retry_met_by_the_same_question_as_a_server_request_is_its_next_round() -> None:
    talk = required()
    talk.client(call(2))
    talk.server(url(7, "pay", url=PAY["url"]))
    talk.wait(seconds=5)
    talk.client(accept(7))
    talk.server(completion("pay"))
    talk.server(success(2))
    assert talk.story[1:] == [
        "requested open round 2",
        "answered consented by person_claimed round 2",
        "completed completed by runtime (server_notification) round 2",
        "resumed (success) round 2",
    ]


@pytest.mark.parametrize("failure", [tool_error(2), error(2, -32603)])
def test_a_retry_that_fails_leaves_the_question_open(failure: dict[str, Any]) -> None:
    talk = required()
    talk.client(call(2))
    assert talk.server(failure) == []
    talk.client(call(3))
    talk.server(success(3))
    assert talk.story[1:] == [
        "completed completed by runtime (operation_result)",
        "resumed (success)",
    ]


def test_a_question_left_open_by_a_failed_retry_ends_with_the_wait() -> None:
    talk = required()
    talk.client(call(2))
    talk.server(tool_error(2))
    assert talk.wait(seconds=3_500) == []
    talk.wait(seconds=3_600)
    assert talk.story[1:] == ["abandoned abandoned by runtime [unanswered]"]


def test_a_retry_that_fails_after_completion_is_the_final_result() -> None:
    talk = required()
    talk.server(completion("pay"))
    talk.client(call(2))
    talk.server(tool_error(2))
    assert talk.story[2:] == ["resumed (tool_error)"]


def test_equal_arguments_in_another_order_are_the_retry() -> None:
    talk = Conversation()
    talk.client(call(1, {"a": 1, "b": [1, 2]}))
    talk.server(url_required(1, PAY))
    talk.client(call(2, {"b": [1.0, 2], "a": 1}))
    talk.server(success(2))
    assert talk.of(Event.COMPLETED) != []


def test_no_arguments_and_empty_arguments_are_equal() -> None:
    talk = Conversation()
    talk.client(request(1, "tools/call", {"name": "deploy"}))
    talk.server(url_required(1, PAY))
    talk.client(call(2))
    talk.server(success(2))
    assert talk.of(Event.COMPLETED) != []


@pytest.mark.parametrize(
    "other",
    [
        call(2, {"path": "/y"}),
        call(2, tool="build"),
        request(2, "prompts/get", {"name": "deploy"}),
    ],
    ids=["arguments", "tool", "method"],
)
def test_another_call_is_no_retry(other: dict[str, Any]) -> None:
    talk = required()
    talk.client(other)
    talk.server(success(2))
    assert talk.story == ["requested open"]


def test_where_several_operations_match_every_candidate_is_ambiguous() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.client(call(2))
    talk.server(url_required(1, PAY))
    talk.server(url_required(2, SIGN))
    talk.wait(seconds=60)
    talk.client(call(3))
    talk.server(success(3))
    talk.close()
    assert talk.story[2:] == ["answered ambiguous by unknown", "answered ambiguous by unknown"]


def test_an_operation_after_the_retry_is_one_of_its_own() -> None:
    talk = required()
    talk.client(call(2))
    talk.server(success(2))
    talk.client(call(3))
    assert talk.server(success(3)) == []


def test_a_retry_under_the_id_of_the_first_request() -> None:
    talk = required()
    talk.client(call(1))
    talk.server(success(1))
    assert talk.story[1:] == [
        "noted [id_reused_on_retry]",
        "completed completed by runtime (operation_result)",
        "resumed (success)",
    ]


def test_a_retry_that_never_comes() -> None:
    talk = required()
    talk.wait(seconds=3_539)
    assert len(talk.story) == 1
    talk.wait(seconds=1)
    assert talk.story[1:] == ["abandoned abandoned by runtime [unanswered]"]


def test_the_end_of_the_connection() -> None:
    talk = required(PAY, SIGN)
    talk.close()
    assert talk.story[2:] == ["abandoned abandoned by runtime [unanswered]"] * 2


def test_the_client_cancels_its_retry() -> None:
    talk = required()
    talk.client(call(2))
    talk.client(cancelled(2))
    assert talk.story[1:] == ["refused withdrawn by unknown"]


def test_cancelling_the_request_that_got_the_error_changes_nothing() -> None:
    talk = required()
    assert talk.client(cancelled(1)) == []


def test_in_a_modern_session_the_code_is_retired() -> None:
    talk = required(url_params(None), revision=MODERN)
    talk.client(call(2))
    talk.server(success(2))
    assert talk.story == [
        "requested open [retired_code]",
        "completed completed by runtime (operation_result)",
        "resumed (success)",
    ]


def test_inside_an_array() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server([url_required(1, PAY)])
    assert talk.story == ["requested open [batch_array]"]


@pytest.mark.parametrize(
    ("entry", "defect"),
    [
        (url_params(None), "missing_elicitation_id"),
        ({"mode": "url", "elicitationId": "pay", "url": "https://pay.example"}, "missing_message"),
        ({"mode": "url", "elicitationId": "pay", "message": "Pay"}, "malformed_message"),
        ("pay", "malformed_message"),
        (url_params(url="http://pay.example/"), "url_not_https"),
    ],
)
def test_an_entry_with_a_defect_is_recorded_with_it(entry: object, defect: str) -> None:
    assert defect in findings(required(entry).receipts[0])


@pytest.mark.parametrize("data", [None, {}, {"elicitations": []}, {"elicitations": {}}, "x"])
def test_without_entries_it_is_an_error_like_any_other(data: object) -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(error(1, -32042, data=data))
    assert talk.story == []


def test_a_result_that_only_looks_like_one() -> None:
    talk = Conversation()
    talk.client(call(1))
    assert talk.server(result(1, code=-32042, data={"elicitations": [PAY]})) == []
