"""Exchanges: whose request it is, on which stream it travels, what status and redelivery say."""

from __future__ import annotations

from conversation import (
    accept,
    accepted,
    call,
    decline,
    form,
    form_params,
    interim,
    request,
    result,
    retry,
    success,
)
from http_traffic import Traffic

from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.schemas.vocabulary import Event, Outcome

DAY_S = 86_400
FORM_CLIENT = {"capabilities": {"elicitation": {}}, "protocolVersion": "2025-11-25"}


def test_an_answer_comes_by_a_request_of_its_own() -> None:
    traffic = Traffic()
    asking = traffic.open(call(1))
    traffic.status(asking)
    traffic.say(asking, form(7))
    traffic.post(accept(7, {"branch": "main"}))
    traffic.say(asking, success(1))
    traffic.end(asking)
    assert traffic.story == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]


def test_the_sessions_of_two_clients_do_not_meet() -> None:
    traffic = Traffic()
    first, second = traffic.open(call(1)), traffic.open(call(1), session="two")
    for asking in (first, second):
        traffic.say(asking, form(7))
    traffic.post(decline(7), session="two")
    answered = traffic.receipts[-1]
    assert answered.outcome is Outcome.DECLINED
    assert answered.session_ref == traffic.receipts[1].session_ref
    assert answered.session_ref != traffic.receipts[0].session_ref


def test_what_is_asked_on_a_stream_belongs_to_the_request_that_opened_it() -> None:
    traffic = Traffic()
    first, second = traffic.open(call(1)), traffic.open(call(2))
    traffic.say(second, form(7))
    traffic.say(first, form(8))
    asked_second, asked_first = traffic.receipts
    assert None not in (asked_first.operation_id, asked_second.operation_id)
    assert asked_first.operation_id != asked_second.operation_id


def test_a_session_is_named_by_the_answer_to_initialize() -> None:
    traffic = Traffic()
    begin = traffic.open(request(0, "initialize", FORM_CLIENT), session=None)
    traffic.status(begin, mcp_session_id="one")
    traffic.say(begin, result(0, protocolVersion="2025-11-25", capabilities={}))
    traffic.say(traffic.open(call(1)), form(7))
    assert traffic.receipts[-1].protocol_version == "2025-11-25"
    assert traffic.receipts[-1].declared_modes is not None


def test_an_event_delivered_again_is_one_message() -> None:
    traffic = Traffic()
    traffic.say(traffic.open(call(1)), form(7), id="e1")
    again = traffic.open(method="GET", last_event_id="e0")
    traffic.say(again, form(7), id="e1")
    assert traffic.story == ["requested open"]


def test_without_a_session_equal_event_ids_say_nothing() -> None:
    traffic = Traffic()
    for _ in range(2):
        traffic.say(traffic.open(call(1), session=None), form(7), id="1")
    assert [receipt.event for receipt in traffic.receipts] == [Event.REQUESTED] * 2


def test_a_stream_resumed_is_the_stream_that_broke_off() -> None:
    traffic = Traffic()
    first = traffic.open(call(1))
    traffic.open(call(2))
    traffic.say(first, {"jsonrpc": "2.0", "method": "notifications/progress"}, id="e1")
    resumed = traffic.open(method="GET", last_event_id="e1")
    traffic.say(resumed, form(7), id="e2")
    traffic.say(resumed, success(1), id="e3")
    assert traffic.receipts[0].operation_id is not None
    assert (
        traffic.story[-1]
        == "abandoned abandoned by runtime (success) [resume_without_answer unanswered]"
    )


def test_the_same_question_on_another_stream_is_no_second_one() -> None:
    traffic = Traffic()
    traffic.say(traffic.open(call(1)), form(7))
    traffic.say(traffic.open(method="GET"), form(7))
    assert traffic.story == ["requested open"]


def test_an_answer_the_http_layer_refuses_was_not_delivered() -> None:
    traffic = Traffic()
    traffic.say(traffic.open(call(1)), form(7))
    traffic.post(accept(7, {"branch": "main"}), status=500)
    traffic.post(accept(7, {"branch": "main"}))
    assert traffic.story[1:] == [
        "answered accepted by person_claimed",
        "noted open [answer_not_delivered]",
        "answered accepted by person_claimed",
    ]
    assert [receipt.attempt for receipt in traffic.receipts] == [0, 1, 1, 2]


def test_a_session_that_is_deleted_or_unknown_has_ended() -> None:
    for method, status in (("DELETE", 200), ("POST", 404)):
        traffic = Traffic()
        traffic.say(traffic.open(call(1)), form(7))
        traffic.status(traffic.open(method=method), status)
        assert traffic.story[-1] == "abandoned abandoned by runtime [unanswered]"


