"""Orphans: what a watcher before left open is found again, and nothing unknown is said of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conversation import (
    CANCELLED,
    DECLINED,
    MODERN,
    accept,
    accepted,
    answer,
    call,
    cancelled,
    completion,
    decline,
    error,
    form,
    form_params,
    interim,
    notification,
    request,
    result,
    retry,
    success,
    url,
    url_params,
    url_required,
)
from http_traffic import Traffic

from elicitation_receipts.schemas.vocabulary import Clock

META = "io.modelcontextprotocol/"
HOUR_S = 3_600
KEPT = (
    *("elicitation_id", "operation_id", "session_ref", "question_digest", "round", "mode"),
    *("operation_method", "tool", "client_name", "client_version", "protocol_version"),
    *("declared_modes", "capability_digest"),
)


def modern(message: dict[str, object]) -> dict[str, object]:
    """As a client of 2026-07-28 declares itself."""
    meta = {
        META + "protocolVersion": MODERN,
        META + "clientInfo": {"name": "a-client", "version": "1"},
        META + "clientCapabilities": {"elicitation": {"form": {}, "url": {}}},
    }
    return {**message, "params": {**message["params"], "_meta": meta}}  # type: ignore[dict-item]


def begun(*questions: dict[str, object]) -> Traffic:
    """A session with questions open, and a new watcher."""
    traffic = Traffic()
    greeting = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {"form": {}, "url": {}}},
        "clientInfo": {"name": "a client", "version": "1"},
    }
    begin = traffic.open(request(0, "initialize", greeting), session=None)
    traffic.status(begin, mcp_session_id="one")
    traffic.say(begin, result(0, protocolVersion="2025-11-25", capabilities={}))
    traffic.post(notification("notifications/initialized"))
    traffic.say(traffic.open(call(1)), *questions)
    traffic.restart()
    return traffic


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (decline(7), "answered declined by person_claimed"),
        (answer(7, CANCELLED), "answered cancelled by person_claimed"),
        (answer(7, {"action": "maybe"}), "answered malformed by unknown [unknown_action]"),
        (error(7, -32000), "refused errored by runtime [error_answer]"),
        (error(7, -32601), "refused unsupported by runtime [error_answer]"),
    ],
)
def test_what_is_plain_without_the_question_is_said(given: dict[str, object], told: str) -> None:
    traffic = begun(form(7))
    put = traffic.receipts[-1]
    traffic.post(given)
    assert traffic.story == ["requested open", told]
    end = traffic.receipts[-1]
    for name in KEPT:
        assert getattr(end, name) == getattr(put, name), name
    assert set(put.correlation_refs) <= set(end.correlation_refs)
    assert (end.clock, end.since_previous_us) == (Clock.WALL, end.occurred_at - put.occurred_at)


def test_whether_an_accepted_form_is_valid_is_not_known() -> None:
    traffic = begun(form(7))
    traffic.post(accept(7, {"branch": "main"}))
    assert traffic.story[-1] == "answered ambiguous by unknown"
    given = traffic.receipts[-1]
    assert given.action == "accept"
    assert given.payload_digest is not None
    assert given.validation is None


def test_a_question_delivered_again_is_known_again() -> None:
    traffic = begun(form(7))
    traffic.say(traffic.open(method="GET", last_event_id="e0"), form(7), id="e1")
    traffic.post(accept(7, {"branch": 1}))
    assert traffic.story == [
        "requested open",
        "answered invalid by person_claimed [accept_schema_mismatch]",
    ]


def test_another_question_under_the_same_id_is_another() -> None:
    traffic = begun(form(7))
    traffic.say(traffic.open(call(2)), form(7, "Which tag?"))
    assert traffic.story == ["requested open", "requested open [duplicate_id]"]
    traffic.post(decline(7))
    assert traffic.story[2:] == ["answered ambiguous by unknown"] * 2


def test_consent_is_consent_and_its_completion_is_found() -> None:
    traffic = begun(url(7))
    traffic.post(accept(7))
    traffic.restart()
    traffic.say(traffic.open(method="GET"), completion())
    assert traffic.story == [
        "requested open",
        "answered consented by person_claimed",
        "completed completed by runtime (server_notification)",
    ]
    assert [receipt.url_origin for receipt in traffic.receipts] == ["https://pay.example"] * 3


def test_the_completion_of_a_url_that_came_as_an_error_is_found() -> None:
    traffic = begun(url_required(1, url_params()))
    traffic.say(traffic.open(method="GET"), completion())
    assert traffic.story[1:] == ["completed completed by runtime (server_notification)"]


def test_the_operation_goes_on_where_its_result_comes() -> None:
    traffic = begun(url(7))
    traffic.post(accept(7))
    traffic.restart()
    traffic.say(traffic.open(method="GET", last_event_id="e0"), success(1))
    assert traffic.story[2:] == ["resumed (success)"]


Act = Callable[[Traffic], None]
WITHDRAWALS: dict[str, tuple[Act, str]] = {
    "by the server": (
        lambda traffic: traffic.say(traffic.open(method="GET"), cancelled(7)),
        "refused withdrawn by runtime",
    ),
    "by the client": (
        lambda traffic: traffic.post(cancelled(1)),
        "refused withdrawn by unknown",
    ),
    # Nobody knows whether an answer passed while nobody watched: not `unanswered`.
    "by the end of the session": (
        lambda traffic: traffic.status(traffic.open(method="DELETE")),
        "abandoned abandoned by runtime",
    ),
}


@pytest.mark.parametrize(("act", "told"), WITHDRAWALS.values(), ids=WITHDRAWALS)
def test_it_ends_as_it_would_have(act: Act, told: str) -> None:
    traffic = begun(form(7))
    act(traffic)
    assert traffic.story == ["requested open", told]


def test_of_what_lies_before_nothing_is_claimed() -> None:
    traffic = begun()
    traffic.post(decline(6))  # a question it has answered before, or no question at all
    traffic.say(traffic.open(method="GET"), completion("another"))
    traffic.say(traffic.open(method="GET"), form(8))  # asked by a call made before
    assert traffic.story == ["requested open"]


def test_an_answer_in_another_session_is_none() -> None:
    traffic = begun(form(7))
    traffic.post(decline(7), session="two")
    assert traffic.story == ["requested open"]


def test_one_whose_time_has_passed_is_left_to_whoever_ends_it() -> None:
    traffic = begun(form(7))
    traffic.now(HOUR_S)
    traffic.post(decline(7))
    assert traffic.story == ["requested open"]


# 2026-07-28: no session


def asked(state: str | None = "s", *, times: int = 1, **questions: object) -> Traffic:
    traffic = Traffic()
    for number in range(1, times + 1):
        exchange = traffic.open(modern(call(number)), session=None)
        traffic.say(exchange, interim(number, questions or {"k": form_params()}, state=state))
    traffic.restart()
    return traffic


def test_a_state_finds_what_it_continues() -> None:
    traffic = asked(a=url_params(None), b=form_params())
    answers = {"a": accepted(), "b": DECLINED}
    exchange = traffic.open(modern(retry(2, answers, "s")), session=None)
    traffic.say(exchange, success(2))
    assert traffic.story[2:] == [
        "answered consented by person_claimed",
        "answered declined by person_claimed",
        "completed completed by runtime (operation_result)",
        "resumed (success)",
        "resumed (success)",
    ]


def test_what_the_retry_leaves_out_waits_on() -> None:
    traffic = asked(a=form_params(), b=form_params("Which tag?"))
    # "c" may be another kind of question asked with them.
    exchange = traffic.open(modern(retry(2, {"b": DECLINED, "c": {}}, "s")), session=None)
    traffic.say(exchange, interim(2, {"a": form_params()}, state="t"))
    last = modern(retry(3, {"a": accepted({"branch": "main"})}, "t"))
    traffic.say(traffic.open(last, session=None), success(3))
    assert traffic.story[2:] == [
        "answered declined by person_claimed",
        "noted [missing_response]",
        "requested open round 2",
        "answered accepted by person_claimed round 2",
        "resumed (success) round 2",
        "resumed (success)",
    ]


def test_one_state_issued_twice_leaves_both_uncertain() -> None:
    traffic = asked(times=2)
    traffic.open(modern(retry(3, {"k": DECLINED}, "s")), session=None)
    assert traffic.story[2:] == ["answered ambiguous by unknown"] * 2


def test_a_state_with_another_call_is_found_and_named() -> None:
    traffic = asked()
    changed = modern(retry(2, {"k": DECLINED}, "s", tool="destroy"))
    traffic.open(changed, session=None)
    assert traffic.story[1:] == ["answered declined by person_claimed [arguments_changed]"]


def test_without_a_state_nothing_says_whose_answer_it_is() -> None:
    traffic = asked(state=None)
    traffic.open(modern(retry(2, {"k": DECLINED})), session=None)
    assert traffic.story == ["requested open"]


# Tasks


def poll(traffic: Traffic, number: int, **task: object) -> None:
    exchange = traffic.open(modern(request(number, "tasks/get", {"taskId": "t"})), session=None)
    traffic.say(exchange, result(number, taskId="t", **task))


QUESTIONS = {"k": {"method": "elicitation/create", "params": form_params()}}


def task_asking() -> Traffic:
    traffic = Traffic()
    exchange = traffic.open(modern(call(1)), session=None)
    traffic.say(exchange, result(1, resultType="task", taskId="t", status="working"))
    poll(traffic, 2, status="input_required", inputRequests=QUESTIONS)
    traffic.restart()
    return traffic


def update(traffic: Traffic, number: int, given: object) -> None:
    params = {"taskId": "t", "inputResponses": {"k": given}}
    traffic.open(modern(request(number, "tasks/update", params)), session=None)


def test_a_task_is_found_by_its_id_and_the_question_by_its_key() -> None:
    traffic = task_asking()
    update(traffic, 3, DECLINED)
    poll(traffic, 4, status="completed", result={"content": []})
    assert traffic.story == [
        "requested open",
        "answered declined by person_claimed",
        "resumed (success)",
    ]


def test_the_next_poll_tells_what_a_task_asks() -> None:
    traffic = task_asking()
    poll(traffic, 3, status="input_required", inputRequests=QUESTIONS)
    update(traffic, 4, accepted({"branch": "main"}))
    assert traffic.story == ["requested open", "answered accepted by person_claimed"]


def test_a_task_nobody_saw_start_asks_all_the_same() -> None:
    traffic = Traffic()
    poll(traffic, 3, status="input_required", inputRequests=QUESTIONS)
    update(traffic, 4, accepted({"branch": "main"}))
    poll(traffic, 5, status="completed", result={"content": []})
    assert traffic.story == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]
    assert {receipt.operation_method for receipt in traffic.receipts} == {None}


def test_a_call_of_another_watchers_time_may_ask_again() -> None:
    traffic = begun(url(7))
    traffic.post(accept(7))
    traffic.restart()
    stream = traffic.open(method="GET", last_event_id="e0")
    traffic.say(stream, url_required(1, url_params("another")))
    assert traffic.story[2:] == ["requested open"]
    assert len({receipt.operation_id for receipt in traffic.receipts}) == 1
