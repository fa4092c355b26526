"""Segments: days that are over, each receipt in one, and a root that goes on across them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.evidence.ages import Ages
from elicitation_receipts.evidence.seal import Seal
from elicitation_receipts.evidence.segments import (
    Extent,
    Kept,
    is_what_was_sealed,
    root_of,
    seal_days,
)
from elicitation_receipts.evidence.tree import Frontier

STREAM = UUID(int=5)
DAY = 86_400 * 1_000_000
NOW = datetime(2026, 11, 30, tzinfo=UTC)


class Listed:
    """A store of one stream."""

    def __init__(self, kept: list[Kept]) -> None:
        self.kept = kept

    def tenants(self) -> dict[UUID, str]:
        return {STREAM: "default"}

    def receipts(self, stream_id: UUID, first: int, last: int | None = None) -> Iterator[Kept]:
        end = len(self.kept) if last is None else last
        return (one for one in self.kept if first <= one.sequence <= end)

    def extent(self, seal: Seal) -> Extent:
        raise NotImplementedError


def stream(*days: float, first: int = 0) -> list[Kept]:
    """A receipt a time, given in days."""
    return [
        Kept(first + at, sha256(bytes([at])).digest(), int(day * DAY), None)
        for at, day in enumerate(days)
    ]


def ranges(seals: list[Seal]) -> list[tuple[int, int]]:
    return [(seal.first, seal.last) for seal in seals]


def test_a_day_is_a_segment_once_it_is_over() -> None:
    kept = stream(1.1, 1.9, 2.0, 3.5, 3.6)
    assert ranges(list(seal_days(STREAM, None, kept, 3 * DAY, NOW))) == [(0, 1), (2, 2)]
    assert ranges(list(seal_days(STREAM, None, kept, 4 * DAY, NOW))) == [(0, 1), (2, 2), (3, 4)]
    assert ranges(list(seal_days(STREAM, None, kept, DAY, NOW))) == []


def test_sealing_goes_on_behind_the_last_seal() -> None:
    kept = stream(1.1, 1.9, 2.0, 3.5)
    first, *_ = seal_days(STREAM, None, kept, 2 * DAY, NOW)
    rest = list(seal_days(STREAM, first, kept[2:], 4 * DAY, NOW))
    assert ranges(rest) == [(2, 2), (3, 3)]
    assert [seal.previous for seal in rest] == [first.digest, rest[0].digest]
    assert list(seal_days(STREAM, first, kept[3:], 4 * DAY, NOW)) == [], "there is a gap"


def test_a_clock_that_is_set_back_begins_no_day() -> None:
    assert ranges(list(seal_days(STREAM, None, stream(2.5, 1.5, 2.6, 3.1), 4 * DAY, NOW))) == [
        (0, 2),
        (3, 3),
    ]


@given(st.lists(st.floats(0, 5), min_size=1, max_size=40), st.integers(0, 6))
def test_seals_cover_what_they_seal_without_gap_and_give_the_streams_root(
    days: list[float], until: int
) -> None:
    kept = stream(*days)
    seals = list(seal_days(STREAM, None, kept, until * DAY, NOW))
    assert [seal.first for seal in seals] == [0, *(seal.last + 1 for seal in seals)][: len(seals)]
    grown, rebuilt = Frontier(), Frontier()
    for seal in seals:
        assert Seal.parse(seal.text) == seal
        assert is_what_was_sealed(Listed(kept), seal)
        for one in kept[seal.first : seal.last + 1]:
            grown.append(one.leaf)
        for node in seal.nodes:
            rebuilt.add(node)
        assert grown.root() == rebuilt.root()
    if seals:
        assert (
            root_of(seals[0]) == Frontier(seals[0].count, [n.hash for n in seals[0].nodes]).root()
        )
    if until == 6:
        assert seals[-1].last == len(kept) - 1


@given(st.integers(0, 9), st.booleans())
def test_a_segment_that_was_changed_is_not_what_was_sealed(at: int, remove: bool) -> None:
    kept = stream(*[1.0] * 10)
    [seal] = seal_days(STREAM, None, kept, 2 * DAY, NOW)
    if remove:
        del kept[at]
    else:
        kept[at] = kept[at]._replace(leaf=bytes(32))
    assert not is_what_was_sealed(Listed(kept), seal)


def test_the_longest_kept_receipt_keeps_its_segment() -> None:
    extent = Extent(3, {None: 5 * DAY, "tax": DAY})
    assert extent.expires_at(Ages.parse("default=1d tax=10d")) == 11 * DAY
    assert extent.expires_at(Ages.parse("default=1d tax=never")) is None
    assert extent.expires_at(Ages.parse("")) is None
