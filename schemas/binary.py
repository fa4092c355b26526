"""Avro's binary encoding, written from checked datums (Avro 1.12 specification, "Binary Encoding").

fastavro reads for us; it could write too, but finds the branch of a union by validating
the datum against each, and a receipt has forty unions: this takes a quarter of the time.
Only what a receipt's schema uses is here: no map, no float, no union but ["null", …].
The tests compare every byte with fastavro's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from elicitation_receipts.schemas.errors import SchemaError

Write = Callable[[Any, bytearray], None]


def compile_writer(schema: Any) -> Write:
    """The function that appends a datum of ``schema`` (parsed JSON) to a bytearray.

    Raises :class:`SchemaError` for a type a receipt does not have.
    """
    return _compile(schema, {})


def _compile(schema: Any, named: dict[str, Write]) -> Write:
    match schema:
        case ["null", inner]:
            return _optional(_compile(inner, named))
        case str() if schema in named:
            return named[schema]
        case "int" | "long" | {"type": "int" | "long"}:
            return _write_number
        case {"type": "string"}:
            return _write_string
        case {"type": "array", "items": items}:
            return _array(_compile(items, named))
        case {"type": "fixed", "name": str(name)}:
            return named.setdefault(name, _write_fixed)
        case {"type": "enum", "name": str(name), "symbols": list(symbols)}:
            return named.setdefault(name, _enum(symbols))
        case {"type": "record", "name": str(name), "fields": list(fields)}:
            members = [(field["name"], _compile(field["type"], named)) for field in fields]
            return named.setdefault(name, _record(members))
    raise SchemaError(
        "schema_corrupt",
        "a schema file has a type that a receipt does not have; install the package again",
    )


def _write_number(value: int, out: bytearray) -> None:
    rest = (value << 1) ^ (value >> 63)  # zig-zag
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def _write_string(value: str, out: bytearray) -> None:
    encoded = value.encode()
    _write_number(len(encoded), out)
    out += encoded


def _write_fixed(value: bytes, out: bytearray) -> None:
    out += value


def _enum(symbols: list[str]) -> Write:
    encoded = {}
    for index, symbol in enumerate(symbols):
        number = bytearray()
        _write_number(index, number)
        encoded[symbol] = bytes(number)

    def write(value: str, out: bytearray) -> None:
        out += encoded[value]

    return write


def _optional(write_inner: Write) -> Write:
    def write(value: Any, out: bytearray) -> None:
        if value is None:
            out.append(0)
        else:
            out.append(2)  # branch 1, zig-zag
            write_inner(value, out)

    return write


def _array(write_item: Write) -> Write:
    def write(value: list[Any], out: bytearray) -> None:
        if value:  # one block, then the empty block that ends the array
            _write_number(len(value), out)
            for item in value:
                write_item(item, out)
        out.append(0)

    return write


def _record(members: list[tuple[str, Write]]) -> Write:
    def write(value: dict[str, Any], out: bytearray) -> None:
        for name, write_member in members:
            write_member(value[name], out)

    return write
