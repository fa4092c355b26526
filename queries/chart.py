"""Charts: which bars show a result, and the same bars on a terminal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TextIO

from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table

from elicitation_receipts.queries.catalogue import Cell, Result

_COUNTS: Final = ("BIGINT", "INTEGER", "HUGEINT")
#: More rows than this make no chart anybody reads; the first ones, which are the largest, stay.
_MOST: Final = 20
_LEAST: Final = re.compile(r"(?:>=)?([0-9]+)")
_WIDTH: Final = 40


@dataclass(frozen=True, slots=True)
class Bar:
    """``value``: how long it is, of a figure that is a range its least; ``text``: what it says."""

    label: str
    value: int
    text: str


def bars(result: Result) -> tuple[str, list[Bar]]:
    """What the bars count, and the bars.

    Of one row the bars are its counts; of several, each row's first count.
    """
    kinds = list(zip(result.columns, result.types, strict=True))
    counts = [at for at, (name, kind) in enumerate(kinds) if kind in _COUNTS and name != "round"]
    if not counts or not result.rows:
        return "", []
    labels = [at for at in range(len(kinds)) if at < counts[0]]
    if len(result.rows) == 1:
        [row] = result.rows
        return "", [_bar(result.columns[at], row[at]) for at in counts]
    return result.columns[counts[0]], [
        _bar(" ".join("-" if row[at] is None else str(row[at]) for at in labels), row[counts[0]])
        for row in result.rows[:_MOST]
    ]


def draw(result: Result, stream: TextIO) -> None:
    """The bars as text: label, bar, figure."""
    counted, drawn = bars(result)
    if not drawn:
        return
    table = Table(box=None, pad_edge=False, title=counted or None, title_justify="left")
    table.add_column(justify="right")
    table.add_column(width=_WIDTH)
    table.add_column()
    most = max(bar.value for bar in drawn) or 1
    for bar in drawn:
        table.add_row(bar.label, ProgressBar(most, bar.value, width=_WIDTH), bar.text)
    Console(file=stream, markup=False, highlight=False, emoji=False).print(table)


def _bar(label: str, cell: Cell) -> Bar:
    text = "-" if cell is None else str(cell)
    least = _LEAST.match(text)
    return Bar(label, int(least[1]) if least else 0, text)
