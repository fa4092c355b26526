"""Reads one frame of traffic into JSON-RPC messages, keeping what a plain parser forgets.

A JSON parser silently keeps the last of two members with one name. Which of two
``action`` members a peer acts on depends on its parser, so an observer must know
that there were two. Objects with repeated names are therefore read as
:class:`RepeatedMembers`.

Sources: JSON-RPC 2.0; RFC 8259 §4 (names SHOULD be unique).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

#: A JSON-RPC id as a key: its type, its value, and its scope where it has one.
Key = tuple[object, ...]

#: Nothing was sent under that name (JSON ``null`` is something).
ABSENT: Final = object()

#: Nesting beyond which a question, an answer or arguments are not looked into.
MAX_DEPTH: Final = 64


class RepeatedMembers(dict[str, Any]):
    """A JSON object in which ``repeated`` names stood more than once; the last value is kept."""

    repeated: frozenset[str]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    repeating = RepeatedMembers(members)
    counts = Counter(name for name, _ in pairs)
    repeating.repeated = frozenset(name for name, count in counts.items() if count > 1)
    return repeating


def _not_json(_constant: str) -> NoReturn:
    raise ValueError  # NaN and Infinity are no JSON (RFC 8259 §6); the text is not repeated


@dataclass(frozen=True, slots=True)
class Message:
    """One JSON-RPC message as it was sent.

    ``in_batch``  it was an element of an array
    ``scope``     within what its id is unique; None: within the session
    """

    members: dict[str, Any]
    in_batch: bool = False
    scope: object = None

    @property
    def id(self) -> object:
        """The ``id`` as sent, or :data:`ABSENT`."""
        return self.members.get("id", ABSENT)

    @property
    def key(self) -> Key:
        """The ``id`` with its type and scope: what a response to it is found by."""
        return self.key_of(self.id)

    def key_of(self, request_id: object) -> Key:
        """The key of another request on the same stream, which this one names."""
        key = id_key(request_id)
        return key if self.scope is None else (*key, self.scope)

    @property
    def has_usable_id(self) -> bool:
        """MCP requires a string or an integer (2025-06-18 and later, base protocol, requests)."""
        return isinstance(self.id, str) or (
            isinstance(self.id, int) and not isinstance(self.id, bool)
        )

    @property
    def method(self) -> str | None:
        method = self.members.get("method")
        return method if isinstance(method, str) else None

    @property
    def params(self) -> dict[str, Any]:
        return as_object(self.members.get("params"))

    @property
    def is_response(self) -> bool:
        """Whether it answers a request, if only with an id and neither result nor error."""
        return "method" not in self.members and not self.members.keys().isdisjoint(
            ("id", "result", "error")
        )

    @property
    def error_code(self) -> int | None:
        code = as_object(self.members.get("error")).get("code")
        return code if isinstance(code, int) and not isinstance(code, bool) else None


@dataclass(frozen=True, slots=True)
class Frame:
    """What one line or body held: messages, or nothing that is JSON-RPC."""

    messages: tuple[Message, ...] = field(default=())
    is_json: bool = True


def parse(raw: bytes, scope: object = None) -> Frame:
    """Read one frame. Never raises: what cannot be read is a frame that ``is_json`` denies."""
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_object, parse_constant=_not_json)
    except (ValueError, RecursionError):
        return Frame(is_json=False)
    if isinstance(value, dict):
        return Frame((Message(value, scope=scope),))
    if isinstance(value, list):
        return Frame(tuple(Message(item, True, scope) for item in value if isinstance(item, dict)))
    return Frame(is_json=False)


def as_object(value: object) -> dict[str, Any]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def id_key(value: object) -> Key:
    """A JSON-RPC id with its type: ``1`` and ``"1"`` are two ids.

    No request that counts has an array or an object for an id: all of those are one key.
    """
    return type(value).__name__, None if isinstance(value, dict | list) else value


def repeats(value: object, *names: str) -> bool:
    """Whether ``value`` is an object in which one of ``names`` (any, if none) stood twice."""
    if not isinstance(value, RepeatedMembers):
        return False
    return not names or not value.repeated.isdisjoint(names)


def repeats_anywhere(value: object) -> bool:
    """Whether any object at any depth of ``value`` repeats a name."""
    return any(isinstance(part, RepeatedMembers) for part in walk(value))


def is_too_deep(value: object) -> bool:
    """Whether ``value`` nests deeper than any form needs; what follows may then recurse safely."""
    layer, depth = [value], 0
    while layer:
        depth += 1
        if depth > MAX_DEPTH:
            return True
        layer = [
            part
            for item in layer
            if isinstance(item, dict | list)
            for part in (item.values() if isinstance(item, dict) else item)
        ]
    return False


def walk(value: object) -> Iterator[object]:
    """``value`` and everything in it, depth first, without recursion."""
    stack = [value]
    while stack:
        part = stack.pop()
        yield part
        if isinstance(part, dict):
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
