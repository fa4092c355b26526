"""A canary's figures, asked of a database of hand-made lives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from lives import (
    AUTOMATIC,
    DAY,
    POLICY,
    SECOND,
    START,
    Lives,
    answered,
    completed,
    ended,
    refused,
    requested,
    resumed,
)

from elicitation_receipts.queries.canary.ask import COMPARABLE, Pair, compare
from elicitation_receipts.queries.canary.thresholds import Thresholds, load
from elicitation_receipts.queries.canary.verdict import (
    Comparison,
    Standing,
    Verdict,
    verdict,
)
from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.schemas.errors import NotEnoughError, UsageError
from elicitation_receipts.schemas.vocabulary import Mode, Outcome

NOW = datetime.fromtimestamp((START + DAY) / SECOND, UTC)
LIMITS = load()
PAIR = Pair("server_version", "1.0", "1.1")


def found(
    lives: Lives, pair: Pair = PAIR, limits: Thresholds = LIMITS, **values: Any
) -> dict[str, Comparison]:
    comparisons = compare(Catalogue(), lives.connection, pair, limits, NOW, values)
    return {item.threshold.measure: item for item in comparisons}


def test_each_measure_counts_what_it_says(lives: Lives) -> None:
    for version, times in (("1.0", 1), ("1.1", 2)):
        for _ in range(times):
            common: dict[str, Any] = {"server_version": version}
            lives.add(requested(), answered(Outcome.ACCEPTED), resumed(), **common)
            lives.add(
                requested(), answered(Outcome.CONSENTED), completed(), mode=Mode.URL, **common
            )
            lives.add(requested(), answered(Outcome.DECLINED), **common)
            lives.add(requested(), answered(Outcome.CANCELLED), **common)
            lives.add(requested(), refused(Outcome.UNSUPPORTED), **common)
            lives.add(requested(), refused(Outcome.ERRORED), **common)
            lives.add(requested(), ended(Outcome.ABANDONED), **common)
            lives.add(requested(), ended(Outcome.EXPIRED), **common)
            lives.add(
                requested(),
                answered(Outcome.INVALID),
                requested(),
                answered(Outcome.INVALID),
                **common,
            )
            lives.add(requested(), answered(Outcome.ACCEPTED, AUTOMATIC, after=1), **common)
            lives.add(requested(), refused(Outcome.BLOCKED, POLICY), **common)  # never put
    figures = found(lives)
    per_life = {
        "completion": 2,
        "decline": 1,
        "cancel": 1,
        "invalid": 1,
        "runtime_refusal": 2,
        "abandonment": 2,
        "repeats": 1,
    }
    for measure, count in per_life.items():
        item = figures[measure]
        assert (item.baseline_count, item.candidate_count) == (10, 20), measure
        assert (item.baseline, item.candidate) == (count / 10, count / 10), measure
    assert figures["human_wait"].baseline_count == 5
    assert figures["time_to_resume"].candidate_count == 2


def test_waits_are_medians_of_what_people_took(lives: Lives) -> None:
    with lives.at_once():
        for version, factor in (("1.0", 1), ("1.1", 3)):
            for seconds in range(1, 102):
                lives.add(
                    requested(),
                    answered(Outcome.ACCEPTED, after=seconds * factor * SECOND),
                    server_version=version,
                )
    item = found(lives)["human_wait"]
    assert (item.baseline, item.candidate, item.difference) == (51, 153, 2)
    assert item.low is not None
    assert item.high is not None
    assert -1 < item.low < 2 < item.high


def test_a_question_too_young_does_not_count_yet(lives: Lives) -> None:
    old = int(NOW.timestamp() * SECOND) - int(LIMITS.settle / timedelta(microseconds=1))
    for version in ("1.0", "1.1"):
        lives.add(requested(), answered(Outcome.ACCEPTED), at=old - 1, server_version=version)
        lives.add(requested(), answered(Outcome.ACCEPTED), at=old, server_version=version)
    assert found(lives)["completion"].baseline_count == 1


@pytest.mark.parametrize("column", COMPARABLE)
def test_everything_comparable_can_be_compared(column: str, lives: Lives) -> None:
    field = {"server": "server_name", "client": "client_name"}.get(column, column)
    values = ("2025-06-18", "2025-11-25")
    for value, times in zip(values, (1, 2), strict=True):
        for _ in range(times):
            lives.add(requested(), answered(Outcome.ACCEPTED), **{field: value})
    item = found(lives, Pair(column, *values))["completion"]
    assert (item.baseline_count, item.candidate_count) == (1, 2)


def test_arms_are_told_apart_however_many_names_there_are(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elicitation_receipts.queries.catalogue.MOST_NAMES", 1)
    for tool, times in (("busy", 5), ("rare", 1), ("rarer", 1)):
        for _ in range(times):
            lives.add(requested(), answered(Outcome.ACCEPTED), tool=tool)
    one = found(lives, Pair("tool", "rare", "rarer"))["completion"]
    assert (one.baseline_count, one.candidate_count) == (1, 1)


def test_filters_restrict_both_arms(lives: Lives) -> None:
    for version in ("1.0", "1.1"):
        for flow in ("sign-up", "billing"):
            lives.add(requested(), answered(Outcome.ACCEPTED), server_version=version, flow=flow)
    item = found(lives, flow=["billing"])["completion"]
    assert (item.baseline_count, item.candidate_count) == (1, 1)


def test_an_arm_without_a_question(lives: Lives) -> None:
    lives.add(requested(), answered(Outcome.ACCEPTED), server_version="1.0")
    with pytest.raises(NotEnoughError, match="nothing_to_compare: no question of the candidate"):
        found(lives)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [(("mood", "a", "b"), "unknown_dimension"), (("flow", "a", "a"), "same_arm")],
)
def test_a_pair_that_makes_no_sense(arguments: tuple[str, str, str], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        Pair(*arguments)


def test_a_planted_regression_is_found_and_one_that_is_not_there_is_not(lives: Lives) -> None:
    """People as they are: drawn by chance, from rates of which one version has a worse one."""
    chance = Random(7)
    with lives.at_once():
        for version, completes in (("1.0", 0.82), ("1.1", 0.82), ("1.2", 0.70)):
            for _ in range(3000):
                fate = chance.random()
                outcome = Outcome.ACCEPTED if fate < completes else Outcome.INVALID
                if fate > 0.94:
                    outcome = Outcome.DECLINED
                wait = int(chance.lognormvariate(2.5, 0.6) * SECOND)
                lives.add(
                    requested(), answered(outcome, after=wait), resumed(), server_version=version
                )
    same = found(lives)
    assert verdict(list(same.values())) is not Verdict.ROLL_BACK
    assert same["completion"].standing is not Standing.WORSE
    worse = found(lives, Pair("server_version", "1.0", "1.2"))
    assert verdict(list(worse.values())) is Verdict.ROLL_BACK
    assert {name for name, item in worse.items() if item.standing is Standing.WORSE} == {
        "completion",
        "invalid",
    }
