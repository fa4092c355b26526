"""From a receipt to an Avro datum and back, with every check the schema file asks for.

A *datum* is what fastavro writes and reads: a dict for a record, a list for an array,
``bytes`` for a fixed, ``str`` for an enum. The schema is walked once, into functions.
A record or enum named ``Finding`` in it is the class ``Finding`` in Python, and both
must say the same; a string needs a ``constraint`` (see ``identifiers``). No number in
a receipt is negative and no list is longer than ``MAX_LISTED``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, NamedTuple
from uuid import UUID

from elicitation_receipts.schemas import receipt, vocabulary
from elicitation_receipts.schemas.errors import CodecError, SchemaError
from elicitation_receipts.schemas.identifiers import CONSTRAINTS, is_identifier
from elicitation_receipts.schemas.receipt import MAX_LISTED
from elicitation_receipts.schemas.vocabulary import UNRECOGNIZED

#: The Python class of every named record and enum.
CLASSES: Final[Mapping[str, type]] = {
    name: value
    for module in (vocabulary, receipt)
    for name, value in vars(module).items()
    if isinstance(value, type) and value.__module__ == module.__name__
}

#: A time ends where the year 9999 does: what reads it later (SQL, Python) knows no other year.
LATEST_MICROS: Final = 253_402_300_799_999_999

#: No rule of ``identifiers`` allows a longer string.
LONGEST_STRING: Final = 512

LARGEST: Final = {"int": 2**31 - 1, "long": 2**63 - 1, "timestamp-micros": LATEST_MICROS}


class Converter(NamedTuple):
    """What one place in the schema does with its values; never asked about None."""

    #: Raise :class:`CodecError` unless this datum may stand here.
    check: Callable[[Any], None]
    #: Python value → datum; None where they are the same.
    dump: Callable[[Any], Any] | None = None
    #: Checked datum → Python value; None where they are the same.
    load: Callable[[Any], Any] | None = None
    #: Whether None may stand here.
    optional: bool = False


class RecordConverter(NamedTuple):
    """A :class:`Converter` of a record: it always converts."""

    check: Callable[[Any], None]
    dump: Callable[[Any], dict[str, Any]]
    load: Callable[[dict[str, Any]], Any]
    optional: bool = False


def compile_schema(schema: Any, classes: Mapping[str, type] = CLASSES) -> RecordConverter:
    """The converter of a whole schema, given as parsed JSON: of the record ``Receipt``.

    Raises :class:`SchemaError` where schema and classes do not agree, or the schema has a
    type that could carry free text.
    """
    converter = _Compiler(classes).compile(schema, "receipt")
    if not isinstance(converter, RecordConverter) or converter.optional:
        raise _corrupt("receipt")
    return converter


class _Compiler:
    def __init__(self, classes: Mapping[str, type]) -> None:
        self._classes = classes
        self._named: dict[str, dict[str, Any]] = {}

    def compile(self, schema: Any, path: str) -> Converter | RecordConverter:
        """The converter for one place; ``path`` names the place in errors."""
        match schema:
            case ["null", inner]:
                return self.compile(inner, path)._replace(optional=True)
            case str() if schema in self._named:
                return self.compile(self._named[schema], path)
            case "int" | "long":
                return _number(LARGEST[schema], path)
            case {"type": "long", "logicalType": "timestamp-micros"}:
                return _number(LARGEST["timestamp-micros"], path)
            case {"type": "string", "constraint": str(rule)} if rule in CONSTRAINTS:
                return _string(rule, path)
            case {"type": "array", "items": items}:
                return _array(self.compile(items, f"{path}[]"), path)
            case {"type": "fixed", "name": str(name), "size": int(size)}:
                self._named[name] = schema
                return _uuid(path) if name == "Uuid" else _fixed(size, path)
            case {"type": "enum", "name": str(name), "symbols": list(symbols)}:
                self._named[name] = schema
                return _enum(self._class(name, path), symbols, path)
            case {"type": "record", "name": str(name), "fields": list(parts)}:
                self._named[name] = schema
                members = {
                    str(part["name"]): self.compile(part["type"], f"{path}.{part['name']}")
                    for part in parts
                }
                return _record(self._class(name, path), members, path)
        raise _corrupt(path)

    def _class(self, name: str, path: str) -> Any:
        if name not in self._classes:
            raise _corrupt(path)
        return self._classes[name]


def _number(largest: int, path: str) -> Converter:
    def check(value: Any) -> None:
        if type(value) is not int:  # a bool is an int to isinstance
            raise _wrong_type(path, "a whole number")
        if not 0 <= value <= largest:
            raise CodecError("out_of_bounds", f"{path} must be a number from 0 to {largest}")

    return Converter(check)


def _string(rule: str, path: str) -> Converter:
    # The same few names stand in every receipt.
    allows = lru_cache(maxsize=256)(CONSTRAINTS[rule])

    def check(value: Any) -> None:
        if not isinstance(value, str):
            raise _wrong_type(path, "a string")
        if len(value) > LONGEST_STRING or not allows(value):
            raise CodecError(
                "out_of_vocabulary", f"{path} does not satisfy the rule {rule!r}; use a reference"
            )

    return Converter(check)


def _fixed(size: int, path: str) -> Converter:
    def check(value: Any) -> None:
        if type(value) is not bytes or len(value) != size:
            raise _wrong_type(path, f"{size} bytes")

    return Converter(check)


def _uuid(path: str) -> Converter:
    def dump(value: Any) -> bytes:
        if not isinstance(value, UUID):
            raise _wrong_type(path, "a UUID")
        return value.bytes

    return Converter(_fixed(16, path).check, dump, lambda value: UUID(bytes=value))


def _enum(words: Any, symbols: list[Any], path: str) -> Converter:
    by_symbol = {str(word): word for word in words}
    if symbols != [*by_symbol, UNRECOGNIZED]:
        raise _corrupt(path)

    def check(value: Any) -> None:
        if not isinstance(value, str):
            raise _wrong_type(path, "a word")
        if value not in by_symbol:
            raise CodecError("out_of_vocabulary", f"{path} holds a word that is not in its list")

    return Converter(check, None, by_symbol.__getitem__)


def _array(item: Converter | RecordConverter, path: str) -> Converter:
    dump_item, load_item = item.dump, item.load

    def check(value: Any) -> None:
        if type(value) is not list:
            raise _wrong_type(path, "a list")
        if len(value) > MAX_LISTED:
            raise CodecError(
                "out_of_bounds", f"{path} lists more than {MAX_LISTED}; count the rest instead"
            )
        for element in value:
            item.check(element)

    def dump(value: Any) -> list[Any]:
        if not isinstance(value, tuple):
            raise _wrong_type(path, "a tuple")
        return list(value) if dump_item is None else [dump_item(element) for element in value]

    def load(value: Any) -> tuple[Any, ...]:
        return tuple(value) if load_item is None else tuple(load_item(part) for part in value)

    return Converter(check, dump, load)


def _record(
    cls: Any, members: Mapping[str, Converter | RecordConverter], path: str
) -> RecordConverter:
    if tuple(members) != tuple(field.name for field in fields(cls)):
        raise _corrupt(path)
    names = members.keys()
    values_of = attrgetter(*members)
    checks = [(name, member.check, member.optional) for name, member in members.items()]
    dumps = [(name, member.dump) for name, member in members.items() if member.dump]
    loads = [(name, member.load) for name, member in members.items() if member.load]

    def check(value: Any) -> None:
        if type(value) is not dict:
            raise _wrong_type(path, "a record")
        if value.keys() != names:
            raise _other_fields(value, members, path)
        for name, check_member, optional in checks:
            member = value[name]
            if member is not None or not optional:
                check_member(member)

    def dump(value: Any) -> dict[str, Any]:
        if not isinstance(value, cls):
            raise _wrong_type(path, f"a {cls.__name__}")
        datum = dict(zip(members, values_of(value), strict=True))
        for name, dump_member in dumps:
            member = datum[name]
            if member is not None:
                datum[name] = dump_member(member)
        return datum

    def load(datum: Any) -> Any:
        values = dict(datum)
        for name, load_member in loads:
            member = values[name]
            if member is not None:
                values[name] = load_member(member)
        return cls(**values)

    return RecordConverter(check, dump, load)


def _other_fields(value: dict[Any, Any], members: Mapping[str, object], path: str) -> CodecError:
    unknown = [name for name in value if name not in members]
    if not unknown:
        missing = ", ".join(name for name in members if name not in value)
        return CodecError("wrong_type", f"{path} lacks {missing}")
    # A name that is no identifier may be anything, also a value: it is not repeated.
    known = sorted(name for name in unknown if isinstance(name, str) and is_identifier(name))
    named = ", ".join(known) or "a field"
    return CodecError("unknown_field", f"{path} has {named}, which its schema does not know")


def _wrong_type(path: str, expected: str) -> CodecError:
    return CodecError("wrong_type", f"{path} must be {expected}")


def _corrupt(path: str) -> SchemaError:
    return SchemaError(
        "schema_corrupt",
        f"the schema file and the code disagree about {path}; install the package again",
    )
