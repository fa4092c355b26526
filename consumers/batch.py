"""One batch of records: decoded, fitted into the chains, and committed as one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID

import duckdb

from elicitation_receipts.consumers.decode import Arrival, Reject, decode_record
from elicitation_receipts.consumers.rows import now, row_from_receipt
from elicitation_receipts.consumers.source import Positions, Record, Source
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.receipt import ZERO_HASH, Receipt
from elicitation_receipts.schemas.vocabulary import Event

_REJECT: Final = b"elicitation-receipts/reject/v1"


class Place(NamedTuple):
    """Where a receipt stands: in which stream, as which."""

    stream_id: UUID
    sequence: int

    @property
    def before(self) -> Place:
        return Place(self.stream_id, self.sequence - 1)

    @property
    def behind(self) -> Place:
        return Place(self.stream_id, self.sequence + 1)


class Link(NamedTuple):
    """What a receipt gives to its chain: its own leaf hash, and the one it names as before it."""

    leaf: bytes
    previous: bytes


class Break(NamedTuple):
    """A row of ``breaks``, as its table says."""

    place: Place
    kind: str
    expected: bytes | None
    found: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """What a committed batch did: receipts landed, seen before, rejected, and breaks found."""

    landed: Sequence[Receipt]
    duplicates: int
    rejects: Sequence[Reject]
    breaks: int
    positions: Positions


class PositionsMoved(Exception):  # noqa: N818  (no failure: another lander was faster)
    """The source has been landed beyond where this batch begins; ``positions``: to where."""

    def __init__(self, positions: Positions) -> None:
        super().__init__("another lander was faster")
        self.positions = positions


def land_batch(
    database: duckdb.DuckDBPyConnection,
    source: Source,
    key: Key,
    positions: Positions,
    records: Iterable[Record],
) -> Batch:
    """Land ``records``, which were read from ``positions``; all of it, or nothing.

    Raises :class:`PositionsMoved` and ``duckdb.Error``.
    """
    arrivals: list[Arrival] = []
    rejects: list[Reject] = []
    fresh: list[Arrival] = []
    duplicates = 0
    after = dict(positions)
    for record in records:
        after[record.partition] = record.offset + 1
        decoded = decode_record(record)
        if isinstance(decoded, Arrival):
            arrivals.append(decoded)
        else:
            rejects.append(decoded)

    with _transaction(database):
        stored = read_positions(database, source.name)
        if stored != positions:
            raise PositionsMoved(stored)
        there = _links_around(database, arrivals)
        links = dict(there)
        for arrival in arrivals:
            place, link = _place(arrival), _link(arrival)
            landed = links.setdefault(place, link)
            if landed is link:
                fresh.append(arrival)
            elif landed.leaf == link.leaf:
                duplicates += 1
            else:
                rejects.append(Reject(arrival.record, "stream_fork"))
        breaks = list(_breaks(fresh, there, links))
        _insert_receipts(database, source, fresh)
        _insert_rejects(database, source, key, rejects)
        _insert_breaks(database, breaks)
        _heal_gaps(database, [_place(arrival).behind for arrival in fresh], there)
        _insert_policies(database, fresh)
        _write_positions(database, source.name, after)

    return Batch(
        landed=[arrival.receipt for arrival in fresh],
        duplicates=duplicates,
        rejects=rejects,
        breaks=len(breaks),
        positions=after,
    )


def read_positions(database: duckdb.DuckDBPyConnection, source: str) -> dict[int, int]:
    """How far a source has landed: the next offset of each partition."""
    rows = database.execute(
        "SELECT partition, next_offset FROM positions WHERE source = ?", [source]
    ).fetchall()
    return dict(rows)


@contextmanager
def _transaction(database: duckdb.DuckDBPyConnection) -> Iterator[None]:
    database.begin()
    try:
        yield
        database.commit()
    except BaseException:
        with suppress(duckdb.Error):  # the first error is the one to hear of
            database.rollback()
        raise


def _place(arrival: Arrival) -> Place:
    return Place(arrival.receipt.stream_id, arrival.receipt.sequence)


def _link(arrival: Arrival) -> Link:
    return Link(arrival.leaf, arrival.receipt.previous_hash)


def _links_around(
    database: duckdb.DuckDBPyConnection, arrivals: Iterable[Arrival]
) -> dict[Place, Link]:
    """What has landed before at the arrivals' places, and next to them."""
    asked: set[Place] = set()
    for arrival in arrivals:
        place = _place(arrival)
        asked |= {place.before, place, place.behind}
    if not asked:
        return {}
    streams, sequences = zip(*asked, strict=True)
    rows = database.execute(
        "SELECT stream_id, sequence, leaf_hash, previous_hash FROM receipts"
        " SEMI JOIN (SELECT unnest($streams) AS stream_id, unnest($sequences) AS sequence)"
        " USING (stream_id, sequence)",
        {"streams": list(streams), "sequences": list(sequences)},
    ).fetchall()
    return {Place(row[0], row[1]): Link(row[2], row[3]) for row in rows}


