"""Segments: a stream cut into days, each sealed, and what a segment still holds.

A segment is a contiguous range of one stream. It begins where the one before ended and
ends where a UTC day ends, so that what is old can go without what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from elicitation_receipts.evidence.ages import Ages
from elicitation_receipts.evidence.seal import Seal
from elicitation_receipts.evidence.tree import node_hash, subtrees

_DAY_US: Final = 86_400 * 1_000_000


class Kept(NamedTuple):
    """A receipt in a store, as retention sees it. ``leaf``: made anew from what stands there."""

    sequence: int
    leaf: bytes
    occurred_at: int
    retention_class: str | None


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a segment a store has, and of each retention class the newest time in it.

    ``was_dropped``: it had the segment and dropped it.
    """

    count: int
    newest: Mapping[str | None, int]
    was_dropped: bool = False

    def expires_at(self, ages: Ages) -> int | None:
        """When the receipt that is kept longest may go; None: never."""
        ends = [ages.expires_at(class_, newest) for class_, newest in self.newest.items()]
        known = [end for end in ends if end is not None]
        return max(known) if known and len(known) == len(ends) else None


class Store(Protocol):
    """Where receipts stand: the spool, the warehouse."""

    def tenants(self) -> dict[UUID, str]:
        """Every stream it has receipts of, with its tenant, in the order of opening."""

    def receipts(self, stream_id: UUID, first: int, last: int | None = None) -> Iterator[Kept]:
        """Those of a stream from ``first`` to ``last`` (None: its end), in order."""

    def extent(self, seal: Seal) -> Extent:
        """What it has of a segment, by what stands in its rows."""


def seal_days(
    stream_id: UUID, before: Seal | None, receipts: Iterable[Kept], until: int, now: datetime
) -> Iterator[Seal]:
    """Seal what comes behind the seal ``before``, day by day, where the day ended by ``until``.

    ``receipts``: of the stream, from there on; ``until``: UTC microseconds. What comes from the
    first receipt on that is later than ``until``, or behind a gap, is not sealed yet.
    """
    day: list[Kept] = []
    for receipt in receipts:
        follows = day[-1].sequence + 1 if day else (before.last + 1 if before else 0)
        if receipt.sequence != follows or receipt.occurred_at >= until:
            break
        if day and receipt.occurred_at // _DAY_US > day[-1].occurred_at // _DAY_US:
            yield (before := _seal(stream_id, before, day, now))
            day = []
        # A clock may be set back: no receipt is of an earlier day than one before it.
        latest = max(receipt.occurred_at, day[-1].occurred_at) if day else receipt.occurred_at
        day.append(receipt._replace(occurred_at=latest))
    if day and (day[-1].occurred_at // _DAY_US + 1) * _DAY_US <= until:
        yield _seal(stream_id, before, day, now)


def _seal(stream_id: UUID, before: Seal | None, day: Sequence[Kept], now: datetime) -> Seal:
    first, last = day[0].sequence, day[-1].sequence
    return Seal(
        stream_id=stream_id,
        first=first,
        last=last,
        last_leaf=day[-1].leaf,
        nodes=tuple(subtrees(first, last + 1, (one.leaf for one in day))),
        previous=before.digest if before else None,
        time=now,
    )


def is_what_was_sealed(store: Store, seal: Seal) -> bool:
    """Whether a store has the receipts of a segment, all of them and unchanged."""
    there = list(store.receipts(seal.stream_id, seal.first, seal.last))
    if [one.sequence for one in there] != list(range(seal.first, seal.last + 1)):
        return False
    nodes = subtrees(seal.first, seal.last + 1, (one.leaf for one in there))
    return nodes == list(seal.nodes) and there[-1].leaf == seal.last_leaf


def root_of(seal: Seal) -> bytes:
    """The Merkle root over a segment's subtrees, 32 bytes; at a stream's start that of RFC 9162."""
    *rest, last = (node.hash for node in seal.nodes)
    for hash_ in reversed(rest):
        last = node_hash(hash_, last)
    return last