def test_a_stream_that_ends_ends_no_question() -> None:
    traffic = Traffic()
    asking = traffic.open(call(1))
    traffic.status(asking)
    traffic.say(asking, form(7))
    traffic.end(asking)
    traffic.post(decline(7))
    assert traffic.story == ["requested open", "answered declined by person_claimed"]


def test_without_a_session_ids_mean_something_on_their_stream_alone() -> None:
    traffic = Traffic()
    first, second = (traffic.open(call(1), session=None) for _ in range(2))
    for exchange in (first, second):
        traffic.say(exchange, success(1))
    assert traffic.receipts == []  # no id is used twice


def test_who_said_nothing_for_a_day_is_forgotten() -> None:
    traffic = Traffic()
    asking = traffic.open(call(1))
    traffic.say(asking, success(1))
    before = traffic.exchanges.open("POST", {"mcp-session-id": "one"}, None)
    traffic.pass_time(DAY_S + 10)
    # The same id begins anew: nothing of the former session is known.
    after = traffic.exchanges.open("POST", {"mcp-session-id": "one"}, None)
    for exchange in (before, after):
        traffic.say(exchange, form(7))
    assert [receipt.event for receipt in traffic.receipts] == [Event.REQUESTED] * 2


def test_who_has_a_question_open_is_never_forgotten() -> None:
    traffic = Traffic()
    traffic.say(traffic.open(call(1)), form(7))
    traffic.pass_time(2 * DAY_S)
    traffic.post(decline(7))
    assert traffic.story[-1] == "answered declined by person_claimed"


def test_a_body_too_long_is_named() -> None:
    traffic = Traffic()
    traffic.keep(traffic.open().on_oversized(Direction.CLIENT_TO_SERVER, traffic.now()))
    assert traffic.story == ["noted [oversized_message]"]


def test_a_question_taken_back_is_read_when_it_is_delivered_again() -> None:
    traffic = Traffic()
    asking = traffic.open(call(1))
    traffic.say(asking, form(7), id="e1")
    asking.retract(traffic.receipts)
    asking.forget("e1")
    traffic.say(asking, form(7), id="e1")
    assert [receipt.event for receipt in traffic.receipts] == [Event.REQUESTED] * 2


def test_no_reference_to_a_credential_is_written() -> None:
    traffic = Traffic()
    for credential in ("Bearer a", "Bearer b", "Bearer a"):
        traffic.say(traffic.open(call(1), session=None, principal=credential), form(7))
    first, second, third = (receipt.session_ref for receipt in traffic.receipts)
    assert first == third != second
    other = Traffic()
    other.open(call(1), session=None, principal="Bearer c")
    other.say(other.open(call(1), session=None, principal="Bearer a"), form(7))
    assert other.receipts[0].session_ref != first


def asked_of_nobody(traffic: Traffic, times: int = 1) -> None:
    """Round trips of clients that do not say who they are and get no state to echo."""
    for number in range(1, times + 1):
        exchange = traffic.open(call(number), session=None)
        traffic.say(exchange, interim(number, {"branch": form_params()}))


def test_an_answer_of_nobody_in_particular_leaves_an_equal_question_uncertain() -> None:
    traffic = Traffic()
    asked_of_nobody(traffic)
    again = traffic.open(retry(2, {"branch": accepted({"branch": "main"})}), session=None)
    traffic.say(again, success(2))
    assert traffic.story == ["requested open", "answered ambiguous by unknown"]


def test_no_answer_of_nobody_in_particular_was_never_asked_for() -> None:
    traffic = Traffic()
    asked_of_nobody(traffic, times=2)
    for number in (3, 4):
        traffic.open(retry(number, {"branch": accepted({"branch": "main"})}), session=None)
    assert traffic.story == ["requested open"] * 2 + ["answered ambiguous by unknown"] * 2


def test_an_equal_call_that_answers_nothing_says_nothing_of_the_others() -> None:
    traffic = Traffic()
    asked_of_nobody(traffic)
    traffic.open(call(2), session=None)
    assert traffic.story == ["requested open"]


def test_a_state_joins_what_nobody_in_particular_sends() -> None:
    traffic = Traffic()
    exchange = traffic.open(call(1), session=None)
    traffic.say(exchange, interim(1, {"branch": form_params()}, state="s"))
    again = traffic.open(retry(2, {"branch": accepted({"branch": "main"})}, "s"), session=None)
    traffic.say(again, success(2))
    assert traffic.story == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]
