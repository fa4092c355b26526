"""What retention reads: the receipts of the spool and of the warehouse, made anew as sealed."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import duckdb

from elicitation_receipts.consumers.row_message import RowError, message_from_row
from elicitation_receipts.consumers.rows import columns
from elicitation_receipts.evidence.seal import Seal
from elicitation_receipts.evidence.segments import Extent, Kept
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.errors import EvidenceError
from elicitation_receipts.schemas.spool import Spool

_PAGE = 5_000


class SpoolStore:
    """The receipts of a spool."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool

    def tenants(self) -> dict[UUID, str]:
        return {stream.stream_id: stream.tenant for stream in self._spool.streams()}

    def receipts(self, stream_id: UUID, first: int, last: int | None = None) -> Iterator[Kept]:
        while stored := self._spool.read_stream(stream_id, first, _PAGE):
            for one in stored:
                if last is not None and one.sequence > last:
                    return
                yield _kept(one.sequence, one.message)
            first = stored[-1].sequence + 1

    def extent(self, seal: Seal) -> Extent:
        count = 0
        newest: dict[str | None, int] = {}
        for one in self.receipts(seal.stream_id, seal.first, seal.last):
            count += 1
            before = newest.get(one.retention_class, 0)
            newest[one.retention_class] = max(before, one.occurred_at)
        return Extent(count, newest)


class WarehouseStore:
    """The receipts of an open warehouse."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database

    def tenants(self) -> dict[UUID, str]:
        rows = self._database.execute(
            "SELECT stream_id, any_value(tenant) FROM receipts"
            " GROUP BY stream_id ORDER BY min(landed_at), stream_id"
        )
        return dict(rows.fetchall())

    def receipts(self, stream_id: UUID, first: int, last: int | None = None) -> Iterator[Kept]:
        names = ", ".join(f'"{name}"' for name in (*columns(), "leaf_hash", "fingerprint"))
        place = columns().index("sequence")
        rows = self._database.cursor().execute(
            f"SELECT {names} FROM receipts WHERE stream_id = $stream AND sequence >= $first"  # noqa: S608
            " AND ($last IS NULL OR sequence <= $last) ORDER BY sequence",
            {"stream": stream_id, "first": first, "last": last},
        )
        while page := rows.fetchmany(_PAGE):
            for row in page:
                try:
                    yield _kept(row[place], message_from_row(row, row[-1]))
                except RowError:
                    raise EvidenceError(
                        "segment_altered",
                        f"stream {stream_id}, sequence {row[place]} is no receipt any more in the "
                        "database: `receipts verify` says more; nothing was done",
                    ) from None

    def extent(self, seal: Seal) -> Extent:
        rows = self._database.execute(
            "SELECT retention_class, count(*), epoch_us(max(occurred_at)) FROM receipts"
            " WHERE stream_id = ? AND sequence BETWEEN ? AND ? GROUP BY retention_class",
            [seal.stream_id, seal.first, seal.last],
        ).fetchall()
        [(was_dropped,)] = self._database.execute(
            "SELECT count(*) > 0 FROM dropped_segments WHERE stream_id = ? AND first_sequence = ?",
            [seal.stream_id, seal.first],
        ).fetchall()
        newest = {row[0]: row[2] for row in rows}
        return Extent(sum(row[1] for row in rows), newest, was_dropped=was_dropped)


def _kept(sequence: int, message: bytes) -> Kept:
    receipt = decode(message)
    return Kept(sequence, leaf_hash(message), receipt.occurred_at, receipt.retention_class)
