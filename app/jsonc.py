"""JSON with comments: what a text holds and where it stands, so that it can be edited in place.

The grammar is RFC 8259 with what editors and MCP clients let pass in their configuration files:
``//`` and ``/* */`` comments, one comma after the last item, a byte order mark. Strings are read
by the standard library. (Libraries that read this much either forget where things stood or
write the whole text anew.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from elicitation_receipts.schemas.errors import ConfigError

#: Deeper than any configuration, well within the interpreter's stack.
_MAX_DEPTH: Final = 100

_TOKEN: Final = re.compile(
    r"""
    (?P<skipped> [ \t\r\n]+ | //[^\r\n]* | /\*.*?\*/ )
  | (?P<text> " (?: [^"\\\x00-\x1f]++ | \\["\\/bfnrt] | \\u[0-9a-fA-F]{4} )*+ " )
  | (?P<plain> true | false | null | -? (?:0|[1-9][0-9]*) (?:\.[0-9]+)? (?:[eE][+-]?[0-9]+)? )
  | (?P<mark> [\[\]{}:,] )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Plain:
    """A number, true, false or null. Of every node: ``text[start:end]`` is how it is written."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Text:
    start: int
    end: int
    value: str


@dataclass(frozen=True, slots=True)
class Array:
    """``filled_end``: behind the last item and a comma that follows it; behind ``[`` if empty."""

    start: int
    end: int
    items: tuple[Node, ...]
    filled_end: int


@dataclass(frozen=True, slots=True)
class Object:
    start: int
    end: int
    members: tuple[tuple[Text, Node], ...]


Node = Plain | Text | Array | Object


def parse(text: str) -> Node:
    """The one value in ``text``.

    Raises ``config_not_json``, which says where, never what.
    """
    reader = _Reader(text)
    node = reader.value(_MAX_DEPTH)
    reader.take("end")
    return node


def line_of(text: str, position: int) -> int:
    """The line, from 1, in which a position of ``text`` is."""
    return text.count("\n", 0, position) + 1


@dataclass(frozen=True, slots=True)
class _Token:
    """``kind``: text, plain, end, or the mark itself."""

    kind: str
    start: int
    end: int


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._scan()
        self._next = next(self._tokens)
        self._behind = 0  # the end of the last token taken

    def _scan(self) -> Iterator[_Token]:
        at = int(self._text.startswith("\ufeff"))
        while at < len(self._text):
            found = _TOKEN.match(self._text, at)
            if found is None:
                raise self._wrong(at)
            if found.lastgroup != "skipped":
                kind = found[0] if found.lastgroup == "mark" else str(found.lastgroup)
                yield _Token(kind, at, found.end())
            at = found.end()
        yield _Token("end", at, at)

    def take(self, *kinds: str) -> _Token:
        """The next token, which must be of one of these kinds."""
        token = self._next
        if token.kind not in kinds:
            raise self._wrong(token.start)
        self._behind = token.end
        self._next = next(self._tokens, token)
        return token

    def value(self, depth: int) -> Node:
        token = self.take("text", "plain", "{", "[")
        if depth == 0:
            raise self._wrong(token.start)
        match token.kind:
            case "text":
                return self._string(token)
            case "plain":
                return Plain(token.start, token.end)
            case "[":
                items = tuple(self.value(depth - 1) for _ in self._until("]"))
                filled_end = self._behind
                return Array(token.start, self.take("]").end, items, filled_end)
            case _:
                members = tuple(self._member(depth - 1) for _ in self._until("}"))
                return Object(token.start, self.take("}").end, members)

    def _until(self, close: str) -> Iterator[None]:
        """Once for each item there is to be read before the closing mark."""
        while self._next.kind != close:
            yield
            if self._next.kind != ",":
                break
            self.take(",")

    def _string(self, token: _Token) -> Text:
        return Text(token.start, token.end, json.loads(self._text[token.start : token.end]))

    def _member(self, depth: int) -> tuple[Text, Node]:
        name = self._string(self.take("text"))
        self.take(":")
        return name, self.value(depth)

    def _wrong(self, at: int) -> ConfigError:
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        return ConfigError(
            "config_not_json",
            f"line {line_of(self._text, at)}, column {column}: no JSON (comments are fine); "
            "correct it there",
        )
