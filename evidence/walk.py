"""Walking a message: whether it is one receipt in its one encoding, without building the receipt.

`codec.decode` says the same and builds the receipt; this is ten times as fast, and all that
a verifier needs. The tests hold the two to each other. What must be canonical: numbers (Avro
1.12 specification, "Binary Encoding": the shortest form), arrays (one block), branches, words.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, lru_cache
from struct import Struct
from struct import error as StructError  # noqa: N812  (it is a class)
from typing import Any, Final, NamedTuple

from elicitation_receipts.schemas.codec import MESSAGE_LIMIT, installed
from elicitation_receipts.schemas.errors import SchemaError
from elicitation_receipts.schemas.identifiers import CONSTRAINTS
from elicitation_receipts.schemas.receipt import MAX_LISTED

_MARKER: Final = b"\xc3\x01"
_HEADER_SIZE: Final = 10
#: receipt_id and stream_id, with which every schema version's datum begins.
_IDS: Final = Struct("16s16s")
_SEQUENCE_AT: Final = _HEADER_SIZE + _IDS.size

_Walk = Callable[[bytes, int], int]


class Fault(Exception):  # noqa: N818  (a verdict, no failure of the program)
    """Why bytes are no receipt: ``kind`` as the codec's reason; ``field``: where, if known."""

    def __init__(self, kind: str, field: str | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.field = field


class Head(NamedTuple):
    """Where a message says it belongs. ``stream``: the 16 bytes of the stream's id."""

    stream: bytes
    sequence: int
    previous_hash: bytes


def head_of(message: bytes) -> Head:
    """The head of a message. Raises :class:`Fault`."""
    try:
        _, stream = _IDS.unpack_from(message, _HEADER_SIZE)
        end = _number(message, _SEQUENCE_AT)
    except (IndexError, StructError):
        raise Fault("truncated_datum") from None
    previous = message[end : end + 32]
    if len(previous) != 32:
        raise Fault("truncated_datum")
    return Head(stream, _value(message, _SEQUENCE_AT, end), previous)


def place_of(message: bytes) -> tuple[bytes, int] | None:
    """Stream and sequence, however they are written; None: it has none. To sort by, only."""
    end = _SEQUENCE_AT
    while end < len(message) and message[end] > 0x7F:
        end += 1
    if end >= len(message):
        return None
    return message[26:_SEQUENCE_AT], _value(message, _SEQUENCE_AT, end + 1) & (2**63 - 1)


def walk(message: bytes) -> None:
    """Raises :class:`Fault` unless ``message`` is exactly one receipt of a known schema."""
    if len(message) >= MESSAGE_LIMIT:
        raise Fault("message_too_large")
    if len(message) < _HEADER_SIZE or not message.startswith(_MARKER):
        raise Fault("not_single_object")
    walk_datum = _walks().get(message[2:_HEADER_SIZE])
    if walk_datum is None:
        raise Fault("unknown_fingerprint")
    try:
        end = walk_datum(message, _HEADER_SIZE)
    except IndexError:
        raise Fault("truncated_datum") from None
    if end != len(message):
        raise Fault("truncated_datum" if end > len(message) else "trailing_bytes")


@cache
def _walks() -> dict[bytes, _Walk]:
    """By the fingerprint of each installed schema."""
    return {
        fingerprint: _compile(json.loads(schema.text), {})
        for fingerprint, schema in installed().schemas.items()
    }


def _compile(schema: Any, named: dict[str, _Walk]) -> _Walk:
    match schema:
        case ["null", inner]:
            return _optional(_compile(inner, named))
        case str() if schema in named:
            return named[schema]
        case "int" | {"type": "int"}:
            return _bounded(2**31 - 1)
        case "long" | {"type": "long"}:
            return _number
        case {"type": "string", "constraint": str(rule)}:
            return _string(rule)
        case {"type": "array", "items": items}:
            return _array(_compile(items, named))
        case {"type": "fixed", "name": str(name), "size": int(size)}:
            return named.setdefault(name, _fixed(size))
        case {"type": "enum", "name": str(name), "symbols": list(symbols)}:
            return named.setdefault(name, _enum(len(symbols) - 1))
        case {"type": "record", "name": str(name), "fields": list(fields)}:
            members = [(field["name"], _compile(field["type"], named)) for field in fields]
            return named.setdefault(name, _record(members))
    raise SchemaError(
        "schema_corrupt",
        "a schema file has a type that a receipt does not have; install the package again",
    )


def _number(data: bytes, at: int) -> int:
    start = at
    while data[at] > 0x7F:
        at += 1
    if data[at] == 0 and at > start:
        raise Fault("non_canonical_encoding")
    if at - start > 9 or (at - start == 9 and data[at] > 1):
        raise Fault("out_of_bounds")
    if data[start] & 1:  # zig-zag: odd is negative, which no receipt holds
        raise Fault("out_of_bounds")
    return at + 1


def _value(data: bytes, start: int, end: int) -> int:
    """The number that :func:`_number` has walked."""
    value = 0
    for place, byte in enumerate(data[start:end]):
        value |= (byte & 0x7F) << 7 * place
    return value >> 1


def _bounded(largest: int) -> _Walk:
    def walk_number(data: bytes, at: int) -> int:
        if data[at] <= 0x7F:
            return _number(data, at)
        end = _number(data, at)
        if _value(data, at, end) > largest:
            raise Fault("out_of_bounds")
        return end

    return walk_number


def _string(rule: str) -> _Walk:
    allows = lru_cache(maxsize=1024)(CONSTRAINTS[rule])

    def walk_string(data: bytes, at: int) -> int:
        start = _number(data, at)
        end = start + _value(data, at, start)
        if end > len(data):
            raise Fault("truncated_datum")
        try:
            text = data[start:end].decode()
        except UnicodeDecodeError:
            raise Fault("wrong_type") from None
        if not allows(text):
            raise Fault("out_of_vocabulary")
        return end

    return walk_string


def _fixed(size: int) -> _Walk:
    return lambda data, at: at + size  # noqa: ARG005  (whether there is so much shows at the end)


def _enum(words: int) -> _Walk:
    def walk_enum(data: bytes, at: int) -> int:
        end = _number(data, at)
        if _value(data, at, end) >= words:
            raise Fault("out_of_vocabulary")
        return end

    return walk_enum


def _optional(inner: _Walk) -> _Walk:
    def walk_optional(data: bytes, at: int) -> int:
        branch = data[at]
        if branch == 0:
            return at + 1
        if branch != 2:
            raise Fault("non_canonical_encoding" if branch > 0x7F else "out_of_vocabulary")
        return inner(data, at + 1)

    return walk_optional


def _array(item: _Walk) -> _Walk:
    def walk_array(data: bytes, at: int) -> int:
        if data[at] == 0:
            return at + 1
        if data[at] & 1:  # a block that gives its size first
            raise Fault("non_canonical_encoding")
        start = _number(data, at)
        count = _value(data, at, start)
        if count > MAX_LISTED:
            raise Fault("out_of_bounds")
        at = start
        for _ in range(count):
            at = item(data, at)
        if data[at] != 0:
            raise Fault("non_canonical_encoding")
        return at + 1

    return walk_array


def _record(members: list[tuple[str, _Walk]]) -> _Walk:
    walks = [member for _, member in members]

    def walk_record(data: bytes, at: int) -> int:
        start = at
        try:
            for walk_member in walks:
                at = walk_member(data, at)
        except Fault as fault:
            raise _placed(fault, data, start) from None
        return at

    def _placed(fault: Fault, data: bytes, at: int) -> Fault:
        for name, walk_member in members:
            try:
                at = walk_member(data, at)
            except Fault as found:
                return Fault(fault.kind, f"{name}.{found.field}" if found.field else name)
        return fault

    return walk_record
