"""What evidence is made from and verified over: the spool, the warehouse, and files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import duckdb

from elicitation_receipts.consumers.row_message import RowError, message_from_row
from elicitation_receipts.consumers.rows import columns
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.evidence.checkpointer import Extent, Leaves
from elicitation_receipts.evidence.dump import Dump
from elicitation_receipts.evidence.source import Item, Source
from elicitation_receipts.evidence.walk import Fault
from elicitation_receipts.home import Home
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.errors import EvidenceError
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.spool_file import naming_errors

_PAGE: Final = 5_000


class SpoolReceipts:
    """A spool, to verify or to sign."""

    name = "spool"

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self.count = sum(stream.next_sequence for stream in spool.streams())

    def items(self) -> Iterator[Item]:
        after = 0
        while stored := self._spool.read(after, _PAGE):
            for one in stored:
                yield Item(one.stream_id.bytes, one.sequence, one.message)
            after = stored[-1].position

    def extents(self) -> Sequence[Extent]:
        return [
            Extent(stream.stream_id, stream.tenant, stream.next_sequence)
            for stream in self._spool.streams()
        ]

    def leaves(self, stream_id: UUID, first: int) -> Iterator[bytes]:
        while stored := self._spool.read_stream(stream_id, first, _PAGE):
            for one in stored:
                if one.sequence != first:
                    return
                yield leaf_hash(one.message)
                first += 1


class SpoolFileReceipts:
    """A spool's file wherever it lies and whatever it is called; it is only read."""

    count = None

    def __init__(self, path: Path) -> None:
        self.name = f"spool {path.name}"
        self._path = path

    def items(self) -> Iterator[Item]:
        uri = f"{self._path.resolve().as_uri()}?mode=ro"
        with naming_errors(self._path), closing(sqlite3.connect(uri, uri=True)) as database:
            for stream, sequence, message in database.execute(
                "SELECT stream_id, sequence, message FROM receipts ORDER BY position"
            ):
                yield Item(stream, sequence, message)


class TableReceipts:
    """The table ``receipts`` of a database, or the same columns in a Parquet file."""

    def __init__(
        self, database: duckdb.DuckDBPyConnection, table: str = "receipts", name: str = "database"
    ) -> None:
        self.name = name
        self._database = database
        self._table = table
        self.count = int(self._query(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608

    def items(self) -> Iterator[Item]:
        names = ", ".join(f'"{column}"' for column in (*columns(), "leaf_hash", "fingerprint"))
        rows = self._database.cursor().execute(
            f"SELECT {names} FROM {self._table} ORDER BY stream_id, sequence"  # noqa: S608
        )
        stream_at, sequence_at = columns().index("stream_id"), columns().index("sequence")
        while page := rows.fetchmany(_PAGE):
            for row in page:
                stream, sequence = row[stream_at].bytes, row[sequence_at]
                try:
                    message = message_from_row(row, row[-1])
                except RowError as error:
                    fault = Fault(error.reason, error.column)
                    yield Item(stream, sequence, None, row[-2], fault)
                else:
                    yield Item(stream, sequence, message, row[-2], walked=True)

    def extents(self) -> Sequence[Extent]:
        return [
            Extent(*row)
            for row in self._query(
                "SELECT stream_id, any_value(tenant), max(sequence) + 1 FROM receipts"
                " GROUP BY stream_id ORDER BY min(landed_at), stream_id"
            )
        ]

    def leaves(self, stream_id: UUID, first: int) -> Iterator[bytes]:
        rows = self._database.cursor().execute(
            "SELECT sequence, leaf_hash FROM receipts"
            " WHERE stream_id = ? AND sequence >= ? ORDER BY sequence",
            [stream_id, first],
        )
        while page := rows.fetchmany(_PAGE):
            for sequence, leaf in page:
                if sequence != first:
                    return
                yield leaf
                first += 1

    def _query(self, sql: str) -> list[tuple[Any, ...]]:
        return self._database.execute(sql).fetchall()


@contextmanager
def leaves_of(home: Home) -> Iterator[list[Leaves]]:
    """What a home can sign: its spool's streams, then what else has landed."""
    found: list[Leaves] = []
    if home.spool.exists():
        with Spool.open(home.path, create=False) as spool:
            found.append(SpoolReceipts(spool))
            yield from _with_warehouse(home, found)
    else:
        yield from _with_warehouse(home, found)


def _with_warehouse(home: Home, found: list[Leaves]) -> Iterator[list[Leaves]]:
    if not home.warehouse.exists():
        yield found
        return
    with Warehouse(home.warehouse).read() as database:
        yield [*found, TableReceipts(database)]


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """The receipts in a file: what it is says its beginning.

    Raises :class:`EvidenceError` (``source_unreadable``, ``source_unknown``) and what
    spool and warehouse raise.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(16)
    except OSError as error:
        raise EvidenceError(
            "source_unreadable", f"cannot read {path} ({error.strerror})"
        ) from error
    if magic[8:12] == b"DUCK":
        with Warehouse(path).read() as database:
            yield TableReceipts(database, name=f"database {path.name}")
    elif magic.startswith(b"SQLite format 3\0"):
        yield SpoolFileReceipts(path)
    elif magic.startswith(b"PAR1"):
        with duckdb.connect(":memory:") as database:
            database.execute(
                "CREATE VIEW receipts AS SELECT * FROM read_parquet($path)", {"path": str(path)}
            )
            yield TableReceipts(database, name=f"Parquet file {path.name}")
    else:
        yield Dump(path)
