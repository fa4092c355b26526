"""Asking a database for the figures of a canary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from math import ceil
from typing import Final

import duckdb

from elicitation_receipts.queries.canary.anytime import Share, quantile_ranks
from elicitation_receipts.queries.canary.thresholds import Threshold, Thresholds
from elicitation_receipts.queries.canary.verdict import (
    Comparison,
    Median,
    compare_shares,
    compare_waits,
)
from elicitation_receipts.queries.catalogue import Catalogue, ask_rows, set_variable
from elicitation_receipts.queries.parameter import DIMENSIONS, Value, utc
from elicitation_receipts.schemas.errors import NotEnoughError, UsageError

#: What two arms may differ in.
COMPARABLE: Final = (
    "server",
    "server_version",
    "client",
    "client_version",
    "flow",
    "tool",
    "policy_version",
    "protocol_version",
    "environment",
)
ARMS: Final = ("baseline", "candidate")
_MEDIAN: Final = 0.5
#: The question whose filters a canary takes: all take the same.
FILTERS_OF: Final = "completion"
_FILES: Final = resources.files(__package__)


@dataclass(frozen=True, slots=True)
class Pair:
    """The two values of the column ``compare``, one of ``COMPARABLE``."""

    compare: str
    baseline: str
    candidate: str

    def __post_init__(self) -> None:
        if self.compare not in COMPARABLE:
            raise UsageError(
                "unknown_dimension", f"{self.compare!r} is none of {', '.join(COMPARABLE)}"
            )
        if self.baseline == self.candidate:
            raise UsageError("same_arm", "baseline and candidate are the same: nothing to compare")


def compare(
    catalogue: Catalogue,
    connection: duckdb.DuckDBPyConnection,
    pair: Pair,
    limits: Thresholds,
    now: datetime,
    values: Mapping[str, Value],
) -> list[Comparison]:
    """Compare the arms in a database that holds the view ``elicitations``, measure by measure.

    ``values``: what restricts both, as in :meth:`Catalogue.run`. Raises NotEnoughError
    ``nothing_to_compare`` where an arm has no settled question.
    """
    by = [pair.compare] if pair.compare in DIMENSIONS else []
    # Of thousands of names these two must not be among the others.
    arms = {name: values.get(name) or [pair.baseline, pair.candidate] for name in by}
    catalogue.pick(connection, FILTERS_OF, {**values, **arms, "by": by})
    for name in ("compare", *ARMS):
        set_variable(connection, name, getattr(pair, name))
    set_variable(connection, "settled", utc(now - limits.settle))
    counts = {row["arm"]: row for row in ask_rows(connection, _sql("counts"))}
    for arm in ARMS:
        if arm not in counts:
            raise NotEnoughError(
                "nothing_to_compare",
                f"no question of the {arm} was put more than {limits.settle} ago in this period; "
                "check its name, widen the period, or wait",
            )
    return [
        compare_waits(limit, _medians(connection, limit, counts, limits), limits)
        if limit.is_wait
        else compare_shares(
            limit, [Share(counts[arm][limit.measure], counts[arm]["put"]) for arm in ARMS], limits
        )
        for limit in limits.measures
    ]


def _medians(
    connection: duckdb.DuckDBPyConnection,
    limit: Threshold,
    counts: Mapping[str, Mapping[str, int]],
    limits: Thresholds,
) -> list[Median]:
    """The median wait of each arm, in its interval."""
    set_variable(connection, "measure", limit.measure)
    wanted = {}
    for arm in ARMS:
        size = counts[arm][limit.measure]
        low, high = quantile_ranks(size, _MEDIAN, limits.alpha_each / 2)
        wanted[arm] = (low, ceil(size * _MEDIAN), high)
        set_variable(connection, f"{arm}_ranks", list(wanted[arm]))
    waits = {
        (arm, rank): seconds for arm, rank, seconds in connection.execute(_sql("waits")).fetchall()
    }
    medians = []
    for arm in ARMS:
        from_, median, to = (waits.get((arm, rank)) for rank in wanted[arm])
        medians.append(Median(counts[arm][limit.measure], median, from_, to))
    return medians


def _sql(name: str) -> str:
    return _FILES.joinpath(f"{name}.sql").read_text(encoding="utf-8")
