"""An attacker: works out by integer programming what published reports let a hidden figure be.

It knows the reports' definitions, all of what is published, and what every mark means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import highspy

_RANGE = re.compile(r"([0-9]+)-([0-9]+)")
_MUCH = 1_000_000


class Attacker:
    """Integer unknowns, and what is known about them. ``reads_marks``: what `<11` says counts."""

    def __init__(self, *, reads_marks: bool) -> None:
        self._reads_marks = reads_marks
        self._program = highspy.Highs()
        self._program.silent()

    def unknown(self) -> Any:
        return self._program.addIntegral(lb=0, ub=_MUCH)

    def total(self, parts: Iterable[Any]) -> Any:
        return self._program.qsum(list(parts))

    def know(self, statement: Any) -> None:
        self._program.addConstr(statement)

    def read(self, figure: Any, cell: int | str) -> None:
        """What a published cell says about the figure that stands there."""
        if isinstance(cell, int):
            self.know(figure == cell)
        elif not self._reads_marks or cell == "withheld":
            pass
        elif cell.startswith("<"):
            self.know(figure >= 1)
            self.know(figure <= int(cell[1:]) - 1)
        elif cell.startswith(">="):
            self.know(figure >= int(cell[2:]))
        else:
            match = _RANGE.fullmatch(cell)
            assert match, cell
            self.know(figure >= int(match[1]))
            self.know(figure <= int(match[2]))

    def bounds(self, figure: Any) -> tuple[int, int]:
        """The least and the most the figure can be."""
        found = []
        for solve in (self._program.minimize, self._program.maximize):
            solve(figure)
            assert self._program.getModelStatus() == highspy.HighsModelStatus.kOptimal
            found.append(round(self._program.getObjectiveValue()))
        return found[0], found[1]
