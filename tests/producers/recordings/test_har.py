"""HTTP Archives: what is read from them, and when the events of a stream are taken to have come."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conversation import (
    accept,
    call,
    completion,
    form,
    notification,
    request,
    success,
    told,
    url,
)
from hypothesis import given
from hypothesis import strategies as st
from recordings import START, archive, entry, event, recording, replayed

from elicitation_receipts.producers.recordings.har import read_har
from elicitation_receipts.producers.recordings.traffic import (
    BrokenError,
    End,
    Frame,
    Request,
    Response,
)
from elicitation_receipts.schemas.datum import LATEST_MICROS
from elicitation_receipts.schemas.vocabulary import Event

Json = Any
BRANCH_IS_MAIN = {"branch": "main"}


def frames(content: bytes) -> list[tuple[float, Json]]:
    """Seconds since the start, and the message, of each frame."""
    return [
        (round(one.at / 1_000_000 - START, 3), json.loads(one.data))
        for one in read_har(content)
        if isinstance(one, Frame)
    ]


def test_an_entry_is_an_exchange() -> None:
    request, response, frame, end = read_har(archive(entry(1, 0.5, call(1), success(1))))
    assert isinstance(request, Request)
    assert (request.method, request.server) == ("POST", "https://a.example/mcp")
    assert request.headers == {"mcp-session-id": "a-session"}
    assert json.loads(request.body) == call(1)
    assert isinstance(response, Response)
    assert response.status == 200
    assert isinstance(frame, Frame)
    assert json.loads(frame.data) == success(1)
    assert isinstance(end, End)
    times = [round(one.at / 1_000_000 - START, 3) for one in (request, response, frame, end)]
    assert times == [1, 1.001, 1.5, 1.5]


def test_other_traffic_than_json_rpc_is_left_out() -> None:
    page, image = entry(0, 1, None, None, method="GET"), entry(0, 1, {"query": "{me}"}, {"data": 1})
    page["request"]["url"] = "https://a.example/"
    image["request"]["url"] = "https://a.example/graphql"
    preflight = entry(1, 1, None, None, method="OPTIONS")
    assert read_har(archive(page, image)) == []
    spoken = read_har(archive(page, image, preflight, entry(2, 1, call(1), success(1))))
    assert {one.place for one in spoken} == {4}


def test_a_body_in_base64() -> None:
    one = entry(0, 1, call(1), success(1))
    content = one["response"]["content"]
    content |= {"text": base64.b64encode(content["text"].encode()).decode(), "encoding": "base64"}
    assert frames(archive(one)) == [(1, success(1))]


def test_the_times_chrome_adds_to_a_stream_are_kept() -> None:
    messages = [
        {"time": START + 2, "eventName": "message", "eventId": "e1", "data": json.dumps(form(7))},
        {"time": START + 9, "eventName": "message", "eventId": "", "data": json.dumps(success(1))},
    ]
    content = archive(entry(0, 10, call(1), "", _eventSourceMessages=messages))
    assert frames(content) == [(2, form(7)), (9, success(1))]
    assert [one.event_id for one in read_har(content) if isinstance(one, Frame)] == ["e1", None]


def test_a_question_came_as_early_as_it_can_have() -> None:
    first, second = form(7), form(8)
    progress = notification("notifications/progress")
    stream = "".join(map(event, (progress, first, second, progress, success(1))))
    content = archive(
        entry(0, 30, call(1), stream, waited=2),
        entry(10, 1, accept(7, BRANCH_IS_MAIN), None, status=202),
        entry(20, 1, accept(8, BRANCH_IS_MAIN), None, status=202),
    )
    assert frames(content) == [
        (2, progress),
        (2, first),
        (10, second),  # after the first was answered, as far as can be told
        (30, progress),
        (30, success(1)),
    ]


def test_questions_that_were_open_together_came_before_either_was_answered() -> None:
    stream = event(form(7)) + event(form(8)) + event(success(1))
    content = archive(
        entry(0, 30, call(1), stream),
        entry(10, 1, accept(8, BRANCH_IS_MAIN), None, status=202),
        entry(20, 1, accept(7, BRANCH_IS_MAIN), None, status=202),
    )
    assert [at for at, _ in frames(content)] == [0.001, 10, 30]


@given(st.data())
def test_no_question_comes_after_its_answer_nor_a_stream_out_of_order(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 6))
    answered = {n: data.draw(st.floats(0.01, 50)) for n in range(count) if data.draw(st.booleans())}
    asked = [form(n) for n in range(count)]
    stream = "".join(map(event, [*asked, success(99)]))
    entries = [entry(at, 1, accept(n, BRANCH_IS_MAIN)) for n, at in answered.items()]
    traffic = read_har(archive(entry(0, 60, call(99), stream, waited=0), *entries))
    order = [json.loads(one.data)["id"] for one in traffic if isinstance(one, Frame)]
    assert order == [*range(count), 99]
    places = {json.loads(o.data)["id"]: i for i, o in enumerate(traffic) if isinstance(o, Frame)}
    for place, one in enumerate(traffic):
        if isinstance(one, Request) and "result" in (answer := json.loads(one.body)):
            assert places[answer["id"]] < place


def test_a_conversation_as_a_browser_recorded_it(tmp_path: Path) -> None:
    greeting = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"url": {}}}}
    page = url(7, elicitation_id="pay")
    content = archive(
        entry(0, 0.1, request(0, "initialize", greeting), success(0)),
        entry(1, 0.1, notification("notifications/initialized"), None, status=202),
        entry(1, 20, None, event(completion("pay")), method="GET"),
        entry(2, 28, call(1), event(page) + event(success(1))),
        entry(6, 0.1, accept(7), None, status=202),
    )
    receipts = replayed(recording(tmp_path / "session.har", content))
    assert told(receipts) == [
        "requested open",
        "answered consented by person_claimed",
        "completed completed by runtime (server_notification)",
        "resumed (success)",
    ]
    answered = next(receipt for receipt in receipts if receipt.event is Event.ANSWERED)
    assert answered.since_previous_us == 3_999_000


BROKEN = [
    (b"{", "line 1: no JSON"),
    (b'{"log":\n {"entries": [}}', "line 2: no JSON"),
    (b"\xff\xfe", "line 1: no JSON"),
    (b"[]", "line 1: no HTTP Archive"),
    (b'{"log": {"entries": {}}}', "line 1: no HTTP Archive"),
    (archive({}), "entry 1: `startedDateTime`"),
    (archive({**entry(0, 1), "startedDateTime": "1066-10-14T09:00:00Z"}), "entry 1: `started"),
    (archive(entry(0, 1), {**entry(0, 1), "request": {}}), "entry 2: url, method or status"),
    (archive(entry(0, 1, status="200")), "entry 1: url, method or status"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("content", "what"), BROKEN)
def test_a_broken_place_is_named(content: bytes, what: str) -> None:
    with pytest.raises(BrokenError) as raised:
        read_har(content)
    assert str(raised.value).startswith(what)


@pytest.mark.parametrize("body", [{"text": 1}, {"text": "no*base64", "encoding": "base64"}])
def test_a_body_that_cannot_be_read_is_named(body: Json) -> None:
    one = entry(0, 1, call(1), success(1))
    one["response"]["content"] = body
    with pytest.raises(BrokenError, match="entry 1: a body is no"):
        read_har(archive(one))


def test_a_request_that_got_no_response() -> None:
    traffic = read_har(archive(entry(0, 1, call(1), None, status=0)))
    assert [type(one) for one in traffic] == [Request, End]


ODD: st.SearchStrategy[Json] = st.sampled_from(
    [None, True, -1, 0, 200, 1e308, 10**400, "", "POST", "2026-11-30T09:00:00Z", "http://[", [], {}]
)


@given(st.dictionaries(st.sampled_from(list(entry(0, 1))), ODD), st.data())
def test_whatever_an_entry_holds_it_is_read_or_called_broken(
    members: dict[str, Json], data: st.DataObject
) -> None:
    one = entry(0, 1, call(1), event(form(7)))
    for part in ("request", "response", "timings"):
        one[part] |= data.draw(st.dictionaries(st.sampled_from(list(one[part])), ODD))
    with suppress(BrokenError):
        times = [seen.at for seen in read_har(archive({**one, **members}))]
        assert all(0 <= at <= LATEST_MICROS for at in times)
