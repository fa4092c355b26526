"""Retrying rejects: read again where they lie, and landed where they can be by now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from threading import Event
from typing import Final

import duckdb

from elicitation_receipts.consumers.batch import forget_rejects, prepare, transaction, write_batch
from elicitation_receipts.consumers.consumer_group import claim
from elicitation_receipts.consumers.source import Source
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.keys import Key

#: Rejects in one transaction, at most: their messages may be large.
_TOGETHER: Final = 500


@dataclass(slots=True)
class RetrySummary:
    """What became of the rejects.

    ``landed``      theirs are rows now, or had been already; the rejects are gone
    ``rejected``    rejected again; their rows say why today
    ``expired``     not in the source any more; their rows stay
    ``elsewhere``   of another source (a topic made anew, another spool), where nobody looked
    """

    landed: int = 0
    rejected: int = 0
    expired: int = 0
    elsewhere: int = 0


def retry_rejects(
    warehouse: Warehouse,
    source: Source,
    key: Key,
    *,
    stop: Event | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RetrySummary:
    """Judge every reject of a source anew, until ``stop``; ``progress``: how many done, and left.

    How far the source was read stays as it is. A retry that is interrupted may be run again.
    Raises :class:`SourceError` and :class:`WarehouseError`; what was committed before stays.
    """
    summary = RetrySummary()
    name = source.name  # first: where there is no source, nothing is claimed
    with warehouse.open() as database:
        claim(database, source.group)
        places = _places(database, name)
        [(summary.elsewhere,)] = database.execute(
            "SELECT count(*) FROM rejects WHERE source <> ?", [name]
        ).fetchall()
    done = 0
    for partition, offsets in _chunks(places):
        if stop is not None and stop.is_set():
            break
        records = source.find(partition, offsets)
        summary.expired += len(offsets) - len(records)
        if records:
            with warehouse.open() as database, transaction(database):
                forget_rejects(database, source.name, records)
                landed = write_batch(database, source, key, prepare(records), {})
            summary.rejected += len(landed.rejects)
            summary.landed += len(records) - len(landed.rejects)
        done += len(offsets)
        if progress is not None:
            progress(done, len(places) - done)
    return summary


def _places(database: duckdb.DuckDBPyConnection, source: str) -> list[tuple[int, int]]:
    return database.execute(
        "SELECT DISTINCT partition, kafka_offset FROM rejects WHERE source = ? ORDER BY ALL",
        [source],
    ).fetchall()


def _chunks(places: list[tuple[int, int]]) -> Iterator[tuple[int, list[int]]]:
    for partition, of_it in groupby(places, key=itemgetter(0)):
        while offsets := [offset for _, offset in islice(of_it, _TOGETHER)]:
            yield partition, offsets
