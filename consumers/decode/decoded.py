"""What every rung gives for a batch of records: rows, the links of their chains, and rejects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

import duckdb

from elicitation_receipts.consumers.decode.record import Reject
from elicitation_receipts.consumers.rows import columns
from elicitation_receipts.consumers.source import Record
from elicitation_receipts.schemas.vocabulary import Carrier, DecidedBy, Event, Mode, Outcome

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  (the database's times are UTC without a zone)
_MICROSECOND: Final = timedelta(microseconds=1)


class Sighting(NamedTuple):
    """What telemetry says of a receipt; the fields are the receipt's own."""

    event: Event
    elicitation_id: UUID | None
    mode: Mode | None
    carrier: Carrier | None
    outcome: Outcome | None
    decided_by: DecidedBy | None
    since_previous_us: int | None
    occurred_at: int
    trace_id: bytes | None
    span_id: bytes | None

    @classmethod
    def of(cls, values: Sequence[Any]) -> Sighting:
        """From the values of its columns."""
        event, elicitation_id, mode, carrier, outcome, decided_by, since, at, *trace = values
        return cls(
            Event(event),
            UUID(bytes=elicitation_id) if isinstance(elicitation_id, bytes) else elicitation_id,
            Mode(mode) if mode else None,
            Carrier(carrier) if carrier else None,
            Outcome(outcome) if outcome else None,
            DecidedBy(decided_by) if decided_by else None,
            since,
            (at - _EPOCH) // _MICROSECOND,
            *trace,
        )


class Rows(Protocol):
    """Rows for the table ``receipts``. A place is a row's index, in the order of the records."""

    def insert(
        self,
        database: duckdb.DuckDBPyConnection,
        chosen: Sequence[int],
        source: str,
        landed_at: datetime,
    ) -> None:
        """Insert the rows at these places (ascending)."""

    def sightings(self, chosen: Sequence[int]) -> Iterator[Sighting]:
        """What telemetry says of them."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A batch of records. All lists but ``rejects`` have an entry a receipt, in their order.

    ``stream_ids`` 16 bytes each, ``previous_hashes`` and ``leaves`` 32.
    """

    records: Sequence[Record]
    stream_ids: Sequence[bytes]
    sequences: Sequence[int]
    previous_hashes: Sequence[bytes]
    leaves: Sequence[bytes]
    rows: Rows
    rejects: Sequence[Reject]


#: A rung. Raises :class:`SchemaError`, and nothing for what a record holds.
Decode = Callable[[Sequence[Record]], Decoded]


class ListedRows:
    """Rows as lists of the values that DuckDB's appender takes."""

    def __init__(self, rows: Sequence[Sequence[Any]]) -> None:
        self._rows = rows

    def insert(
        self,
        database: duckdb.DuckDBPyConnection,
        chosen: Sequence[int],
        source: str,
        landed_at: datetime,
    ) -> None:
        if chosen:
            with database.appender("receipts") as appender:
                appender.append_rows([[*self._rows[at], source, landed_at] for at in chosen])

    def sightings(self, chosen: Sequence[int]) -> Iterator[Sighting]:
        places = [columns().index(name) for name in Sighting._fields]
        for at in chosen:
            yield Sighting.of([self._rows[at][place] for place in places])


class JoinedRows:
    """Rows of two kinds; ``order``: for each place, which of the two and the place there."""

    def __init__(self, kinds: tuple[Rows, Rows], order: Sequence[tuple[int, int]]) -> None:
        self._kinds = kinds
        self._order = order

    def insert(
        self,
        database: duckdb.DuckDBPyConnection,
        chosen: Sequence[int],
        source: str,
        landed_at: datetime,
    ) -> None:
        for number, rows in enumerate(self._kinds):
            of_this = [
                place for kind, place in map(self._order.__getitem__, chosen) if kind == number
            ]
            rows.insert(database, of_this, source, landed_at)

    def sightings(self, chosen: Sequence[int]) -> Iterator[Sighting]:
        for kind, place in map(self._order.__getitem__, chosen):
            yield from self._kinds[kind].sightings([place])


def joined(records: Sequence[Record], first: Decoded, second: Decoded) -> Decoded:
    """Two parts of one batch as one, in the order of its ``records``."""
    parts = (first, second)
    at = {id(record): number for number, record in enumerate(records)}
    order = [
        (kind, place)
        for _, kind, place in sorted(
            (at[id(record)], kind, place)
            for kind, part in enumerate(parts)
            for place, record in enumerate(part.records)
        )
    ]
    return Decoded(
        records=[parts[kind].records[place] for kind, place in order],
        stream_ids=[parts[kind].stream_ids[place] for kind, place in order],
        sequences=[parts[kind].sequences[place] for kind, place in order],
        previous_hashes=[parts[kind].previous_hashes[place] for kind, place in order],
        leaves=[parts[kind].leaves[place] for kind, place in order],
        rows=JoinedRows((first.rows, second.rows), order),
        rejects=[*first.rejects, *second.rejects],
    )


class ExpectedKeys(dict[bytes, bytes]):
    """The key a record must have, by the bytes of its receipt's stream id: the id as text."""

    def __missing__(self, stream_id: bytes) -> bytes:
        key = self[stream_id] = str(UUID(bytes=stream_id)).encode()
        return key
