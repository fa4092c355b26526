"""What evidence is made from and verified over: the spool, the warehouse, and files."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol
from uuid import UUID

import duckdb

from elicitation_receipts import parquet_file
from elicitation_receipts.consumers.decode import has_columns
from elicitation_receipts.consumers.row_message import RowError, message_from_row
from elicitation_receipts.consumers.rows import columns
from elicitation_receipts.consumers.source import SpoolSource
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.evidence.archive import BLOCK, is_archive
from elicitation_receipts.evidence.bundle import Bundle
from elicitation_receipts.evidence.dump import Dump
from elicitation_receipts.evidence.history import Extent, Leaves
from elicitation_receipts.evidence.source import Item, Run, Source
from elicitation_receipts.evidence.walk import Fault
from elicitation_receipts.home import Home
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.errors import EvidenceError
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.spool_file import naming_errors

_PAGE: Final = 5_000
_NO_STREAM: Final = bytes(16)
_STREAM_AT, _SEQUENCE_AT = map(columns().index, ("stream_id", "sequence"))
_SELECT: Final = f"SELECT {', '.join((*columns(), 'leaf_hash', 'fingerprint'))} FROM receipts"  # noqa: S608
#: What a file must have, whatever else is in it, and as which type.
_PLACES: Final = {
    "stream_id": ("UUID",),
    "sequence": ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "UBIGINT", "UINTEGER"),
    "leaf_hash": ("BLOB",),
    "fingerprint": ("BLOB",),
}
_IN_ORDER: Final = " ORDER BY stream_id, sequence, landed_at"


class SpoolReceipts:
    """A spool, to verify or to sign."""

    name = "spool"

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self.count = sum(stream.next_sequence for stream in spool.streams())

    def items(self) -> Iterator[Item]:
        return self.items_after(0)

    def items_after(self, position: int) -> Iterator[Item]:
        """Every item behind a position of the spool."""
        while stored := self._spool.read(position, _PAGE):
            for one in stored:
                yield Item(one.stream_id.bytes, one.sequence, one.message)
            position = stored[-1].position

    def extents(self) -> Sequence[Extent]:
        return [
            Extent(stream.stream_id, stream.tenant, stream.next_sequence)
            for stream in self._spool.streams()
        ]

    def leaves(self, stream_id: UUID, first: int) -> Iterator[bytes]:
        return map(leaf_hash, self.messages(stream_id, first))

    def messages(self, stream_id: UUID, first: int) -> Iterator[bytes]:
        while stored := self._spool.read_stream(stream_id, first, _PAGE):
            for one in stored:
                if one.sequence != first:
                    return
                yield one.message
                first += 1

    def first_since(self, stream_id: UUID, time: int) -> int:
        end = next(each.next_sequence for each in self.extents() if each.stream_id == stream_id)
        found: int = bisect_left(
            range(end), time, key=lambda sequence: self._time_of(stream_id, sequence)
        )
        return found

    def find(self, receipt_id: UUID) -> tuple[UUID, int] | None:
        for item in self.items():
            if item.message is not None and item.message[10:26] == receipt_id.bytes:
                return UUID(bytes=item.stream), item.sequence
        return None

    def _time_of(self, stream_id: UUID, sequence: int) -> int:
        """When a receipt was written; 0: it was dropped."""
        [one] = self._spool.read_stream(stream_id, sequence, 1)
        return decode(one.message).occurred_at if one.sequence == sequence else 0


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

    def __init__(self, database: duckdb.DuckDBPyConnection, name: str = "database") -> None:
        self.name = name
        self._database = database
        self.count = int(self._query("SELECT count(*) FROM receipts")[0][0])

    def items(self) -> Iterator[Item | Run]:
        if not has_columns():
            return self.rows()
        from elicitation_receipts.evidence_columns import read_columns, runs

        order = "" if self._is_in_order() else _IN_ORDER
        reader = read_columns(self._database.cursor(), f"{_SELECT}{order}")
        return self.rows() if reader is None else runs(reader, _item)

    def rows(self) -> Iterator[Item]:
        """The items, each row by itself."""
        return self._items("true", [])

    def _is_in_order(self) -> bool:
        """Whether each stream lies in its order: then a sort would cost half the time."""
        try:
            [(is_in_order,)] = self._query(
                "SELECT count(*) = 0 FROM (SELECT sequence,"
                " lag(sequence) OVER (PARTITION BY stream_id ORDER BY rowid) AS before"
                " FROM receipts) WHERE sequence <= before OR sequence IS NULL"
            )
        except duckdb.BinderException:  # a view, of a Parquet file
            return False
        return bool(is_in_order)

    def _items(self, condition: str, values: Sequence[object]) -> Iterator[Item]:
        rows = self._database.cursor().execute(f"{_SELECT} WHERE {condition}{_IN_ORDER}", values)
        while page := rows.fetchmany(_PAGE):
            yield from map(_item, page)

    def extents(self) -> Sequence[Extent]:
        return [
            Extent(*row)
            for row in self._query(
                # The newest receipts of a stream may have been dropped by retention.
                "SELECT stream_id, any_value(tenant), greatest(max(sequence),"
                "  (SELECT max(last_sequence) FROM dropped_segments AS dropped"
                "   WHERE dropped.stream_id = receipts.stream_id)) + 1"
                " FROM receipts GROUP BY stream_id ORDER BY min(landed_at), stream_id"
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

    def messages(self, stream_id: UUID, first: int) -> Iterator[bytes]:
        for item in self._items("stream_id = ? AND sequence >= ?", [stream_id, first]):
            if item.sequence != first:
                return
            if item.message is None or leaf_hash(item.message) != item.leaf:
                raise EvidenceError(
                    "row_altered",
                    f"the row of stream {stream_id}, sequence {first}, is not the receipt that "
                    "landed; `receipts verify` says more",
                )
            yield item.message
            first += 1

    def first_since(self, stream_id: UUID, time: int) -> int:
        [(first,)] = self._query(
            "SELECT coalesce(min(sequence) FILTER (WHERE epoch_us(occurred_at) >= ?),"
            " max(sequence) + 1) FROM receipts WHERE stream_id = ?",
            [time, stream_id],
        )
        return int(first)

    def find(self, receipt_id: UUID) -> tuple[UUID, int] | None:
        rows = self._query(
            "SELECT stream_id, sequence FROM receipts WHERE receipt_id = ?", [receipt_id]
        )
        return (rows[0][0], rows[0][1]) if rows else None

    def landed(self, source: str) -> int | None:
        """How far a source has landed: the next offset of its only partition; None: never."""
        rows = self._query("SELECT next_offset FROM positions WHERE source = ?", [source])
        return rows[0][0] if rows else None

    def _query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._database.execute(sql, values).fetchall()


def _item(row: Sequence[Any]) -> Item:
    """Of a row that ``_SELECT`` gives."""
    # In a Parquet file anything may be absent.
    stream = row[_STREAM_AT].bytes if row[_STREAM_AT] else _NO_STREAM
    sequence, leaf = row[_SEQUENCE_AT] or 0, row[-2] or b""
    try:
        message = message_from_row(row, row[-1])
    except RowError as error:
        return Item(stream, sequence, None, leaf, Fault(error.reason, error.column))
    return Item(stream, sequence, message, leaf, walked=True)


class HomeReceipts:
    """A home's database, and behind it what its spool holds that has not landed yet."""

    def __init__(self, table: TableReceipts, spool: SpoolReceipts, landed: int) -> None:
        self.name = "home"
        self._table = table
        self._spool = spool
        self._landed = landed
        self.count = max(table.count, spool.count)

    def items(self) -> Iterator[Item | Run]:
        yield from self._table.items()
        yield from self._spool.items_after(self._landed - 1)


