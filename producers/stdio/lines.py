"""Lines: cut a byte stream at newlines, with a bound on what is held in memory.

The stdio transport of MCP is newline-delimited JSON (specification 2025-06-18,
"Transports"). Nothing here decodes or changes a byte: the frames of a stream,
joined, are the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

DEFAULT_LIMIT: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """A whole line with its newline; at the end of the stream perhaps without one."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Fragment:
    """Part of a line that is longer than the limit. ``first`` and ``last`` of that line."""

    data: bytes
    first: bool
    last: bool


class LineSplitter:
    """Turns chunks into lines, and lines over ``limit`` bytes (newline included) into fragments.

    What is a line and what is too long depends on the bytes alone, never on how
    they were cut into chunks.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._held: list[bytes] = []  # the line so far, in pieces: joined once, when it is whole
        self._size = 0
        self._oversized = False

    def feed(self, chunk: bytes) -> Iterator[Line | Fragment]:
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            yield self._take(piece + b"\n", ends=True)
        if rest:
            self._held.append(rest)
            self._size += len(rest)
            if self._oversized or self._size > self._limit:
                yield self._take(b"", ends=False)

    def end(self) -> Line | Fragment | None:
        """What the stream ended with: a line without a newline, or None."""
        if self._held or self._oversized:
            return self._take(b"", ends=True)
        return None

    def _take(self, piece: bytes, *, ends: bool) -> Line | Fragment:
        data = b"".join((*self._held, piece))
        was_oversized = self._oversized
        oversized = was_oversized or self._size + len(piece) > self._limit
        self._held.clear()
        self._size = 0
        self._oversized = oversized and not ends
        if oversized:
            return Fragment(data, first=not was_oversized, last=ends)
        return Line(data)
