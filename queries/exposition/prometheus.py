"""The figures as Prometheus metrics. Every label is from a closed vocabulary or bounded in number.

=========================================== ========= ======================================
metric                                      type      labels
=========================================== ========= ======================================
elicitation_receipts_questions              gauge     standing, mode, carrier, server, client
elicitation_receipts_put_total              counter   mode, carrier, server, client
elicitation_receipts_completed_total        counter   mode, carrier, server, client
elicitation_receipts_ended_total            counter   standing, mode, carrier, server, client
elicitation_receipts_wait_seconds           histogram interval, mode
elicitation_receipts_findings_total         counter   gate, name, severity
elicitation_receipts_landed_total           counter
elicitation_receipts_lost_total             counter
elicitation_receipts_rejects                gauge
elicitation_receipts_breaks                 gauge
elicitation_receipts_last_landed_seconds    gauge
elicitation_receipts_spooled_total          counter
elicitation_receipts_unshipped              gauge
elicitation_receipts_open_questions         gauge
elicitation_receipts_figures_age_seconds    gauge
=========================================== ========= ======================================

* questions: where the questions stand now, as the report ``completion`` counts them. put: those
  that reached a client. completed: accepted forms and task inputs, and completed URLs. ended: of
  ``questions`` those that stand at an end. A counter falls only where retention drops receipts.
* wait: human_wait, ceremony and time_to_resume, as the report ``resume`` counts them.
* spooled, unshipped, open_questions: of the spool, live; all else of what has landed.
* figures_age: how old what has landed is told here, while the database is held by another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from elicitation_receipts.queries.exposition.figures import BOUNDS, Figures, Row

_PREFIX: Final = "elicitation_receipts_"
_ORIGIN: Final = ("mode", "carrier", "server", "client")


@dataclass(frozen=True, slots=True)
class Live:
    """What the spool says now."""

    spooled: int
    unshipped: int
    open_questions: int


def families(figures: Figures | None, age: float, live: Live | None) -> Iterator[Metric]:
    """The metric families; ``age`` of the figures in seconds. What is None is not known."""
    if figures is not None:
        yield from _questions(figures.questions)
        yield _waits(figures)
        yield _findings(figures.findings)
        yield from _delivery(figures.delivery)
        yield _gauge("figures_age_seconds", "Age of what is told of the landed receipts", age)
    if live is not None:
        yield _counter("spooled", "Receipts sealed into the spool", live.spooled)
        yield _gauge("unshipped", "Receipts no broker has acknowledged", live.unshipped)
        yield _gauge("open_questions", "Questions that wait for an end", live.open_questions)


def _questions(rows: list[Row]) -> Iterator[Metric]:
    standing = GaugeMetricFamily(
        _PREFIX + "questions", "Questions by where they stand", labels=("standing", *_ORIGIN)
    )
    ended = CounterMetricFamily(
        _PREFIX + "ended", "Questions that stand at an end", labels=("standing", *_ORIGIN)
    )
    put = CounterMetricFamily(_PREFIX + "put", "Questions that reached a client", labels=_ORIGIN)
    completed = CounterMetricFamily(_PREFIX + "completed", "Questions completed", labels=_ORIGIN)
    sums: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        origin = tuple(row[name] or "" for name in _ORIGIN)
        where = row["standing"] or ""
        standing.add_metric((where, *origin), row["questions"])
        if where != "open":
            ended.add_metric((where, *origin), row["questions"])
        totals = sums.setdefault(origin, [0, 0])
        totals[0] += row["put"]
        totals[1] += row["completed"]
    for origin, (all_put, all_completed) in sums.items():
        put.add_metric(origin, all_put)
        completed.add_metric(origin, all_completed)
    yield from (standing, ended, put, completed)


def _waits(figures: Figures) -> Metric:
    family = HistogramMetricFamily(
        _PREFIX + "wait_seconds", "How long questions took", labels=("interval", "mode")
    )
    for wait in figures.waits:
        buckets = [
            (str(float(bound)), count) for bound, count in zip(BOUNDS, wait.within, strict=True)
        ]
        family.add_metric(
            (wait.interval, wait.mode or ""), [*buckets, ("+Inf", wait.count)], wait.seconds
        )
    return family


def _findings(rows: list[Row]) -> Metric:
    labels = ("gate", "name", "severity")
    family = CounterMetricFamily(_PREFIX + "findings", "Findings on receipts", labels=labels)
    for row in rows:
        family.add_metric([row[label] for label in labels], row["findings"])
    return family


def _delivery(row: Row) -> Iterator[Metric]:
    yield _counter("landed", "Receipts that have landed", row["landed"])
    yield _counter("lost", "Receipts that could not be written", row["lost"])
    yield _gauge("rejects", "Messages that could not land", row["rejects"])
    yield _gauge("breaks", "Gaps and broken links in the chains", row["breaks"])
    if row["last_landed"] is not None:
        yield _gauge(
            "last_landed_seconds", "When a receipt last landed, Unix time", row["last_landed"]
        )


def _counter(name: str, help_: str, value: float) -> Metric:
    return CounterMetricFamily(_PREFIX + name, help_, value=value)


def _gauge(name: str, help_: str, value: float) -> Metric:
    return GaugeMetricFamily(_PREFIX + name, help_, value=value)
