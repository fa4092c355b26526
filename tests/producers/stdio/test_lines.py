"""Lines: nothing is added, lost or judged by how the stream was cut into chunks."""

from __future__ import annotations

import itertools
import re

from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.producers.stdio.lines import Fragment, Line, LineSplitter

LIMIT = 8
streams = st.lists(st.sampled_from([b"\n", b"\r\n", b"a", b"\x00\xff", b"{}", b"long" * 3])).map(
    b"".join
)


@st.composite
def chunked(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    stream = draw(streams)
    cuts = sorted(draw(st.sets(st.integers(0, len(stream)))) | {0, len(stream)})
    return stream, [stream[a:b] for a, b in itertools.pairwise(cuts)]


def lines_of(stream: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", stream)


def split(chunks: list[bytes]) -> list[Line | Fragment]:
    splitter = LineSplitter(LIMIT)
    parts = [part for chunk in chunks for part in splitter.feed(chunk)]
    rest = splitter.end()
    return parts if rest is None else [*parts, rest]


@given(chunked())
def test_the_parts_joined_are_the_stream(case: tuple[bytes, list[bytes]]) -> None:
    stream, chunks = case
    assert b"".join(part.data for part in split(chunks)) == stream


@given(chunked())
def test_lines_depend_on_the_bytes_alone(case: tuple[bytes, list[bytes]]) -> None:
    stream, chunks = case
    expected = [line for line in lines_of(stream) if len(line) <= LIMIT]
    assert [part.data for part in split(chunks) if isinstance(part, Line)] == expected


@given(chunked())
def test_a_long_line_is_fragments_from_first_to_last(case: tuple[bytes, list[bytes]]) -> None:
    stream, chunks = case
    long_lines: list[bytes] = []
    within = False
    for part in split(chunks):
        if isinstance(part, Line):
            assert not within
            continue
        assert part.first is not within
        if part.first:
            long_lines.append(b"")
        long_lines[-1] += part.data
        within = not part.last
    assert not within
    assert long_lines == [line for line in lines_of(stream) if len(line) > LIMIT]


def test_no_more_than_the_limit_and_a_chunk_is_held() -> None:
    splitter = LineSplitter(LIMIT)
    assert list(splitter.feed(b"12345678")) == []
    assert list(splitter.feed(b"9")) == [Fragment(b"123456789", first=True, last=False)]
    assert list(splitter.feed(b"0")) == [Fragment(b"0", first=False, last=False)]
    assert list(splitter.feed(b"\n{}\n")) == [
        Fragment(b"\n", first=False, last=True),
        Line(b"{}\n"),
    ]
