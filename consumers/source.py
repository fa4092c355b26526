"""Where receipts are read from. A lander sees only a `Source`: the spool itself, or Kafka."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from elicitation_receipts.schemas.errors import SourceError
from elicitation_receipts.schemas.spool import Spool, Stored

#: The next offset to read, by partition. A partition that is not in it is read from its start.
Positions = Mapping[int, int]

_PAUSE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Record:
    """One message where it lies. ``value`` None: a tombstone, no message at all."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class Source(Protocol):
    """Messages in partitions, each in order, with an offset that never names another message."""

    @property
    def name(self) -> str:
        """Names this very source among all: positions and rejects are kept under it."""

    @property
    def topic(self) -> str | None:
        """The Kafka topic, where there is one."""

    @property
    def group(self) -> str | None:
        """The consumer group its landers are of, where there is one."""

    def fetch(self, positions: Positions, limit: int, timeout: float) -> list[Record]:
        """At most ``limit`` records from ``positions`` on, in order within a partition.

        Waits up to ``timeout`` seconds for a first one; [] if none came.
        Raises :class:`SourceError`.
        """

    def find(self, partition: int, offsets: Sequence[int]) -> list[Record]:
        """Those of the records at ``offsets`` (ascending) that are still there.

        Raises :class:`SourceError`.
        """

    def commit(self, positions: Positions) -> None:
        """Hear that everything before ``positions`` has landed: a hint, which may get lost."""

    def lag(self, positions: Positions) -> int:
        """How many records lie at ``positions`` and after; 0: all were fetched."""


class SpoolSource:
    """The spool read directly: one partition, whose offsets are the spool's positions.

    A spool that ends before our position was put back from an older copy. It is read anew
    from its start: what landed before is known again, what it wrote since is not missed.
    One that begins behind our position was trimmed: ``source_expired``.
    """

    topic = None
    group = None

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self.name = f"spool:{spool.id}"

    def fetch(self, positions: Positions, limit: int, timeout: float) -> list[Record]:
        deadline = time.monotonic() + timeout
        while True:
            landed = self._landed(positions)
            stored = self._spool.read(landed, limit)
            if landed and stored and stored[0].position > landed + 1:
                raise SourceError(
                    "source_expired",
                    f"{self._spool.path} begins at {stored[0].position} and landing stopped behind "
                    f"{landed}: what lay between was removed once Kafka had it. Land from Kafka; "
                    "to go on with what is here, delete this source's row in the table positions",
                )
            if stored or time.monotonic() >= deadline:
                return list(map(_record, stored))
            time.sleep(_PAUSE)

    def find(self, partition: int, offsets: Sequence[int]) -> list[Record]:
        return [
            record
            for offset in offsets
            for record in map(_record, self._spool.read(offset - 1, 1))
            if (record.partition, record.offset) == (partition, offset)
        ]

    def commit(self, positions: Positions) -> None:
        """Nothing to do: the spool keeps no reader's position."""

    def lag(self, positions: Positions) -> int:
        return self._last() - self._landed(positions)

    def _landed(self, positions: Positions) -> int:
        """The position up to which all has landed; 0: nothing."""
        landed = positions.get(0, 1) - 1
        return landed if landed <= self._last() else 0

    def _last(self) -> int:
        # Positions run from 1, sequences from 0 in each stream, both without gaps.
        return sum(stream.next_sequence for stream in self._spool.streams())


def _record(stored: Stored) -> Record:
    return Record(0, stored.position, str(stored.stream_id).encode(), stored.message)
