"""One batch of records: decoded, fitted into the chains, and committed as one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import duckdb

from elicitation_receipts.consumers.chains import fit, write_chains
from elicitation_receipts.consumers.decode import Decode, Decoded, best_rung
from elicitation_receipts.consumers.decode.decoded import Sighting
from elicitation_receipts.consumers.decode.record import Reject
from elicitation_receipts.consumers.rows import now
from elicitation_receipts.consumers.source import Positions, Record, Source
from elicitation_receipts.consumers.summaries import keep_summaries
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.vocabulary import Event

_REJECT: Final = b"elicitation-receipts/reject/v1"


@dataclass(frozen=True, slots=True)
class Batch:
    """Records ready to land. ``reached``: the next offset of each partition they come from."""

    decoded: Decoded
    reached: Positions


@dataclass(frozen=True, slots=True)
class Landed:
    """What a committed batch did: receipts landed, seen before, rejected, and breaks found."""

    batch: Batch
    fresh: Sequence[int]
    duplicates: int
    rejects: Sequence[Reject]
    breaks: int
    positions: Positions

    def sightings(self) -> Iterator[Sighting]:
        """What telemetry says of the receipts that landed, in their order."""
        return self.batch.decoded.rows.sightings(self.fresh)


class PositionsMoved(Exception):  # noqa: N818  (no failure: another lander was faster)
    """The source has been landed beyond where this batch begins; ``positions``: to where."""

    def __init__(self, positions: Positions) -> None:
        super().__init__("another lander was faster")
        self.positions = positions


def prepare(records: Sequence[Record], decode: Decode | None = None) -> Batch:
    """All of a batch that needs no database. Raises :class:`SchemaError`."""
    reached = {record.partition: record.offset + 1 for record in records}
    return Batch((decode or best_rung())(records), reached)


def land_batch(
    database: duckdb.DuckDBPyConnection,
    source: Source,
    key: Key,
    positions: Positions,
    batch: Batch,
) -> Landed:
    """Land a batch whose records were read from ``positions``; all of it, or nothing.

    Raises :class:`PositionsMoved` and ``duckdb.Error``.
    """
    after = {**positions, **batch.reached}
    with transaction(database):
        stored = read_positions(database, source.name)
        if stored != positions:
            raise PositionsMoved(stored)
        landed = write_batch(database, source, key, batch, after)
        _write_positions(database, source.name, after)
    return landed


def write_batch(
    database: duckdb.DuckDBPyConnection,
    source: Source,
    key: Key,
    batch: Batch,
    positions: Positions,
) -> Landed:
    """Write a batch but for the positions, within a transaction. Raises ``duckdb.Error``."""
    decoded, landed_at = batch.decoded, now()
    fitted = fit(database, decoded)
    rejects = [
        *decoded.rejects,
        *(Reject(decoded.records[at], "stream_fork") for at in fitted.forks),
    ]
    write_chains(database, fitted)
    if fitted.fresh:
        decoded.rows.insert(database, fitted.fresh, source.name, landed_at)
        keep_summaries(database, landed_at, fitted.gaps)
        _insert_policies(database, landed_at)
    forget_rejects(database, source.name, [reject.record for reject in rejects])
    _insert_rejects(database, source, key, rejects)
    return Landed(batch, fitted.fresh, fitted.duplicates, rejects, len(fitted.breaks), positions)


def read_positions(database: duckdb.DuckDBPyConnection, source: str) -> dict[int, int]:
    """How far a source has landed: the next offset of each partition."""
    rows = database.execute(
        "SELECT partition, next_offset FROM positions WHERE source = ?", [source]
    ).fetchall()
    return dict(rows)


@contextmanager
def transaction(database: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All of the block, or nothing."""
    database.begin()
    try:
        yield
        database.commit()
    except BaseException:
        with suppress(duckdb.Error):  # the first error is the one to hear of
            database.rollback()
        raise


def forget_rejects(
    database: duckdb.DuckDBPyConnection, source: str, records: Iterable[Record]
) -> None:
    """Remove the rows of records that were rejected before and are judged anew: one has one row."""
    places = [(record.partition, record.offset) for record in records]
    if places:
        partitions, offsets = zip(*places, strict=True)
        database.execute(
            "DELETE FROM rejects USING"
            " (SELECT unnest($partitions) AS partition, unnest($offsets) AS kafka_offset) AS anew"
            " WHERE rejects.source = $source AND rejects.partition = anew.partition"
            " AND rejects.kafka_offset = anew.kafka_offset",
            {"source": source, "partitions": list(partitions), "offsets": list(offsets)},
        )


def _insert_rejects(
    database: duckdb.DuckDBPyConnection, source: Source, key: Key, rejects: Sequence[Reject]
) -> None:
    rejected_at = now()
    rows = []
    for reject in rejects:
        record, value = reject.record, reject.record.value
        rows.append(
            [
                source.name,
                source.topic,
                record.partition,
                record.offset,
                0 if value is None else len(value),
                reject.reason,
                None if value is None else key.mac(_REJECT, value),
                None if value is None else key.id,
                rejected_at,
            ]
        )
    if rows:
        with database.appender("rejects") as appender:
            appender.append_rows(rows)


def _insert_policies(database: duckdb.DuckDBPyConnection, landed_at: datetime) -> None:
    """Keep ``policies`` up with the receipts that landed just now."""
    database.execute(
        "INSERT INTO policies (policy_digest, policy_id, policy_version, first_seen)"
        " SELECT policy_digest, arg_min(policy_id, occurred_at),"
        " arg_min(policy_version, occurred_at), min(occurred_at)"
        " FROM receipts WHERE landed_at = $landed_at AND event = $loaded"
        " AND policy_digest IS NOT NULL GROUP BY policy_digest"
        " ON CONFLICT DO UPDATE SET first_seen = least(first_seen, excluded.first_seen)",
        {"landed_at": landed_at, "loaded": str(Event.POLICY_LOADED)},
    )


def _write_positions(
    database: duckdb.DuckDBPyConnection, source: str, positions: Positions
) -> None:
    updated_at = now()
    for partition, next_offset in positions.items():
        database.execute(
            "INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?)",
            [source, partition, next_offset, updated_at],
        )
