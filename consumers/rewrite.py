"""Rewriting the warehouse: dropped receipts leave no byte behind in its file.

DuckDB keeps what was deleted in its file until blocks are used again. So what stays is
written to a new file, which takes the old one's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from elicitation_receipts.consumers.rows import now
from elicitation_receipts.consumers.warehouse import Warehouse

_DROPPING: Final = (
    "CREATE TEMP TABLE dropping (stream_id UUID, first_sequence BIGINT, last_sequence BIGINT)"
)
_IN_SEGMENT: Final = (
    "JOIN dropping ON receipts.stream_id = dropping.stream_id"
    " AND receipts.sequence BETWEEN dropping.first_sequence AND dropping.last_sequence"
)
#: What stays of a table of which not everything does.
_REST: Final = {
    "receipts": f"SELECT * FROM receipts ANTI {_IN_SEGMENT}",  # noqa: S608
    "elicitation_summaries": f"""
        SELECT * FROM elicitation_summaries WHERE elicitation_id NOT IN (
            SELECT elicitation_id FROM receipts SEMI {_IN_SEGMENT} WHERE elicitation_id IS NOT NULL
        )
    """,  # noqa: S608
}
#: What stays of elicitations that lose receipts: they are derived anew from it.
_TOUCHED_RECEIPTS: Final = f"""
CREATE TEMP VIEW touched_receipts AS
SELECT * FROM receipts ANTI {_IN_SEGMENT}
WHERE elicitation_id IN (SELECT elicitation_id FROM receipts SEMI {_IN_SEGMENT})
"""  # noqa: S608


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
        database.execute(_DROPPING)
        database.executemany(
            "INSERT INTO dropping VALUES (?, ?, ?)",
            [[one.stream_id, one.first, one.last] for one in segments],
        )
        tables = database.execute(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_catalog = $name AND table_schema = 'main' AND table_type = 'BASE TABLE'",
            {"name": name},
        ).fetchall()
        for (table,) in tables:
            rest = _REST.get(table, f'FROM "{table}"')
            database.execute(f'INSERT INTO rewritten."{table}" {rest}')
        database.execute(_TOUCHED_RECEIPTS)
        database.execute(
            "INSERT INTO rewritten.elicitation_summaries FROM elicitations_of('touched_receipts')"
        )
        dropped_at = now()
        database.executemany(
            "INSERT OR IGNORE INTO rewritten.dropped_segments VALUES (?, ?, ?, ?, ?)",
            [[one.stream_id, one.first, one.last, one.last_leaf, dropped_at] for one in segments],
        )
