"""Reads the text of a policy or fixture into a tree that knows on which line everything stands.

YAML with the scalars of JSON (``no`` is a word, not false), and so JSON, too. What could
grow or hide is refused: aliases, tags, duplicate keys, deep nesting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from elicitation_receipts.schemas.errors import PolicyError

MAX_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 16

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?")
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None, "": None}
_PARSER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands: a scalar, a list of nodes or nodes by key."""

    value: Any
    file: str
    line: int

    @property
    def plain(self) -> Any:
        """The value as JSON has it, without places."""
        match self.value:
            case dict():
                return {key: node.plain for key, node in self.value.items()}
            case list():
                return [node.plain for node in self.value]
        return self.value

    def at(self, path: Path) -> Node:
        """The node at ``path``, or the nearest above it that is there."""
        node = self
        for step in path:
            try:
                node = node.value[step]
            except (LookupError, TypeError):
                break
        return node

    def error(self, reason: str, path: Path, message: str) -> PolicyError:
        """A refusal that names file, line and path."""
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        node = self.at(path)
        at = f", at {place.removeprefix('.')}" if place else ""
        return PolicyError(reason, f"{node.file}, line {node.line}{at}: {message}")


def read_tree(text: bytes, file: str) -> Node:
    """The tree of a file. Raises :class:`PolicyError`."""
    if len(text) > MAX_BYTES:
        raise PolicyError(
            "policy_too_large", f"{file} is larger than {MAX_BYTES >> 10} KiB: no policy"
        )
    try:
        return _Reader(yaml.parse(text.decode(), Loader=_PARSER), file).read()
    except yaml.MarkedYAMLError as error:
        if "nesting" in (error.problem or ""):  # the parser's own bound, a thousand levels
            raise PolicyError("policy_too_deep", f"{file} is nested too deeply") from None
        mark = error.problem_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        # Its own words may repeat what stands there.
        raise PolicyError("policy_syntax", f"{file}{where}: neither YAML nor JSON") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise PolicyError("policy_syntax", f"{file} is no text in UTF-8") from None


class _Reader:
    """Builds the tree from the parser's events, which come without recursion."""

    def __init__(self, events: Iterator[Any], file: str) -> None:
        self._events = events
        self._file = file

    def read(self) -> Node:
        next(self._events)  # the stream starts
        if isinstance(next(self._events), yaml.StreamEndEvent):
            raise PolicyError("policy_syntax", f"{self._file} is empty")
        root = self._node(next(self._events), 0)
        next(self._events)  # the document ends
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self._error(after, "policy_syntax", "a second document: one file, one policy")
        return root

    def _node(self, event: Any, depth: int) -> Node:
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise self._error(event, "policy_alias", "anchors and aliases are not read; repeat it")
        if event.tag is not None:
            raise self._error(event, "policy_syntax", "tags (!…) are not read; leave it out")
        if depth > MAX_DEPTH:
            raise self._error(event, "policy_too_deep", f"nested deeper than {MAX_DEPTH} levels")
        match event:
            case yaml.MappingStartEvent():
                value: Any = self._mapping(depth)
            case yaml.SequenceStartEvent():
                value = [self._node(part, depth + 1) for part in self._until(yaml.SequenceEndEvent)]
            case _:
                value = _scalar(event)
        return Node(value, self._file, event.start_mark.line + 1)

    def _mapping(self, depth: int) -> dict[str, Node]:
        members: dict[str, Node] = {}
        for event in self._until(yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self._error(event, "policy_syntax", "a key must be a word")
            if event.value in members:
                raise self._error(event, "policy_duplicate_key", "this key is there twice")
            members[event.value] = self._node(next(self._events), depth + 1)
        return members

    def _until(self, end: type) -> Iterator[Any]:
        while not isinstance(event := next(self._events), end):
            yield event

    def _error(self, event: Any, reason: str, message: str) -> PolicyError:
        return Node(None, self._file, event.start_mark.line + 1).error(reason, (), message)


def _scalar(event: Any) -> object:
    text: str = event.value
    if event.implicit[0]:  # neither quoted nor a block
        if text in _WORDS:
            return _WORDS[text]
        if number := _NUMBER.fullmatch(text):
            return float(text) if number[1] or number[2] else int(text)
    return text