def _breaks(
    fresh: Iterable[Arrival], there: Mapping[Place, Link], links: Mapping[Place, Link]
) -> Iterator[Break]:
    """Where the chains do not hold, now that ``fresh`` receipts are in them.

    ``there``: what had landed before; ``links``: that and the fresh ones.
    """
    for arrival in fresh:
        place, link = _place(arrival), _link(arrival)
        if place.sequence == 0:
            if link.previous != ZERO_HASH:
                yield Break(place, "broken_link", ZERO_HASH, link.previous)
        elif place.before not in links:
            yield Break(place, "gap", None, link.previous)
        elif links[place.before].leaf != link.previous:
            yield Break(place, "broken_link", links[place.before].leaf, link.previous)
        # One that landed before its predecessor was checked against nothing until now.
        if place.behind in there and there[place.behind].previous != link.leaf:
            yield Break(place.behind, "broken_link", link.leaf, there[place.behind].previous)


def _insert_receipts(
    database: duckdb.DuckDBPyConnection, source: Source, fresh: Iterable[Arrival]
) -> None:
    landed_at = now()
    _append(
        database,
        "receipts",
        [
            [
                *row_from_receipt(arrival.receipt),
                arrival.leaf,
                arrival.fingerprint,
                source.name,
                landed_at,
            ]
            for arrival in fresh
        ],
    )


def _insert_rejects(
    database: duckdb.DuckDBPyConnection, source: Source, key: Key, rejects: Iterable[Reject]
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
    _append(database, "rejects", rows)


def _insert_breaks(database: duckdb.DuckDBPyConnection, breaks: Iterable[Break]) -> None:
    detected_at = now()
    _append(
        database,
        "breaks",
        [
            [*found.place, found.kind, found.expected, found.found, detected_at, None]
            for found in breaks
        ],
    )


def _heal_gaps(
    database: duckdb.DuckDBPyConnection, behind: Iterable[Place], there: Mapping[Place, Link]
) -> None:
    """Those that had landed without the receipt before them have it now."""
    healed = [place for place in behind if place in there]
    if healed:
        streams, sequences = zip(*healed, strict=True)
        database.execute(
            "UPDATE breaks SET healed_at = $now"
            " FROM (SELECT unnest($streams) AS stream_id, unnest($sequences) AS sequence) AS healed"
            " WHERE breaks.kind = 'gap' AND breaks.stream_id = healed.stream_id"
            " AND breaks.sequence = healed.sequence",
            {"now": now(), "streams": list(streams), "sequences": list(sequences)},
        )


def _insert_policies(database: duckdb.DuckDBPyConnection, fresh: Iterable[Arrival]) -> None:
    for arrival in fresh:
        receipt = arrival.receipt
        if receipt.event is Event.POLICY_LOADED and receipt.policy_digest is not None:
            database.execute(
                "INSERT INTO policies VALUES (?, ?, ?, make_timestamp(?))"
                " ON CONFLICT DO UPDATE SET first_seen = least(first_seen, excluded.first_seen)",
                [
                    receipt.policy_digest,
                    receipt.policy_id,
                    receipt.policy_version,
                    receipt.occurred_at,
                ],
            )


def _write_positions(
    database: duckdb.DuckDBPyConnection, source: str, positions: Positions
) -> None:
    for partition, next_offset in positions.items():
        database.execute(
            "INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?)",
            [source, partition, next_offset, now()],
        )


def _append(database: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[Any]]) -> None:
    if rows:
        with database.appender(table) as appender:
            appender.append_rows(rows)
