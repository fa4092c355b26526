"""The consumer group of a database: its landers take turns; those of another are refused.

A group's committed offsets say, to whoever watches its lag, how far *this* database is. Two
groups on one database would each tell half of the truth.
"""

from __future__ import annotations

import duckdb

from elicitation_receipts.consumers.rows import now
from elicitation_receipts.schemas.errors import WarehouseError


def claim(database: duckdb.DuckDBPyConnection, group: str | None) -> None:
    """Have ``group`` be the one that lands here; None: a source without groups, always let in.

    Raises ``warehouse_of_another_group``.
    """
    if group is None:
        return
    row = database.execute("SELECT name FROM consumer_group").fetchone()
    if row is None:
        database.execute("INSERT INTO consumer_group VALUES (?, ?)", [group, now()])
    elif row[0] != group:
        raise WarehouseError(
            "warehouse_of_another_group",
            f"the consumer group {row[0]} lands in this database, and this lander is of {group}; "
            f"give it --kafka-group {row[0]}, or another home. To hand the database over, "
            "delete the row in the table consumer_group",
        )
