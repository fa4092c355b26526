"""A receipt as a row of the table ``receipts``, and back, field by field of its Avro schema.

A field is a column of its name. A nested record stands flat, with the group's name in
front; its columns are all NULL where the record is absent. A list of records is a list
of structs. Times are UTC timestamps without a zone, words are text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from operator import attrgetter
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from elicitation_receipts.schemas.codec import schema_text
from elicitation_receipts.schemas.datum import CLASSES
from elicitation_receipts.schemas.named_types import NamedTypes
from elicitation_receipts.schemas.receipt import Receipt

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  (UTC without a zone, as the columns are)
_MICROSECOND: Final = timedelta(microseconds=1)


def columns() -> tuple[str, ...]:
    """The columns a receipt fills, in the order of its fields."""
    return _receipt().columns


def row_from_receipt(receipt: Receipt) -> list[Any]:
    """The values of :func:`columns`, as DuckDB takes them."""
    return _receipt().values(receipt)


def receipt_from_row(row: Sequence[Any]) -> Receipt:
    """The receipt whose :func:`columns` hold ``row``, as DuckDB gives them.

    Encoded again under the schema version that wrote it, it is the sealed message byte for
    byte, unless somebody has changed the row: so the warehouse itself can be verified.
    Raises ``ValueError`` where a column holds what landing never writes.
    """
    if len(row) != len(columns()):
        raise ValueError(f"a receipt has {len(columns())} columns, not {len(row)}")
    try:
        receipt = _receipt().take(iter(row))
    except (TypeError, AttributeError, LookupError) as error:
        raise ValueError("a column holds another type than landing writes") from error
    if receipt is None:
        raise ValueError("the row is empty")
    return cast("Receipt", receipt)


def now() -> datetime:
    """This moment as a column takes it: UTC without a zone."""
    return datetime.now(UTC).replace(tzinfo=None)


_Convert = Callable[[Any], Any]


class _Part(NamedTuple):
    """How one field goes into its columns and comes out of them."""

    columns: tuple[str, ...]
    #: The values of the columns; None: the field is the value of its one column.
    dump: Callable[[Any], list[Any]] | None
    take: Callable[[Iterator[Any]], Any]


class _Record(NamedTuple):
    """A record's part; ``values``: the columns of one that is there."""

    columns: tuple[str, ...]
    dump: Callable[[Any], list[Any]]
    take: Callable[[Iterator[Any]], Any]
    values: Callable[[Any], list[Any]]


@cache
def _receipt() -> _Record:
    # The newest schema has every field of the older ones, which decode into the same type.
    return _Compiler().record(json.loads(schema_text()), prefix="")


class _Compiler:
    """Turns the schema into parts, once. ``_named``: types an earlier field has defined."""

    def __init__(self) -> None:
        self._named = NamedTypes()

    def part(self, schema: Any, column: str) -> _Part | _Record:
        match self._named.resolve(schema):
            case ["null", inner]:
                return self.part(inner, column)
            case {"type": "record"} as record:
                return self.record(record, f"{column}_")
            case other:
                return _one_column(column, *self.conversion(other))

    def record(self, schema: Mapping[str, Any], prefix: str) -> _Record:
        cls = self._class(schema)
        members = {
            field["name"]: self.part(field["type"], prefix + field["name"])
            for field in schema["fields"]
        }
        names = tuple(name for member in members.values() for name in member.columns)
        fields_of = attrgetter(*members)
        # From the back, so that what grows does not move what is still to be changed.
        dumps = [
            (place, member.dump)
            for place, member in reversed(list(enumerate(members.values())))
            if member.dump
        ]

        def values(value: Any) -> list[Any]:
            row = list(fields_of(value))
            for place, dump_member in dumps:
                row[place : place + 1] = dump_member(row[place])
            return row

        def dump(value: Any) -> list[Any]:
            return [None] * len(names) if value is None else values(value)

        def take(row: Iterator[Any]) -> Any:
            taken = {name: member.take(row) for name, member in members.items()}
            # Every record has a field that is never null: all NULL means there was no record.
            return cls(**taken) if any(part is not None for part in taken.values()) else None

        return _Record(names, dump, take, values)

    def conversion(self, schema: Any) -> tuple[_Convert, _Convert]:
        """Into and out of a column, for values that are not None."""
        match self._named.resolve(schema):
            case {"type": "long", "logicalType": "timestamp-micros"}:
                return _datetime, _micros
            case {"type": "enum"} as words:
                return _same, self._class(words)
            case {"type": "fixed", "name": "Uuid"}:
                return _same, _uuid
            case {"type": "array", "items": items}:
                return self._list(items)
            case _:
                return _same, _same

    def _list(self, items: Any) -> tuple[_Convert, _Convert]:
        item = self._named.resolve(items)
        if item["type"] != "record":
            _, load = self.conversion(item)
            return list, lambda values: tuple(map(load, values))
        cls = self._class(item)
        members = [(field["name"], self._member(field["type"])) for field in item["fields"]]

        def struct(value: Any) -> dict[str, Any]:
            return {name: getattr(value, name) for name, _ in members}

        def load_struct(value: Any) -> Any:
            return cls(
                **{
                    name: None if value[name] is None else load(value[name])
                    for name, load in members
                }
            )

        return (
            lambda values: [struct(value) for value in values],
            lambda values: tuple(load_struct(value) for value in values),
        )

    def _member(self, schema: Any) -> _Convert:
        match schema:
            case ["null", inner]:
                return self._member(inner)
            case _:
                return self.conversion(schema)[1]

    @staticmethod
    def _class(schema: Mapping[str, Any]) -> Any:
        return CLASSES[schema["name"]]


def _one_column(column: str, dump: _Convert, load: _Convert) -> _Part:
    def take(values: Iterator[Any]) -> Any:
        value = next(values)
        return None if value is None else load(value)

    if dump is _same:
        return _Part((column,), None, take)
    return _Part((column,), lambda value: [None if value is None else dump(value)], take)


def _same(value: Any) -> Any:
    return value


def _uuid(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def _datetime(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
