"""Rewriting the warehouse: dropped receipts leave no byte behind in its file.

DuckDB keeps what was deleted in its file until blocks are used again. So what stays is
written to a new file, which takes the old one's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import duckdb

from elicitation_receipts.consumers.rows import now
from elicitation_receipts.consumers.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class DroppedSegment:
    """The receipts ``first`` to ``last`` of a stream. ``last_leaf``: leaf hash of the last."""

    stream_id: UUID
    first: int
    last: int
    last_leaf: bytes


def drop_segments(warehouse: Warehouse, segments: Sequence[DroppedSegment]) -> None:
    """Drop segments of streams, and remember that they are gone; all of them, or nothing.

    What was dropped before stays so. Raises :class:`WarehouseError`.
    """
    with warehouse.rewrite() as database:
        [(name,)] = database.execute("SELECT current_database()").fetchall()
        database.execute(f'COPY FROM DATABASE "{name}" TO rewritten (SCHEMA)')
        tables = database.execute(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_catalog = $name AND table_type = 'BASE TABLE'",
            {"name": name},
        ).fetchall()
        for (table,) in tables:
            rest = _without(database, segments) if table == "receipts" else ""
            database.execute(
                f'INSERT INTO rewritten."{table}" SELECT * FROM "{table}" {rest}'  # noqa: S608
            )
        dropped_at = now()
        database.executemany(
            "INSERT OR IGNORE INTO rewritten.dropped_segments VALUES (?, ?, ?, ?, ?)",
            [[one.stream_id, one.first, one.last, one.last_leaf, dropped_at] for one in segments],
        )


def _without(database: duckdb.DuckDBPyConnection, segments: Sequence[DroppedSegment]) -> str:
    """The clause that keeps every receipt of none of the segments."""
    database.execute(
        "CREATE TEMP TABLE dropping (stream_id UUID, first_sequence BIGINT, last_sequence BIGINT)"
    )
    database.executemany(
        "INSERT INTO dropping VALUES (?, ?, ?)",
        [[one.stream_id, one.first, one.last] for one in segments],
    )
    return (
        "ANTI JOIN dropping ON receipts.stream_id = dropping.stream_id"
        " AND receipts.sequence BETWEEN dropping.first_sequence AND dropping.last_sequence"
    )
