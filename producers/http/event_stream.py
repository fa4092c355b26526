"""Event streams: cut server-sent events out of a byte stream, with a bound on what is held.

Every byte is kept: the parts of a stream, joined, are the stream. An event is given as
soon as the blank line that ends it is there.

Source: WHATWG HTML, "Server-sent events", parsing and interpreting an event stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from elicitation_receipts.producers.stdio.lines import DEFAULT_LIMIT, Fragment

_BOM: Final = b"\xef\xbb\xbf"
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
#: A blank line. ``(?>``: CR LF is one end of a line, never two.
_END: Final = re.compile(rb"(?:\A|(?>\r\n|\n|\r))(?:\r\n?|\n)")
#: A blank line, found no sooner than this many bytes before what is new.
_OVERLAP: Final = 2


@dataclass(frozen=True, slots=True)
class Event:
    """One event, or what stands in a stream without being one (comments, blank lines).

    ``raw``   its bytes, with the blank line
    ``data``  its data, the lines joined with LF; empty: nothing is dispatched
    ``id``    the id this event itself names, None where it names none
    """

    raw: bytes
    data: bytes = b""
    id: str | None = None

    def with_data(self, data: bytes) -> bytes:
        """The bytes of this event with other data, one line, or (empty) with none."""
        kept = [
            line
            for line in _LINE_END.split(self.raw.removeprefix(_BOM))
            if line and line.partition(b":")[0] not in (b"", b"data")
        ]
        new = [b"data: " + data] if data else []
        return b"".join(line + b"\n" for line in (*kept, *new, b""))


class EventSplitter:
    """Turns chunks into events, and events over ``limit`` bytes (their end apart) into fragments.

    What is an event and what is too long depends on the bytes alone, never on how they
    were cut into chunks.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._held = bytearray()  # begins where a line begins
        self._searched = 0
        self._is_first = True
        self._after_cr = False
        self._oversized = False
        self._passed = 0  # bytes of `_held` that went out as a fragment, kept to find the end by

    def feed(self, chunk: bytes) -> Iterator[Event | Fragment]:
        if self._after_cr and chunk:
            # The blank line ended with the CR; an LF after it still belongs to that line end.
            self._after_cr = False
            if chunk.startswith(b"\n"):
                yield Event(b"\n")
                chunk = chunk[1:]
        self._held += chunk
        while end := _END.search(self._held, self._searched):
            yield self._take(end.end())
        self._searched = max(0, len(self._held) - _OVERLAP)
        if self._oversized or self._is_long(self._held):
            yield from self._let_go()

    def end(self) -> Event | Fragment | None:
        """What the stream ended with. Without its blank line it is no event: it has no data."""
        rest = bytes(self._held[self._passed :])
        self._held.clear()
        if self._oversized:
            return Fragment(rest, first=False, last=True)
        return Event(rest) if rest else None

    def _take(self, size: int) -> Event | Fragment:
        raw = bytes(self._held[self._passed : size])
        is_long = self._is_long(self._held[:size])
        was_oversized = self._oversized
        self._after_cr = len(self._held) == size and self._held.endswith(b"\r")
        del self._held[:size]
        self._searched = self._passed = 0
        self._oversized = False
        is_first, self._is_first = self._is_first, False
        if was_oversized or is_long:
            return Fragment(raw, first=not was_oversized, last=True)
        return _read(raw, is_first)

    def _let_go(self) -> Iterator[Fragment]:
        """Pass on what is held of an event that is too long, but for what its end is known by."""
        out = bytes(self._held[self._passed :])
        if out:
            yield Fragment(out, first=not self._oversized, last=False)
        self._oversized = True
        del self._held[: -_OVERLAP - 1]
        self._passed = len(self._held)
        # Not from 0: what is held no longer begins where a line begins.
        self._searched = max(1, self._passed - _OVERLAP)

    def _is_long(self, text: bytearray) -> bool:
        return len(text) > self._limit and len(text.rstrip(b"\r\n")) > self._limit


def _read(raw: bytes, is_first: bool) -> Event:
    data: list[bytes] = []
    id_: str | None = None
    text = raw.removeprefix(_BOM) if is_first else raw
    for line in _LINE_END.split(text):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"id" and b"\0" not in value:
            id_ = value.decode(errors="replace")
    return Event(raw, b"\n".join(data), id_)
