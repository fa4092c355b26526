"""Writes the function that reads one Avro datum of a receipt into the columns of its row.

The function is straight-line Python: for each field the few steps it takes to read it, one
local name a column. Its text depends on the schema file alone, which this package brings. It
raises :class:`Odd`, ``LookupError`` or ``ValueError`` for whatever is not plainly canonical,
and may read past the end of the message: then the position it ends at is another.
"""

from __future__ import annotations

import json
import linecache
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from elicitation_receipts.schemas.datum import LARGEST, LONGEST_STRING
from elicitation_receipts.schemas.identifiers import CONSTRAINTS
from elicitation_receipts.schemas.receipt import MAX_LISTED
from elicitation_receipts.schemas.vocabulary import UNRECOGNIZED

#: Message and position → position behind the datum, and the values of the columns. Identifiers
#: are their 16 bytes, times are without a zone, lists of records are lists of dicts.
Read = Callable[[bytes, int], tuple[int, list[Any]]]

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  (UTC without a zone, as the columns are)
#: So many strings under one rule are known at once. A few names stand in every receipt.
_KNOWN: Final = 4096
_FILE: Final = "<reader of receipts>"


class Odd(ValueError):  # noqa: N818  (no failure: the reference judges it)
    """Not plainly canonical: a matter for the reference."""


def compile_reader(schema_text: str) -> tuple[Read, tuple[str, ...]]:
    """The function that reads a datum of the schema, and the columns it gives."""
    writer = _Writer()
    names = tuple(name for name, _ in writer.read(json.loads(schema_text), "", 1))
    source = "\n".join(
        ["def read(m, p):", *writer.lines, f"    return p, [{', '.join(writer.columns)}]", ""]
    )
    linecache.cache[_FILE] = (len(source), None, source.splitlines(keepends=True), _FILE)
    exec(compile(source, _FILE, "exec"), writer.known)  # noqa: S102  (made of our own schema)
    return writer.known["read"], names


class Texts(dict[bytes, str]):
    """The strings that satisfy a rule, by their UTF-8; what is asked for is looked at once."""

    def __init__(self, rule: str) -> None:
        super().__init__()
        self._allows = CONSTRAINTS[rule]

    def __missing__(self, encoded: bytes) -> str:
        text = encoded.decode()
        if len(text) > LONGEST_STRING or not self._allows(text):
            raise Odd
        if len(self) >= _KNOWN:
            self.clear()
        self[encoded] = text
        return text


def unsigned(m: bytes, p: int) -> tuple[int, int]:
    """A variable-length number of at most 64 bits in its shortest form, and where it ends."""
    number = shift = 0
    while (byte := m[p]) >= 0x80:
        number |= (byte & 0x7F) << shift
        shift += 7
        p += 1
    if (shift and byte == 0) or shift > 63:
        raise Odd
    return number | byte << shift, p + 1


class _Writer:
    """Writes the lines of a function. A place's columns are pairs: name, and local variable."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.columns: list[str] = []
        self.known: dict[str, Any] = {
            "Odd": Odd,
            "unsigned": unsigned,
            "epoch": _EPOCH,
            "timedelta": timedelta,
        }
        self._named: dict[str, Any] = {}

    def read(self, schema: Any, name: str, depth: int) -> list[tuple[str, str]]:
        """Write how a place is read; its columns."""
        match schema:
            case str() if schema in self._named:
                return self.read(self._named[schema], name, depth)
            case {"name": str(type_name)}:
                self._named[type_name] = schema
        match schema:
            case ["null", inner]:
                return self._optional(inner, name, depth)
            case {"type": "record", "fields": list(fields)}:
                prefix = f"{name}_" if name else ""
                return [
                    column
                    for part in fields
                    for column in self.read(part["type"], prefix + part["name"], depth)
                ]
            case {"type": "array", "items": items}:
                return self._array(items, name, depth)
        column = self._column(name)
        match schema:
            case "int" | "long":
                self._number(LARGEST[schema], depth)
                self._line(depth, f"{column} = n >> 1")
            case {"type": "long", "logicalType": "timestamp-micros"}:
                self._number(LARGEST["timestamp-micros"], depth)
                self._line(depth, f"{column} = epoch + timedelta(0, 0, n >> 1)")
            case {"type": "string", "constraint": str(rule)}:
                texts = f"texts_{rule}"
                self.known.setdefault(texts, Texts(rule))
                self._number(2 * LONGEST_STRING * 4, depth)  # UTF-8: four bytes a character
                self._line(depth, f"{column} = {texts}[m[p : p + (n >> 1)]]", "p += n >> 1")
            case {"type": "fixed", "size": int(size)}:
                self._line(depth, f"{column} = m[p : p + {size}]", f"p += {size}")
            case {"type": "enum", "name": str(type_name), "symbols": list(symbols)}:
                self.known[f"words_{type_name}"] = {
                    2 * place: word for place, word in enumerate(symbols) if word != UNRECOGNIZED
                }
                self._unsigned(depth)
                self._line(depth, f"{column} = words_{type_name}[n]")
            case _:
                raise AssertionError(f"no way to read {name}")
        return [(name, column)]

    def _optional(self, inner: Any, name: str, depth: int) -> list[tuple[str, str]]:
        self._line(depth, "b = m[p]", "p += 1", "if b == 2:")  # branch 1, zig-zag
        columns = self.read(inner, name, depth + 1)
        self._line(depth, "elif b:", "    raise Odd", "else:")
        self._line(depth + 1, " = ".join([*(column for _, column in columns), "None"]))
        return columns

    def _array(self, items: Any, name: str, depth: int) -> list[tuple[str, str]]:
        """One block, then the empty block that ends the array; an empty one is only that."""
        column = self._column(name)
        self._line(depth, f"{column} = []")
        self._number(2 * MAX_LISTED, depth)
        self._line(depth, "if n:", "    for _ in range(n >> 1):")
        outside = len(self.columns)
        parts = self.read(items, "", depth + 2)
        del self.columns[outside:]
        whole = ", ".join(f"{part!r}: {local}" for part, local in parts)
        item = f"{{{whole}}}" if parts[0][0] else parts[0][1]
        self._line(depth + 2, f"{column}.append({item})")
        self._line(depth + 1, "if m[p]:", "    raise Odd", "p += 1")
        return [(name, column)]

    def _number(self, largest: int, depth: int) -> None:
        self._unsigned(depth)
        self._line(depth, f"if n & 1 or n > {2 * largest}:", "    raise Odd")  # odd: negative

    def _unsigned(self, depth: int) -> None:
        self._line(depth, "n = m[p]", "p += 1", "if n >= 0x80:", "    n, p = unsigned(m, p - 1)")

    def _column(self, name: str) -> str:
        column = f"c{len(self.columns)}_{name or 'item'}"
        self.columns.append(column)
        return column

    def _line(self, depth: int, *lines: str) -> None:
        self.lines += [f"{'    ' * depth}{line}" for line in lines]
