"""The fast rung: a whole batch read at once, field by field, into Arrow columns.

It takes only what is plainly canonical, as the generated rung does: a number in its shortest
form, a union and an array as the one writer writes them, a string that satisfies its rule; each
different string of a batch is looked at once. The reference judges the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import compress
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from elicitation_receipts.consumers.column_values import bytes_of
from elicitation_receipts.consumers.decode.column_readers import Reader, compile_columns
from elicitation_receipts.consumers.decode.cursor import Cursor
from elicitation_receipts.consumers.decode.decoded import (
    Decoded,
    ExpectedKeys,
    Sighting,
    joined,
)
from elicitation_receipts.consumers.decode.reference import decode_by_reference
from elicitation_receipts.consumers.rows import columns
from elicitation_receipts.consumers.source import Record
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import MESSAGE_LIMIT, SINGLE_OBJECT, installed

_HEADER: Final = 10  # marker and fingerprint
_STREAM_ID: Final = slice(26, 42)  # in a message: behind the header and the receipt's id


def decode_columns(records: Sequence[Record]) -> Decoded:
    """See :data:`Decode`."""
    read, header = _reader()
    legible = [
        at
        for at, record in enumerate(records)
        if (message := record.value) is not None
        and message[:_HEADER] == header
        and _STREAM_ID.stop <= len(message) < MESSAGE_LIMIT
    ]
    if not legible:
        return decode_by_reference(records)
    messages = [records[at].value or b"" for at in legible]
    ends = np.cumsum([len(message) for message in messages])
    starts = np.concatenate(([0], ends[:-1]))
    cursor = Cursor(np.frombuffer(b"".join(messages), np.uint8), starts + _HEADER)
    table = pa.table(read(cursor), list(columns()))
    cursor.require(cursor.at == ends)
    expected = ExpectedKeys()
    cursor.require(
        np.array(
            [
                records[at].key == expected[message[_STREAM_ID]]
                for at, message in zip(legible, messages, strict=True)
            ]
        )
    )
    if not cursor.good.all():
        legible = list(compress(legible, cursor.good))
        messages = list(compress(messages, cursor.good))
        table = table.filter(pa.array(cursor.good))
    plain = _decoded([records[at] for at in legible], messages, table)
    if len(legible) == len(records):
        return plain
    taken = set(legible)
    left = [record for at, record in enumerate(records) if at not in taken]
    return joined(records, plain, decode_by_reference(left))


def _decoded(records: Sequence[Record], messages: Sequence[bytes], table: pa.Table) -> Decoded:
    """What is known of messages whose columns were read."""
    leaves = list(map(leaf_hash, messages))
    table = table.append_column("leaf_hash", pa.array(leaves, pa.binary(32)))
    return Decoded(
        records=records,
        stream_ids=[message[_STREAM_ID] for message in messages],
        sequences=table["sequence"].to_numpy().tolist(),
        previous_hashes=bytes_of(table["previous_hash"].combine_chunks()),
        leaves=leaves,
        rows=ColumnRows(table, installed().newest.fingerprint),
        rejects=[],
    )


class ColumnRows:
    """Rows as an Arrow table, of messages that all have the schema of this fingerprint."""

    def __init__(self, table: pa.Table, fingerprint: bytes) -> None:
        self._table = table
        self._fingerprint = fingerprint

    def insert(
        self,
        database: duckdb.DuckDBPyConnection,
        chosen: Sequence[int],
        source: str,
        landed_at: datetime,
    ) -> None:
        rows = self._chosen(chosen)
        database.register("arrivals", rows)
        try:
            database.execute(
                "INSERT INTO receipts SELECT *, $fingerprint, $source, $landed_at FROM arrivals",
                {"fingerprint": self._fingerprint, "source": source, "landed_at": landed_at},
            )
        finally:
            database.unregister("arrivals")

    def sightings(self, chosen: Sequence[int]) -> Iterator[Sighting]:
        rows = self._chosen(chosen).select(Sighting._fields)
        yield from map(Sighting.of, zip(*(column.to_pylist() for column in rows), strict=True))

    def _chosen(self, chosen: Sequence[int]) -> pa.Table:
        if len(chosen) == len(self._table):
            return self._table
        return self._table.take(pa.array(chosen, pa.int64()))


@cache
def _reader() -> tuple[Reader, bytes]:
    """What reads receipts under the newest schema, and what their messages begin with."""
    newest = installed().newest
    read, names = compile_columns(newest.text)
    if names != columns():
        raise AssertionError("the reader and the table disagree about the columns")
    return read, SINGLE_OBJECT + newest.fingerprint
