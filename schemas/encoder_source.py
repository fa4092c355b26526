"""Writes the function that encodes a receipt: one pass, without a datum between and a call a field.

The function is straight-line Python, made of the schema's text alone. It checks what the
converter of ``datum`` checks, but never says what is wrong: for whatever is not in order it
raises one of ``UNFIT``, and the converter then names it. A word or a name it has written before
is a look-up, absent ones included.
"""

from __future__ import annotations

import json
import linecache
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from elicitation_receipts.schemas.binary import compile_writer
from elicitation_receipts.schemas.datum import LARGEST, LONGEST_STRING
from elicitation_receipts.schemas.identifiers import CONSTRAINTS
from elicitation_receipts.schemas.receipt import MAX_LISTED, Receipt
from elicitation_receipts.schemas.vocabulary import UNRECOGNIZED

#: Receipt, its sequence and previous hash → datum. These two stand in place of the receipt's own.
Encode = Callable[[Receipt, int, bytes], bytes]

#: What an encoder raises for a receipt that is not in order.
UNFIT: Final = (LookupError, TypeError, ValueError, AttributeError)

#: So many strings under one rule are known at once. A few names stand in every receipt.
_KNOWN: Final = 4096
_FILE: Final = "<encoder of receipts>"
_GIVEN: Final = ("sequence", "previous_hash")


def compile_encoder(schema_text: str, classes: Mapping[str, type]) -> Encode:
    """The function that encodes receipts under the schema."""
    writer = _Writer(classes)
    writer.write_fields(json.loads(schema_text)["fields"], "r", 1)
    source = "\n".join(
        [
            "def encode(r, sequence, previous_hash):",
            "    if type(r) is not Receipt:",
            "        raise Unfit",
            "    out = []",
            "    add = out.append",
            *writer.lines,
            "    return b''.join(out)",
            "",
        ]
    )
    linecache.cache[_FILE] = (len(source), None, source.splitlines(keepends=True), _FILE)
    exec(compile(source, _FILE, "exec"), writer.known)  # noqa: S102  (made of our own schema)
    encode: Encode = writer.known["encode"]
    return encode


class Unfit(ValueError):  # noqa: N818  (no failure: the converter says what is wrong)
    """Not what the schema asks for."""


_write_number = compile_writer("long")


def number(value: int, largest: int) -> bytes:
    """A number that is not one of the small ones, encoded."""
    if not 0 <= value <= largest:
        raise Unfit
    out = bytearray()
    _write_number(value, out)
    return bytes(out)


class Texts(dict[str | None, bytes]):
    """Strings that satisfy a rule, encoded; what is asked for is looked at once."""

    def __init__(self, rule: str, *, optional: bool) -> None:
        super().__init__()
        self._allows = CONSTRAINTS[rule]
        self._branch = b"\x02" if optional else b""
        self._start: dict[str | None, bytes] = {None: b"\x00"} if optional else {}
        self.update(self._start)

    def __missing__(self, text: str | None) -> bytes:
        if not isinstance(text, str) or len(text) > LONGEST_STRING or not self._allows(text):
            raise Unfit
        if len(self) >= _KNOWN:
            self.clear()
            self.update(self._start)
        encoded = text.encode()
        whole = self[text] = self._branch + number(len(encoded), 2**31) + encoded
        return whole


class _Writer:
    """Writes the lines of a function. ``known``: the names they use."""

    def __init__(self, classes: Mapping[str, type]) -> None:
        self.lines: list[str] = []
        self.known: dict[str, Any] = {
            "Receipt": classes["Receipt"],
            "UUID": UUID,
            "Unfit": Unfit,
            "number": number,
            "small": tuple(number(value, 127) for value in range(128)),
        }
        self._classes = classes
        self._locals = 0
        self._named: dict[str, Any] = {}

    def write_fields(self, fields: list[Any], owner: str, depth: int) -> None:
        """Write how the attributes of a record are encoded, one after the other."""
        for field in fields:
            name = field["name"]
            value = name if owner == "r" and name in _GIVEN else f"{owner}.{name}"
            self.write(field["type"], value, depth)

    def write(self, schema: Any, value: str, depth: int, *, optional: bool = False) -> None:
        """Write how one value is encoded."""
        match schema:
            case ["null", inner]:
                return self.write(inner, value, depth, optional=True)
            case str() if schema in self._named:
                schema = self._named[schema]
            case {"name": str(name)}:
                self._named[name] = schema
        kind = "optional" if optional else "given"
        match schema:
            case {"type": "string", "constraint": str(rule)}:
                texts = f"{kind}_{rule}"
                self.known.setdefault(texts, Texts(rule, optional=optional))
                return self._line(depth, f"add({texts}[{value}])")
            case {"type": "enum", "name": str(name), "symbols": list(symbols)}:
                words = f"{kind}_{name}"
                self.known.setdefault(words, _words(symbols, optional=optional))
                return self._line(depth, f"add({words}[{value}])")
        self._locals += 1
        local = f"v{self._locals}"
        self._line(depth, f"{local} = {value}")
        if optional:
            self._line(depth, f"if {local} is None:", "    add(b'\\x00')", "else:")
            depth += 1
            self._line(depth, "add(b'\\x02')")  # branch 1, zig-zag
        self._write_local(schema, local, depth)
        return None

    def _write_local(self, schema: Any, local: str, depth: int) -> None:
        match schema:
            case "int" | "long":
                self._number(local, LARGEST[schema], depth)
            case {"type": "long", "logicalType": "timestamp-micros"}:
                self._number(local, LARGEST["timestamp-micros"], depth)
            case {"type": "fixed", "name": "Uuid"}:
                self._require(f"isinstance({local}, UUID)", depth)
                self._line(depth, f"add({local}.bytes)")
            case {"type": "fixed", "size": int(size)}:
                self._require(f"type({local}) is bytes and len({local}) == {size}", depth)
                self._line(depth, f"add({local})")
            case {"type": "array", "items": items}:
                self._require(f"isinstance({local}, tuple) and len({local}) <= {MAX_LISTED}", depth)
                self._line(depth, f"if {local}:", f"    add(small[len({local})])")
                self._line(depth + 1, f"for item in {local}:")
                self.write(items, "item", depth + 2)
                self._line(depth, "add(b'\\x00')")  # the empty block that ends the array
            case {"type": "record", "name": str(name), "fields": list(fields)}:
                self.known[name] = self._classes[name]
                self._require(f"isinstance({local}, {name})", depth)
                self.write_fields(fields, local, depth)
            case _:
                raise AssertionError("a type that a receipt does not have")

    def _number(self, local: str, largest: int, depth: int) -> None:
        self._require(f"type({local}) is int", depth)  # a bool is an int to isinstance
        self._line(
            depth, f"add(small[{local}] if 0 <= {local} < 128 else number({local}, {largest}))"
        )

    def _require(self, condition: str, depth: int) -> None:
        self._line(depth, f"if not ({condition}):", "    raise Unfit")

    def _line(self, depth: int, *lines: str) -> None:
        self.lines += [f"{'    ' * depth}{line}" for line in lines]


def _words(symbols: list[str], *, optional: bool) -> dict[str | None, bytes]:
    """Each word encoded; the last of a vocabulary stands for what later versions may know."""
    branch = b"\x02" if optional else b""
    words: dict[str | None, bytes] = {
        word: branch + number(place, len(symbols))
        for place, word in enumerate(symbols)
        if word != UNRECOGNIZED
    }
    return words | {None: b"\x00"} if optional else words
