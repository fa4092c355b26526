"""Suppression: what a report may say outside the house, so that nobody can be counted out of it.

**What is protected.** Elicitations of a group that ended alike stand in one *cell* (``picked.sql``:
state, who brought it about, whether it was put). A cell of fewer than ``k`` is *small*. Every
figure of a report is a sum over elicitations, so it counts a cell or it does not.

**The rule.** A small cell hides every figure it is counted in:

=========================================  ==================================================
a figure that                              is shown as
=========================================  ==================================================
counts nothing                             ``0``
is itself under ``k``                      ``<k``
counts no small cell                       the number
counts small cells and others              the range anyone can work out: ``1990-2008``
is a sum whose shown part is under ``k``   ``withheld``
=========================================  ==================================================

**Why it holds.** Take a small cell and put as many elicitations like its own into it as there may
be, from 1 to ``k`` - 1. Every figure that changes is hidden, and what stands for it does not
change, since a range is made of the shown part and of how *many* small cells there are, not of how
small they are. So all of 1 to ``k`` - 1 agree with everything published, however the reports are
put together. Nothing can be taken from a total to find it: the total is not there.

What rows a table has can tell as well. A group under ``k`` is left out. Where a table has a row
for each of some names (origins, policies, fields) the rows are parts of totals that other reports
show: rows under ``k`` are pooled into one, which takes in the next smallest until it has ``k``, and
of each row only its count is published. Quantiles are withheld unless ``k`` stand beyond them, and
the largest value, which is one person's, always.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from elicitation_receipts.queries.catalogue import Cell

WITHHELD: Final = "withheld"

#: What share of the elicitations stands beyond a quantile.
BEYOND: Final = {"p50": 0.5, "p90": 0.1, "p99": 0.01, "max": 0.0}


@dataclass(frozen=True, slots=True)
class Figure:
    """A count: all of it, its part in no small cell, and how many small cells it counts.

    ``bounded``: it counts no elicitation twice, so that a small cell adds less than ``k``;
    ``is_sum``: its parts add up to it, which distinct sessions, say, do not.
    """

    whole: int = 0
    shown: int = 0
    small: int = 0
    bounded: bool = True
    is_sum: bool = True

    def __add__(self, other: Figure) -> Figure:
        return Figure(
            self.whole + other.whole,
            self.shown + other.shown,
            self.small + other.small,
            self.bounded and other.bounded,
            self.is_sum and other.is_sum,
        )

    def published(self, k: int) -> Cell:
        """What stands in the report for it."""
        if not self.is_sum:
            return WITHHELD
        if self.whole == 0:
            return 0
        if self.whole < k and (self.small == 0 or (self.small == 1 and self.shown == 0)):
            return f"<{k}"
        if self.small == 0:
            return self.whole
        known = self.range(k)
        if known is None:
            return WITHHELD
        low, high = known
        return f">={low}" if high is None else f"{low}-{high}"

    def range(self, k: int) -> tuple[int, int | None] | None:
        """The least and the most it can be, as far as is published; None: nothing is."""
        if self.whole == 0:
            return 0, 0
        if not self.is_sum or 0 < self.shown < k:
            return None
        if self.shown == 0 and (self.whole < k or not self.bounded):
            return None
        low = self.shown + self.small
        return low, self.shown + self.small * (k - 1) if self.bounded else None


def rate(part: Figure, of: Figure, value: Cell, k: int) -> Cell:
    """A share: as it is, as a range, or withheld where it tells of fewer than ``k``."""
    if value is None or (part.whole == 0 and of.whole >= k):
        return value
    rest = of.whole - part.whole
    if part.small == of.small == 0:
        tells = of.whole < k or 0 < part.whole < k or 0 < rest < k
        return WITHHELD if tells else value
    numerator, denominator = part.range(k), of.range(k)
    if numerator is None or denominator is None:
        return WITHHELD
    (least, most), (fewest, all_) = numerator, denominator
    if most is None or all_ is None:
        return WITHHELD
    return f"{least / all_:.3f}-{min(most / fewest, 1):.3f}"


def quantile(name: str, value: Cell, of: Figure, k: int) -> Cell:
    """A quantile, unless fewer than ``k`` stand beyond it. ``name`` begins with which it is."""
    beyond = BEYOND[name.split("_", maxsplit=1)[0]] * of.shown
    return value if value is None or beyond >= k else WITHHELD


def is_suppressed(kind: str, cell: Cell) -> bool:
    """Whether something stands in for a figure. ``kind``: the column's type in DuckDB."""
    return isinstance(cell, str) and kind != "VARCHAR"


@dataclass(frozen=True, slots=True)
class Named:
    """A row of a table with a row for each of some names."""

    names: tuple[Cell, ...]
    count: Figure


def pool(rows: Iterable[Named], other: Sequence[Cell], k: int) -> list[Named]:
    """The rows that may be published: none under ``k``, none of them to be found by taking away.

    ``other``: the names of the row that stands for the small ones.
    """
    smallest_first = sorted(rows, key=lambda row: row.count.whole)
    pooled = Figure()
    kept = list(smallest_first)
    while kept and (kept[0].count.whole < k or 0 < pooled.whole < k):
        pooled += kept.pop(0).count
    kept.reverse()
    if pooled.whole >= k:
        kept.append(Named(tuple(other), pooled))
    return kept
