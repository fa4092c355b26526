"""Where receipts are read from. A lander sees only a `Source`: the spool itself, or Kafka."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from elicitation_receipts.schemas.spool import Spool

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

    def commit(self, positions: Positions) -> None:
        """Hear that everything before ``positions`` has landed: a hint, which may get lost."""

    def lag(self, positions: Positions) -> int:
        """How many records lie at ``positions`` and after; 0: all were fetched."""


class SpoolSource:
    """The spool read directly: one partition, whose offsets are the spool's positions.

    A spool that ends before our position was put back from an older copy. It is read anew
    from its start: what landed before is known again, what it wrote since is not missed.
    """

    topic = None
    group = None

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self.name = f"spool:{spool.id}"

    def fetch(self, positions: Positions, limit: int, timeout: float) -> list[Record]:
        deadline = time.monotonic() + timeout
        while True:
            stored = self._spool.read(self._landed(positions), limit)
            if stored or time.monotonic() >= deadline:
                return [
                    Record(0, one.position, str(one.stream_id).encode(), one.message)
                    for one in stored
                ]
            time.sleep(_PAUSE)

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
