"""How things are measured: side by side, several rounds, medians with their spread."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Figure:
    """A measured value. ``rounds``: one value a round; ``name`` is stable."""

    name: str
    unit: str
    rounds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def spread(self) -> float:
        """Half the range of the rounds, as a share of the median."""
        return (max(self.rounds) - min(self.rounds)) / 2 / self.median if self.median else 0.0


def interleaved(rounds: int, cases: dict[str, tuple[str, Callable[[], float]]]) -> list[Figure]:
    """Run every case once a round, in turn, after one round of warm-up that does not count."""
    figures = {name: Figure(name, unit) for name, (unit, _) in cases.items()}
    for number in range(rounds + 1):
        for name, (_, case) in cases.items():
            value = case()
            if number:
                figures[name].rounds.append(value)
    return list(figures.values())


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least ``share`` of ``values`` do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
