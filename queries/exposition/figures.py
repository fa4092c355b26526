"""Figures: what a monitoring system is told, taken from the database in one go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from typing import Any, Final

import duckdb

from elicitation_receipts.queries.catalogue import Catalogue, ask_rows, set_variable

#: The question whose filters are left open: everything counts that counts in a report.
_FILTERS_OF: Final = "completion"
#: Upper bounds of a wait's buckets in seconds, as of the OpenTelemetry histograms.
BOUNDS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14400, 86400)
_FILES: Final = resources.files(__package__)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wait:
    """One interval in one mode. ``within``: how many took no longer than each of ``BOUNDS``."""

    interval: str
    mode: str | None
    count: int
    seconds: float
    within: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Rows as the SQL files of this folder name their columns."""

    questions: list[Row]
    waits: list[Wait]
    findings: list[Row]
    delivery: Row


def read_figures(catalogue: Catalogue, connection: duckdb.DuckDBPyConnection) -> Figures:
    """Ask a database that holds the view ``elicitations``."""
    catalogue.pick(connection, _FILTERS_OF, {"by": ["mode", "carrier"]})
    set_variable(connection, "bounds", list(BOUNDS))
    questions = _rows(connection, "questions")
    waits = [_wait(key, list(buckets)) for key, buckets in _grouped(_rows(connection, "waits"))]
    findings = _rows(connection, "findings")
    [delivery] = _rows(connection, "delivery")
    return Figures(questions, waits, findings, delivery)


def _grouped(buckets: list[Row]) -> Iterator[tuple[tuple[str, str | None], Iterator[Row]]]:
    yield from groupby(buckets, lambda row: (row["interval"], row["mode"]))


def _wait(key: tuple[str, str | None], buckets: list[Row]) -> Wait:
    within = tuple(
        sum(row["waits"] for row in buckets if row["bound"] is not None and row["bound"] <= bound)
        for bound in BOUNDS
    )
    return Wait(
        *key,
        sum(row["waits"] for row in buckets),
        sum(row["seconds"] for row in buckets),
        within,
    )


def _rows(connection: duckdb.DuckDBPyConnection, name: str) -> list[Row]:
    return ask_rows(connection, _FILES.joinpath(f"{name}.sql").read_text("utf-8"))
