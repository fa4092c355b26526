"""Event streams: every byte is kept, an event is given once it is whole, however it is cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.producers.http.event_stream import Event, EventSplitter
from elicitation_receipts.producers.stdio.lines import Fragment

ANY_STREAM = st.lists(
    st.sampled_from(
        (
            *(b"data: {}", b"data:x", b"data", b"id: 7", b"id", b"event: message", b": ping"),
            *(b"\n", b"\r", b"\r\n", b"\n\n", b"\xef\xbb\xbf", b"\0", b"", b"x" * 40),
        )
    ),
    max_size=30,
).map(b"".join)


def split(chunks: Iterable[bytes], limit: int = 1_000) -> list[Event | Fragment]:
    splitter = EventSplitter(limit)
    parts = [part for chunk in chunks for part in splitter.feed(chunk)]
    last = splitter.end()
    return parts if last is None else [*parts, last]


def meant(parts: Iterable[Event | Fragment]) -> list[object]:
    """What a client is told: data with their ids, and that something was too long."""
    told: list[object] = []
    for part in parts:
        if isinstance(part, Fragment):
            told += ["too long"] if part.first else []
        elif part.data or part.id is not None:
            told.append((part.data, part.id))
    return told


def cut(stream: bytes, places: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:stop] for start, stop in pairwise(edges)]


@given(ANY_STREAM, st.lists(st.integers(0, 500)), st.integers(1, 60))
def test_no_byte_is_lost_or_moved(stream: bytes, places: list[int], limit: int) -> None:
    parts = split(cut(stream, places), limit)
    raw = [part.data if isinstance(part, Fragment) else part.raw for part in parts]
    assert b"".join(raw) == stream


@given(ANY_STREAM, st.lists(st.integers(0, 500)), st.integers(1, 60))
def test_what_is_an_event_does_not_depend_on_how_it_was_cut(
    stream: bytes, places: list[int], limit: int
) -> None:
    assert meant(split(cut(stream, places), limit)) == meant(split([stream], limit))


@given(ANY_STREAM, st.integers(1, 60))
def test_what_is_held_is_bounded(stream: bytes, limit: int) -> None:
    splitter = EventSplitter(limit)
    given_back = 0
    for place in range(len(stream)):
        for part in splitter.feed(stream[place : place + 1]):
            given_back += len(part.data if isinstance(part, Fragment) else part.raw)
        assert place + 1 - given_back <= limit + 2


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_an_event_is_given_as_soon_as_its_blank_line_is_there(end: bytes) -> None:
    splitter = EventSplitter()
    assert list(splitter.feed(b"id: 3" + end + b"data: a" + end + b"data:b" + end)) == []
    [event] = splitter.feed(end)
    assert isinstance(event, Event)
    assert (event.data, event.id) == (b"a\nb", "3")


def test_a_line_end_cut_in_two_is_one() -> None:
    assert meant(split([b"data: a\r", b"\ndata: b\r\n\r", b"\ndata: c\n\n"])) == [
        (b"a\nb", None),
        (b"c", None),
    ]


def test_a_comment_is_no_data_and_passes() -> None:
    assert split([b": ping\n\n"]) == [Event(b": ping\n\n")]


def test_a_byte_order_mark_before_the_first_field_is_not_part_of_it() -> None:
    assert meant(split([b"\xef\xbb\xbfdata: a\n\n"])) == [(b"a", None)]


def test_an_event_without_its_blank_line_is_none() -> None:
    assert meant(split([b"data: a\n\ndata: b\n"])) == [(b"a", None)]


def test_an_id_with_nul_is_none() -> None:
    assert meant(split([b"id: 1\0\ndata: a\n\n"])) == [(b"a", None)]


def test_an_event_too_long_passes_in_pieces_and_the_next_is_read() -> None:
    parts = split([b"data: " + b"x" * 50, b"x" * 50, b"\n", b"\ndata: a\n\n"], limit=60)
    assert meant(parts) == ["too long", (b"a", None)]
    fragments = [part for part in parts if isinstance(part, Fragment)]
    assert [part.first for part in fragments] == [True, *[False] * (len(fragments) - 1)]
    assert [part.last for part in fragments] == [*[False] * (len(fragments) - 1), True]


def test_an_event_with_other_data_keeps_its_other_fields() -> None:
    [event] = split([b"event: message\r\nid: 4\r\ndata: a\r\ndata: b\r\n: c\r\n\r\n"])
    assert isinstance(event, Event)
    assert event.with_data(b"{}") == b"event: message\nid: 4\ndata: {}\n\n"
    assert event.with_data(b"") == b"event: message\nid: 4\n\n"
