"""Keeps ``elicitation_summaries`` what ``elicitations_derived`` is, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import duckdb

from elicitation_receipts.consumers.chains import Place

#: The elicitations a batch adds receipts to.
_TOUCHED: Final = """
CREATE OR REPLACE TEMP TABLE touched AS
SELECT DISTINCT elicitation_id FROM receipts
WHERE landed_at = $landed_at AND elicitation_id IS NOT NULL
"""
#: Those whose clock a gap between their first receipt and their last stops, or its healing
#: lets run again.
_TOUCHED_BY_GAPS: Final = """
INSERT INTO touched
SELECT DISTINCT elicitation_id
FROM elicitation_summaries AS summary
JOIN (SELECT unnest($streams) AS stream_id, unnest($sequences) AS sequence) AS gap
    ON summary.stream_id = gap.stream_id
    AND gap.sequence > summary.first_sequence AND gap.sequence <= summary.last_sequence
ANTI JOIN touched USING (elicitation_id)
"""
_FIRST_LANDED: Final = """
SELECT min(first_landed_at) FROM elicitation_summaries SEMI JOIN touched USING (elicitation_id)
"""
_REMOVE: Final = "DELETE FROM elicitation_summaries WHERE elicitation_id IN (FROM touched)"
#: All their receipts. DuckDB skips what landed before the first of them without a look at it.
_RECEIPTS: Final = """
CREATE OR REPLACE TEMP VIEW touched_receipts AS
SELECT receipts.* FROM receipts SEMI JOIN touched USING (elicitation_id)
WHERE landed_at >= getvariable('touched_since')::TIMESTAMP
"""
_INSERT: Final = "INSERT INTO elicitation_summaries FROM elicitations_of('touched_receipts')"


def keep_summaries(
    database: duckdb.DuckDBPyConnection, landed_at: datetime, gaps: Sequence[Place]
) -> None:
    """Derive anew the elicitations that a batch touches.

    ``landed_at``: when its receipts landed, as their rows say. ``gaps``: the places in
    ``breaks`` that it added or healed.
    """
    database.execute(_TOUCHED, {"landed_at": landed_at})
    if gaps:
        database.execute(
            _TOUCHED_BY_GAPS,
            {
                "streams": [UUID(bytes=place.stream_id) for place in gaps],
                "sequences": [place.sequence for place in gaps],
            },
        )
    [(first_landed,)] = database.execute(_FIRST_LANDED).fetchall()
    since = landed_at
    if first_landed is not None:  # some had landed before
        since = min(since, first_landed)
        database.execute(_REMOVE)
    database.execute("SET VARIABLE touched_since = $since", {"since": since})
    database.execute(_RECEIPTS)
    database.execute(_INSERT)
