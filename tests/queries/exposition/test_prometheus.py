"""The metrics: as documented, as the reports count, and bounded."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from lives import (
    AUTOMATIC,
    SECOND,
    Lives,
    answered,
    completed,
    requested,
    resumed,
)
from prometheus_client.core import Metric

from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.queries.exposition import prometheus
from elicitation_receipts.queries.exposition.figures import BOUNDS, read_figures
from elicitation_receipts.queries.exposition.prometheus import Live, families
from elicitation_receipts.schemas.receipt import Finding
from elicitation_receipts.schemas.vocabulary import FindingName, Gate, Mode, Outcome, Severity

FINDING = Finding(FindingName.URL_IN_TEXT, Severity.INFO, Gate.UX)


@pytest.fixture
def many(lives: Lives) -> Lives:
    """Some of everything."""
    for seconds in (1, 4, 20, 400):
        lives.add(
            requested(findings=(FINDING,)),
            answered(Outcome.ACCEPTED, after=seconds * SECOND),
            resumed(),
        )
    lives.add(requested(), answered(Outcome.ACCEPTED, AUTOMATIC, after=1))
    lives.add(requested(), answered(Outcome.DECLINED), client_name="editor")
    lives.add(requested(), answered(Outcome.CONSENTED), completed(), resumed(), mode=Mode.URL)
    lives.add(requested(), mode=Mode.URL)
    return lives


def collected(lives: Lives, live: Live | None = None) -> dict[str, Metric]:
    figures = read_figures(Catalogue(), lives.connection)
    return {metric.name: metric for metric in families(figures, 0.5, live)}


def total(metric: Metric, **labels: str) -> float:
    return sum(sample.value for sample in metric.samples if sample.labels.items() >= labels.items())


def documented() -> dict[str, tuple[str, set[str]]]:
    """The table in the module's head: type and labels by name."""
    _, _, table = (prometheus.__doc__ or "").partition("\n\n")
    found = {}
    for line in table.splitlines():
        if line.startswith("elicitation_receipts_"):
            name, kind, *labels = line.replace(",", " ").split()
            found[name.removesuffix("_total")] = (kind, set(labels))
    return found


def test_the_table_says_what_there_is(many: Lives) -> None:
    found = collected(many, Live(12, 3, 1))
    assert {
        name: (
            metric.type,
            {label for sample in metric.samples for label in sample.labels} - {"le"},
        )
        for name, metric in found.items()
    } == documented()


def test_the_numbers_are_the_reports(many: Lives, ask: Any) -> None:
    found = collected(many)
    for row in ask("completion", by=["mode"]):
        mode = row["mode"]
        assert total(found["elicitation_receipts_put"], mode=mode) == row["put"]
        assert total(found["elicitation_receipts_completed"], mode=mode) == round(
            row["completion_rate"] * row["put"]
        )
        for standing in ("accepted", "automatic", "declined", "completed", "open"):
            metric = found["elicitation_receipts_questions"]
            assert total(metric, mode=mode, standing=standing) == row[standing]
            ended = found["elicitation_receipts_ended"]
            assert total(ended, mode=mode, standing=standing) == (
                0 if standing == "open" else row[standing]
            )
    assert total(found["elicitation_receipts_findings"], name="url_in_text", gate="ux") == 4


def test_waits_are_a_histogram_of_what_people_took(many: Lives) -> None:
    samples = collected(many)["elicitation_receipts_wait_seconds"].samples
    within = {
        float(sample.labels["le"]): sample.value
        for sample in samples
        if sample.name.endswith("_bucket")
        and sample.labels.items() >= {"interval": "human_wait", "mode": "form"}.items()
    }
    assert list(within) == [*BOUNDS, float("inf")]
    assert [within[bound] for bound in (0.25, 1, 5, 30, 600)] == [0, 1, 3, 4, 5]
    assert all(one <= other for one, other in pairwise(within.values()))
    assert within[float("inf")] == 5  # without the automatic one
    [seconds] = [
        sample.value
        for sample in samples
        if sample.name.endswith("_sum")
        and sample.labels == {"interval": "human_wait", "mode": "form"}
    ]
    assert seconds == 1 + 4 + 20 + 400 + 5


def test_ten_thousand_servers_are_twenty_and_the_others(lives: Lives) -> None:
    with lives.at_once():
        for number in range(300):
            lives.add(requested(), answered(Outcome.ACCEPTED), server_name=f"server-{number}")
        for _ in range(5):
            lives.add(requested(), answered(Outcome.ACCEPTED), server_name="server-299")
    metric = collected(lives)["elicitation_receipts_put"]
    servers = {sample.labels["server"] for sample in metric.samples}
    assert len(servers) == 21
    assert total(metric, server="server-299") == 6
    assert total(metric, server="other") == 280
    assert total(metric) == 305


def test_what_is_not_known_is_not_told() -> None:
    assert list(families(None, 0, None)) == []
    names = {metric.name for metric in families(None, 0, Live(1, 1, 1))}
    assert names == {
        "elicitation_receipts_spooled",
        "elicitation_receipts_unshipped",
        "elicitation_receipts_open_questions",
    }
