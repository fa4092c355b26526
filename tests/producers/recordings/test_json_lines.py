"""JSON lines: both forms of recorded traffic, whatever order and pieces it came in."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from conversation import accept, call, form, success
from hypothesis import given
from hypothesis import strategies as st
from recordings import START, asked, chunk, event, json_lines, said, status

from elicitation_receipts.producers.recordings.json_lines import read_json_lines
from elicitation_receipts.producers.recordings.traffic import (
    BrokenError,
    End,
    Frame,
    Line,
    Request,
    Response,
    Traffic,
)
from elicitation_receipts.producers.wire.direction import Direction

Json = Any
EVENT_STREAM = {"content_type": "text/event-stream; charset=utf-8"}


def frames(traffic: list[Traffic]) -> list[bytes]:
    return [one.data for one in traffic if isinstance(one, Frame)]


def test_a_line_is_a_message_with_its_time() -> None:
    [line] = read_json_lines(json_lines([said(1.25, "s2c", '{"id": 1}')]))
    at = round((START + 1.25) * 1_000_000)
    assert line == Line(at=at, place=1, direction=Direction.SERVER_TO_CLIENT, raw=b'{"id": 1}')


def test_seq_orders_lines_where_all_have_it() -> None:
    lines = [said(2, "s2c", "late", seq=9), said(1, "c2s", "early", seq=3)]
    read = read_json_lines(json_lines(lines))
    assert [line.raw for line in read if isinstance(line, Line)] == [b"early", b"late"]
    assert [line.place for line in read] == [2, 1]
    del lines[0]["seq"]
    read = read_json_lines(json_lines(lines))
    assert [line.raw for line in read if isinstance(line, Line)] == [b"late", b"early"]


def test_bytes_that_were_no_utf_8_are_none_here() -> None:
    line = b'{"ts": 1, "dir": "c2s", "raw": "\\udcff"}\n'
    [read] = read_json_lines(line)
    assert isinstance(read, Line)
    with pytest.raises(UnicodeDecodeError):
        read.raw.decode()


def test_an_exchange_of_http() -> None:
    lines = [
        asked(0, 1, call(1), Mcp_Session_Id="s"),
        status(1, 1),
        chunk(2, 1, success(1)),
    ]
    request, response, frame, end = read_json_lines(json_lines(lines))
    assert isinstance(request, Request)
    assert (request.method, request.headers) == ("POST", {"mcp-session-id": "s"})
    assert json.loads(request.body) == call(1)
    assert isinstance(response, Response)
    assert response.status == 200
    assert isinstance(frame, Frame)
    assert json.loads(frame.data) == success(1)
    assert isinstance(end, End)
    assert {one.exchange for one in (request, response, frame, end)} == {"1"}


@pytest.mark.parametrize("first", [202, "202", "202 Accepted", "HTTP/1.1 202 Accepted"])
def test_a_status_in_any_form(first: Json) -> None:
    lines = [asked(0, 1, call(1)), {**status(1, 1), "http": first}]
    response = read_json_lines(json_lines(lines))[1]
    assert isinstance(response, Response)
    assert response.status == 202


@given(st.data())
def test_the_pieces_of_a_body_make_the_same_frames(data: st.DataObject) -> None:
    is_stream = data.draw(st.booleans())
    messages = [form(1), success(1)]
    body = event(messages[0], "e1") + event(messages[1]) if is_stream else json.dumps(messages[0])
    cuts = sorted(data.draw(st.sets(st.integers(1, len(body) - 1), max_size=5)))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    lines = [
        asked(0, 1, call(1)),
        status(1, 1, **EVENT_STREAM) if is_stream else status(1, 1),
        *(chunk(2, 1, piece) for piece in pieces),
    ]
    read = [json.loads(frame) for frame in frames(read_json_lines(json_lines(lines)))]
    assert read == (messages if is_stream else messages[:1])


def test_a_body_that_is_no_json_comes_with_the_end_of_its_exchange() -> None:
    lines = [asked(0, 1, call(1)), status(1, 1, 502), chunk(2, 1, "Bad "), chunk(3, 1, "Gateway")]
    *_, frame, end = read_json_lines(json_lines(lines))
    assert isinstance(frame, Frame)
    assert frame.data == b"Bad Gateway"
    assert isinstance(end, End)


def test_a_refused_exchange_ends_before_the_next_request() -> None:
    lines = [
        asked(0, 1, accept(7, {"branch": "main"})),
        status(1, 1, 503),
        asked(2, 2, accept(7, {"branch": "main"})),
        status(3, 2, 202),
    ]
    kinds = [type(one) for one in read_json_lines(json_lines(lines))]
    assert kinds == [Request, Response, End, Request, Response, End]


OPENED = [asked(0, 1, call(1))]
BROKEN: list[tuple[str, list[Json]]] = [
    ("line 1: no JSON object", ['{"ts": 1, "dir": "c2s", "ra']),
    ("line 1: no JSON object", ["[]"]),
    ("line 2: `ts` is missing", [said(0, "c2s", "x"), {"dir": "c2s", "raw": ""}]),
    ("line 1: `ts` is no time", [{"ts": "now", "dir": "c2s", "raw": ""}]),
    ("line 1: `ts` is no time", [{"ts": True, "dir": "c2s", "raw": ""}]),
    ("line 1: `ts` is no time", [{"ts": -1, "dir": "c2s", "raw": ""}]),
    ("line 1: `ts` is no time", ['{"ts": NaN, "dir": "c2s", "raw": ""}']),
    ("line 1: `ts` is no time", ['{"ts": 1e400, "dir": "c2s", "raw": ""}']),
    ("line 1: `ts` is no time", [f'{{"ts": 1{"0" * 400}, "dir": "c2s", "raw": ""}}']),
    ("line 1: `dir` is missing", [{"ts": 1, "raw": ""}]),
    ("line 1: `dir` is neither", [{"ts": 1, "dir": "up", "raw": ""}]),
    ("line 1: `raw` is missing", [{"ts": 1, "dir": "c2s"}]),
    ("line 1: `raw` is no text", [{"ts": 1, "dir": "c2s", "raw": {}}]),
    ("line 1: `seq` is no whole number", [said(0, "c2s", "x", seq="1")]),
    ("line 1: `http` is missing", [said(0, "c2s", "x", conn=1)]),
    ("line 1: `http` is no request line", [{**OPENED[0], "http": " "}]),
    ("line 1: `headers` is missing", [said(0, "c2s", "x", conn=1, http="POST /")]),
    ("line 1: `headers` holds", [{**OPENED[0], "headers": {"a": 1}}]),
    ("line 1: a response without", [status(0, 1)]),
    ("line 2: a body without", [*OPENED, chunk(1, 1, "{}")]),
    ("line 2: `http` is no status", [*OPENED, {**status(1, 1), "http": "OK"}]),
]


@pytest.mark.parametrize(("what", "lines"), BROKEN)
def test_a_broken_line_is_named(what: str, lines: list[Json]) -> None:
    with pytest.raises(BrokenError) as raised:
        read_json_lines(json_lines(lines))
    assert str(raised.value).startswith(what)


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=30),
            st.dictionaries(
                st.sampled_from(["ts", "dir", "raw", "seq", "conn", "http", "headers", "chunk"]),
                st.sampled_from([1, 2.5, "c2s", "s2c", "", "POST /", "200", {}, None, "{}", True]),
            ).map(lambda members: json.dumps(members).encode()),
        ),
        max_size=5,
    )
)
def test_whatever_a_file_holds_it_is_read_or_called_broken(lines: list[bytes]) -> None:
    with suppress(BrokenError):
        read_json_lines(b"\n".join(lines))
