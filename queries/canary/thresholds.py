"""Thresholds: what a canary compares, and how much worse a candidate may be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from importlib import resources
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator

from elicitation_receipts.schemas.errors import UsageError

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
    given: Mapping[str, Any] = json.loads(_FILES.joinpath("thresholds.json").read_text("utf-8"))
    if path is not None:
        given = {**given, **_read(path)}
    return Thresholds(
        given["alpha"],
        given["minimum"],
        timedelta(minutes=given["settle_minutes"]),
        tuple(
            Threshold(name, limit["worse"] == "lower", limit["margin"])
            for name, limit in given["measures"].items()
        ),
    )


def _read(path: Path) -> Mapping[str, Any]:
    try:
        given = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(
            "thresholds_unreadable", f"cannot read {path} ({error.strerror})"
        ) from error
    except ValueError as error:
        raise UsageError("thresholds_invalid", f"{path} is no JSON: {error}") from None
    schema = json.loads(_FILES.joinpath("thresholds.schema.json").read_text("utf-8"))
    for wrong in Draft202012Validator(schema).iter_errors(given):
        raise UsageError("thresholds_invalid", f"{path}, at {wrong.json_path}: {wrong.message}")
    return dict(given)
