"""Chains of receipts without a spool, and a source that holds any records a test wants."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import duckdb
import sample
from hypothesis import strategies as st

from elicitation_receipts.consumers.rows import columns, receipt_from_row
from elicitation_receipts.consumers.source import Positions, Record
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import encode, installed, schema_text
from elicitation_receipts.schemas.datum import LATEST_MICROS
from elicitation_receipts.schemas.receipt import ZERO_HASH, Receipt

_REFERENCE = "#" + 12 * "0" + "." + 24 * "a"
_STRINGS = {
    "identifier": ["calendar.book", "a", _REFERENCE],
    "version": ["1.2.3", "2026.8.31", _REFERENCE],
    "protocol_version": ["2025-11-25", _REFERENCE],
    "method": ["tools/call", _REFERENCE],
    "tenant": ["default", "acme"],
    "url_origin": ["https://example.com", "https://[::1]:8443"],
    "field": ["email", "[3]"],
    "key_id": ["0123456789ab"],
}


@dataclass(frozen=True, slots=True)
class Sealed:
    receipt: Receipt
    message: bytes

    @property
    def leaf(self) -> bytes:
        return leaf_hash(self.message)

    @property
    def key(self) -> bytes:
        return str(self.receipt.stream_id).encode()


def seal(receipts: Iterable[Receipt]) -> list[Sealed]:
    """Give receipts of one stream their places and links, as a spool does."""
    sealed: list[Sealed] = []
    previous = ZERO_HASH
    for sequence, receipt in enumerate(receipts):
        placed = replace(receipt, sequence=sequence, previous_hash=previous)
        message = encode(placed)
        previous = leaf_hash(message)
        sealed.append(Sealed(placed, message))
    return sealed


def chain(length: int) -> list[Sealed]:
    """A new stream of so many receipts."""
    stream_id = uuid4()
    return seal(sample.receipt(stream_id) for _ in range(length))


class ListSource:
    """A source over records in memory; by default all in partition 0."""

    topic = "a-topic"
    group = None

    def __init__(self, name: str = "list") -> None:
        self.name = name
        self.partitions: dict[int, list[tuple[bytes | None, bytes | None]]] = {}
        self.committed: dict[int, int] = {}

    def add(self, key: bytes | None, value: bytes | None, partition: int = 0) -> None:
        self.partitions.setdefault(partition, []).append((key, value))

    def add_sealed(self, *sealed: Sealed, partition: int = 0) -> None:
        for one in sealed:
            self.add(one.key, one.message, partition)

    def fetch(self, positions: Positions, limit: int, timeout: float) -> list[Record]:
        return list(self._records(positions))[:limit]

    def find(self, partition: int, offsets: Sequence[int]) -> list[Record]:
        records = self.partitions.get(partition, [])
        there = [offset for offset in offsets if offset < len(records)]
        return [Record(partition, offset, *records[offset]) for offset in there]

    def commit(self, positions: Positions) -> None:
        self.committed = dict(positions)

    def lag(self, positions: Positions) -> int:
        return len(list(self._records(positions)))

    def _records(self, positions: Positions) -> Iterator[Record]:
        for partition, records in self.partitions.items():
            for offset in range(positions.get(partition, 0), len(records)):
                yield Record(partition, offset, *records[offset])


def landed(database: duckdb.DuckDBPyConnection) -> list[Receipt]:
    """Every receipt in a warehouse, made from its row, in the order of streams."""
    names = ", ".join(columns())
    rows = database.execute(f"SELECT {names} FROM receipts ORDER BY stream_id, sequence").fetchall()
    return [receipt_from_row(row) for row in rows]


def any_datum() -> st.SearchStrategy[dict[str, Any]]:
    """Every datum the schema allows."""
    return _datum(json.loads(schema_text()), {})


def any_receipt() -> st.SearchStrategy[Receipt]:
    """Every receipt there can be."""
    codec = installed()
    return any_datum().map(lambda datum: codec.decode(codec.encode_datum(datum)))


def _datum(schema: Any, named: dict[str, Any]) -> st.SearchStrategy[Any]:
    match schema:
        case ["null", inner]:
            return st.none() | _datum(inner, named)
        case str() if schema in named:
            return _datum(named[schema], named)
        case "int":
            return st.integers(0, 2**31 - 1)
        case "long":
            return st.integers(0, 2**63 - 1)
        case {"logicalType": "timestamp-micros"}:
            return st.integers(0, LATEST_MICROS)
        case {"constraint": rule}:
            return st.sampled_from(_STRINGS[rule])
        case {"type": "array", "items": items}:
            return st.lists(_datum(items, named), max_size=3)
    named[schema["name"]] = schema
    match schema:
        case {"type": "fixed", "size": size}:
            return st.binary(min_size=size, max_size=size)
        case {"type": "enum", "symbols": symbols}:
            return st.sampled_from(symbols[:-1])  # the last is `unrecognized`
        case {"type": "record", "fields": fields}:
            return st.fixed_dictionaries(
                {field["name"]: _datum(field["type"], named) for field in fields}
            )
    raise AssertionError(schema)
