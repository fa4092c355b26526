"""Thresholds: what a canary compares, and how much worse a candidate may be."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from importlib import resources
from pathlib import Path
from typing import Final

from elicitation_receipts.queries.data_file import read_data_file

_FILES: Final = resources.files(__package__)
#: Measures that are a median wait; all others are shares of the questions put.
WAITS: Final = ("human_wait", "time_to_resume")


@dataclass(frozen=True, slots=True)
class Threshold:
    """``margin``: a difference of shares, or a part of the baseline's median wait."""

    measure: str
    lower_is_worse: bool
    margin: float

    @property
    def is_wait(self) -> bool:
        return self.measure in WAITS


@dataclass(frozen=True, slots=True)
class Thresholds:
    """``alpha`` is for all measures and all looks together; ``minimum`` for each arm."""

    alpha: float
    minimum: int
    settle: timedelta
    measures: tuple[Threshold, ...]

    @property
    def alpha_each(self) -> float:
        return self.alpha / len(self.measures)


def load(path: Path | None = None) -> Thresholds:
    """Read a file of ``thresholds.schema.json``; what it leaves out is as in the built-in one.

    Raises UsageError ``thresholds_unreadable`` or ``thresholds_invalid``.
    """
    given = json.loads(_FILES.joinpath("thresholds.json").read_text("utf-8"))
    if path is not None:
        given |= read_data_file(path, _FILES.joinpath("thresholds.schema.json"), "thresholds")
    return Thresholds(
        given["alpha"],
        given["minimum"],
        timedelta(minutes=given["settle_minutes"]),
        tuple(
            Threshold(name, limit["worse"] == "lower", limit["margin"])
            for name, limit in given["measures"].items()
        ),
    )
