"""Landing: from a source into the warehouse, each receipt once, each transaction whole."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Final

from elicitation_receipts.consumers.batch import (
    Batch,
    Landed,
    PositionsMoved,
    land_batch,
    prepare,
    read_positions,
)
from elicitation_receipts.consumers.consumer_group import claim
from elicitation_receipts.consumers.metrics import Metrics
from elicitation_receipts.consumers.policy_documents import DocumentOf, add_documents
from elicitation_receipts.consumers.source import Positions, Record, Source
from elicitation_receipts.consumers.spans import Spans
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.errors import SourceError, WarehouseError
from elicitation_receipts.schemas.keys import Key

__all__ = ["Lander", "LandingSummary", "Progress", "Warehouse"]

#: Records in one transaction, at most.
BATCH: Final = 10_000

# While there is a backlog the database stays open, since opening and closing it for every
# batch costs four fifths of the speed. Whoever else waits for it has a turn after so much; where
# nobody does, that only tells Kafka how far we are.
_HOLD_SECONDS: Final = 2.0
_HOLD_BATCHES: Final = 20

#: A batch is too little for DuckDB to share among threads; with us it would contend. Of the blocks
#: it has read and written it would keep as many as fit into most of the machine's memory.
_FOR_LANDING: Final = "SET threads = 1; SET memory_limit = '512MB'"
_SWITCH_INTERVAL: Final = 0.0002  # seconds; Python's own is 0.005
_WAIT_FOR_RECORDS: Final = 0.5
_WAIT_FOR_MORE: Final = 0.05  # while the database is held
_PAUSE_AFTER_ERROR: Final = 1.0
#: Errors that pass: who follows waits until they have.
_PASSING: Final = frozenset({"broker_unavailable", "warehouse_busy"})


@dataclass(frozen=True, slots=True)
class LandingSummary:
    """What a landing did. ``breaks``: gaps and broken links found, whether healed since or not."""

    landed: int = 0
    duplicates: int = 0
    rejected: int = 0
    breaks: int = 0

    def __add__(self, other: LandingSummary) -> LandingSummary:
        return LandingSummary(
            self.landed + other.landed,
            self.duplicates + other.duplicates,
            self.rejected + other.rejected,
            self.breaks + other.breaks,
        )


#: Is told after every transaction what was done so far, and how many records remain.
Progress = Callable[[LandingSummary, int], None]


class Lander:
    """Lands one source in one warehouse.

    Rows and the source's position commit in one transaction, so whatever happens, the
    warehouse holds exactly what lies before its positions. Any number of landers may run at
    once; on one warehouse they take turns.

    ``key``: the lander's own key, under which rejected messages are digested.
    ``metrics``: where what landed is counted, receipt by receipt; without it, nowhere.
    ``document_of``: where the policies that receipts name are kept; without it, nowhere.
    ``spans``: what tells of it in traces; without it, nothing does.
    """

    def __init__(
        self,
        warehouse: Warehouse,
        source: Source,
        key: Key,
        metrics: Metrics | None = None,
        document_of: DocumentOf | None = None,
        spans: Spans | None = None,
    ) -> None:
        self._warehouse = warehouse
        self._source = source
        self._key = key
        self._metrics = metrics
        self._document_of = document_of
        self._spans = spans
        self._summary = LandingSummary()

    def land(
        self,
        *,
        follow: bool = False,
        stop: Event | None = None,
        progress: Progress | None = None,
        turn: Callable[[], None] = lambda: None,
    ) -> LandingSummary:
        """Land all there is; with ``follow`` also all that comes, until ``stop`` is set.

        ``turn`` is called at every turn of the loop, some times a second.

        Who follows waits for a broker that is down and a warehouse that is busy. Raises
        :class:`SourceError` and :class:`WarehouseError`; what was committed before stays.
        """
        stop = stop or Event()
        self._summary = LandingSummary()
        positions: Positions | None = None
        while not stop.is_set():
            turn()
            try:
                if positions is None:
                    source = self._source.name  # first: where there is none, nothing is claimed
                    with self._warehouse.open() as database:
                        claim(database, self._source.group)
                        positions = read_positions(database, source)
                if not follow and self._report(positions, progress) == 0:
                    break
                records = self._source.fetch(positions, BATCH, _WAIT_FOR_RECORDS)
                if records:
                    positions = self._land_backlog(positions, records, stop, progress, turn)
                    self._source.commit(positions)
            except (SourceError, WarehouseError) as error:
                if error.reason == "topic_replaced":
                    positions = None  # of the topic that was
                    continue
                if not follow or error.reason not in _PASSING:
                    raise
                stop.wait(_PAUSE_AFTER_ERROR)
        return self._summary

    def _land_backlog(
        self,
        positions: Positions,
        records: list[Record],
        stop: Event,
        progress: Progress | None,
        turn: Callable[[], None],
    ) -> Positions:
        """Land ``records``, which lie at ``positions``, and what follows; where to read on then.

        One thread writes: DuckDB needs no interpreter for it, so that meanwhile the next batch
        is fetched and decoded.
        """
        batch: Batch | None = prepare(records)
        with (
            self._warehouse.open() as database,
            ThreadPoolExecutor(1, "landing") as writer,
            _two_threads(),
        ):
            database.execute(_FOR_LANDING)
            hold = _Hold()
            try:
                while batch is not None:
                    writing = writer.submit(
                        land_batch, database, self._source, self._key, positions, batch
                    )
                    reached = {**positions, **batch.reached}
                    is_over = hold.is_over()
                    is_last = stop.is_set() or (is_over and self._warehouse.is_awaited())
                    try:
                        self._report(reached, progress, len(batch.decoded.records))
                        batch = None if is_last else self._next_batch(reached)
                    except SourceError:
                        self._count(writing.result())
                        raise
                    landed = writing.result()
                    self._count(landed)
                    positions = landed.positions
                    turn()
                    if is_over and not is_last:
                        hold = _Hold()
                        self._source.commit(positions)
            except PositionsMoved as moved:
                return moved.positions
            if self._document_of is not None:
                add_documents(database, self._document_of)
        return positions

    def _next_batch(self, positions: Positions) -> Batch | None:
        records = self._source.fetch(positions, BATCH, _WAIT_FOR_MORE)
        return prepare(records) if records else None

    def _count(self, landed: Landed) -> None:
        self._summary += LandingSummary(
            len(landed.fresh), landed.duplicates, len(landed.rejects), landed.breaks
        )
        observers: list[Metrics | Spans] = [
            each for each in (self._metrics, self._spans) if each is not None
        ]
        for sighting in landed.sightings() if observers else ():
            for observer in observers:
                observer.landed(sighting)
        if self._metrics is not None:
            for reject in landed.rejects:
                self._metrics.rejected(reject.reason)

    def _report(self, positions: Positions, progress: Progress | None, in_hand: int = 0) -> int:
        """Say how far we are; how many records remain: ``in_hand``, and those from there on."""
        remaining = in_hand + self._source.lag(positions)
        if self._metrics is not None:
            self._metrics.lag(remaining)
        if progress is not None:
            progress(self._summary, remaining)
        return remaining


class _Hold:
    """How long the database is kept from others."""

    def __init__(self) -> None:
        self._until = time.monotonic() + _HOLD_SECONDS
        self._batches = 0

    def is_over(self) -> bool:
        """To be asked once a batch."""
        self._batches += 1
        return self._batches == _HOLD_BATCHES or time.monotonic() > self._until


@contextmanager
def _two_threads() -> Iterator[None]:
    """Set the interpreter up for one that reads and one that writes.

    The writer is in DuckDB for a few milliseconds at a time, and would then wait as long again
    for the interpreter. Cyclic garbage is left until the end: of a batch there is none.
    """
    was_enabled, interval = gc.isenabled(), sys.getswitchinterval()
    gc.disable()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if was_enabled:
            gc.enable()
