"""Reads rows to verify them column by column, where numpy and pyarrow are there (`[fast]`).

Rows whose message has the hash kept beside it, in unbroken order, come as runs. Whatever is not
plainly so goes down to the way that takes a row at a time, and that one says what is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, Final

import duckdb
import pyarrow as pa

from elicitation_receipts.consumers.column_messages import messages_from_columns
from elicitation_receipts.consumers.column_values import bytes_of
from elicitation_receipts.consumers.rows import columns
from elicitation_receipts.consumers.warehouse import installed_migrations
from elicitation_receipts.evidence.source import Item, Run
from elicitation_receipts.evidence.walk import Fault
from elicitation_receipts.schemas.chain import LEAF_PREFIX

_BATCH: Final = 10_000
_STREAM, _SEQUENCE, _PREVIOUS = map(columns().index, ("stream_id", "sequence", "previous_hash"))
#: What values that no receipt has lead to.
_ODD: Final = (TypeError, ValueError, LookupError, OverflowError, pa.ArrowException)
#: Makes an item of a row: the values of :func:`rows.columns`, leaf hash, and fingerprint.
ItemOf = Callable[[Sequence[Any]], Item]


def read_columns(database: duckdb.DuckDBPyConnection, sql: str) -> pa.RecordBatchReader | None:
    """What ``sql`` selects, batch by batch; None where a column has not the type landing gives it.

    ``sql``: selects from ``receipts``. Raises ``duckdb.Error``.
    """
    reader = _reader(database, sql)
    return reader if reader.schema.types == _landed_types(sql) else None


def runs(reader: pa.RecordBatchReader, item_of: ItemOf) -> Iterator[Item | Run]:
    """The receipts in rows of :func:`rows.columns`, leaf_hash and fingerprint."""
    for batch in reader:
        yield from _runs(batch, item_of)


def _reader(database: duckdb.DuckDBPyConnection, sql: str) -> pa.RecordBatchReader:
    database.execute("SET arrow_lossless_conversion = true")  # identifiers as 16 bytes
    return database.sql(sql).to_arrow_reader(_BATCH)


@cache
def _landed_types(sql: str) -> list[pa.DataType]:
    """The types of what ``sql`` selects in a database of ours."""
    with duckdb.connect() as empty:
        for migration in installed_migrations():
            empty.execute(migration.sql)
        return list(_reader(empty, sql).schema.types)


def _runs(batch: pa.RecordBatch, item_of: ItemOf) -> Iterator[Item | Run]:
    *fields, leaf_column, fingerprint_column = batch.columns
    kept = leaf_column.to_pylist()
    streams, sequences, previous = (
        bytes_of(fields[_STREAM]),
        fields[_SEQUENCE].to_pylist(),
        bytes_of(fields[_PREVIOUS]),
    )
    try:
        [fingerprint] = set(fingerprint_column.to_pylist())
        messages = messages_from_columns(fields, fingerprint, LEAF_PREFIX)
    except _ODD:
        for at in range(len(batch)):
            yield _item(batch, at, item_of)
        return
    leaves = [sha256(message).digest() for message in messages]
    places: dict[bytes, list[int]] = defaultdict(list)
    for at, stream in enumerate(streams):
        places[stream].append(at)
    for stream, ats in places.items():
        run: list[bytes] = []  # that is open
        first, named = 0, b""  # its first sequence, and the hash that one names
        for at in ats:
            leaf, sequence = leaves[at], sequences[at]
            if run and not (
                leaf == kept[at] and previous[at] == run[-1] and sequence == first + len(run)
            ):
                yield Run(stream, first, named, run)
                run = []
            if leaf != kept[at]:
                yield _item(batch, at, item_of)
                continue
            if not run:
                first, named = sequence, previous[at]
            run.append(leaf)
        if run:
            yield Run(stream, first, named, run)


def _item(batch: pa.RecordBatch, at: int, item_of: ItemOf) -> Item:
    row: list[Any] = []
    fault = None
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            row.append(column[at].as_py())
        except _ODD:  # a time that Python does not know
            row.append(None)
            fault = Fault("wrong_type", name)
    item = item_of(row)
    return item if fault is None else item._replace(message=None, fault=fault)