class Stored(Leaves, Protocol):
    """What evidence is made from: a spool, or a database."""

    def messages(self, stream_id: UUID, first: int) -> Iterator[bytes]:
        """A stream's messages from ``first`` on, up to the first gap."""

    def first_since(self, stream_id: UUID, time: int) -> int:
        """The first sequence of a stream at or after a time (UTC microseconds).

        In a spool by halves: times rise, except where a clock was set back.
        """

    def find(self, receipt_id: UUID) -> tuple[UUID, int] | None:
        """The place of a receipt: stream and sequence."""


@contextmanager
def stores_of(home: Home) -> Iterator[list[Stored]]:
    """What a home holds: its spool's streams first, then what else has landed."""
    with ExitStack() as opened:
        found: list[Stored] = []
        if home.spool.exists():
            found.append(SpoolReceipts(opened.enter_context(Spool.open(home.path, create=False))))
        if home.warehouse.exists():
            found.append(TableReceipts(opened.enter_context(Warehouse(home.warehouse).read())))
        yield found


@contextmanager
def open_home(home: Home) -> Iterator[Source]:
    """What a home is verified by: its database with what has still to land, else its spool."""
    if not home.warehouse.exists():
        with Spool.open(home.path, create=False) as spool:
            yield SpoolReceipts(spool)
        return
    with ExitStack() as opened:
        table = TableReceipts(opened.enter_context(Warehouse(home.warehouse).read()))
        source: Source = table
        if home.spool.exists():
            spool = opened.enter_context(Spool.open(home.path, create=False))
            landed = table.landed(SpoolSource(spool).name)
            if landed is not None:
                source = HomeReceipts(table, SpoolReceipts(spool), landed)
        yield source


@contextmanager
def open_source(path: Path) -> Iterator[Source]:
    """The receipts in a file: what it is says its beginning.

    Raises :class:`EvidenceError` (``source_unreadable``, ``source_malformed``),
    :class:`ArchiveError` for a bundle or a Parquet file that was tampered with, and what spool
    and warehouse raise.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(BLOCK)
    except OSError as error:
        raise EvidenceError(
            "source_unreadable", f"cannot read {path} ({error.strerror})"
        ) from error
    if magic[8:12] == b"DUCK":
        with Warehouse(path).read() as database:
            yield TableReceipts(database, f"database {path.name}")
    elif magic.startswith(b"SQLite format 3\0"):
        yield SpoolFileReceipts(path)
    elif magic.startswith(parquet_file.MAGIC):
        with duckdb.connect(":memory:") as database, _naming_errors(path):
            parquet_file.check_whole(database, path)
            # No view: DuckDB takes no parameter in one.
            database.read_parquet(str(path)).create_view("receipts")
            _check_places(database, path)
            yield TableReceipts(database, f"Parquet file {path.name}")
    elif is_archive(magic):
        yield Bundle(path)
    else:
        yield Dump(path)


def _check_places(database: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Where a receipt belongs, and its hash, must be told: the other columns are judged by row."""
    types = {name: kind for name, kind, *_ in database.execute("DESCRIBE receipts").fetchall()}
    for name, allowed in _PLACES.items():
        if types.get(name) not in allowed:
            raise EvidenceError(
                "source_malformed",
                f"{path} must have a column {name} of the type {allowed[0]}; export it again",
            )


@contextmanager
def _naming_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise EvidenceError(
            "source_malformed",
            f"{path} cannot be read ({type(error).__name__}): it is damaged, or lacks columns of "
            "the table receipts; export it again",
        ) from error
