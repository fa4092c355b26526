"""From differences to a verdict."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.queries.canary.anytime import Share
from elicitation_receipts.queries.canary.thresholds import Threshold, Thresholds
from elicitation_receipts.queries.canary.verdict import (
    Comparison,
    Median,
    Standing,
    Verdict,
    compare_shares,
    compare_waits,
    verdict,
)

COMPLETION = Threshold("completion", lower_is_worse=True, margin=0.05)
DECLINE = Threshold("decline", lower_is_worse=False, margin=0.05)
WAIT = Threshold("human_wait", lower_is_worse=False, margin=0.5)
LIMITS = Thresholds(0.05, 100, timedelta(hours=1), (COMPLETION,))


def completion(baseline: Share, candidate: Share) -> Comparison:
    return compare_shares(COMPLETION, [baseline, candidate], LIMITS)


def test_an_equal_candidate_is_fine_once_enough_was_seen() -> None:
    assert completion(Share(800, 1000), Share(800, 1000)).standing is Standing.UNCLEAR
    found = completion(Share(8000, 10_000), Share(8000, 10_000))
    assert found.standing is Standing.FINE
    assert found.missing is None
    assert found.low is not None
    assert found.low < 0 < (found.high or 0)


def test_ten_points_less_are_worse() -> None:
    found = completion(Share(1600, 2000), Share(1400, 2000))
    assert (found.standing, found.difference) == (Standing.WORSE, pytest.approx(-0.1))


def test_ten_points_more_of_what_is_good_are_fine_and_of_what_is_bad_are_worse() -> None:
    arms = [Share(1400, 2000), Share(1600, 2000)]
    assert compare_shares(COMPLETION, arms, LIMITS).standing is Standing.FINE
    assert compare_shares(DECLINE, arms, LIMITS).standing is Standing.WORSE


def test_less_than_the_minimum_says_nothing_however_plain_it_looks() -> None:
    found = completion(Share(99, 99), Share(0, 99))
    assert (found.standing, found.missing) == (Standing.TOO_FEW, 1)


@given(st.integers(100, 5000), st.integers(0, 100), st.integers(0, 100))
def test_what_is_said_to_be_missing_is_about_what_it_takes(size: int, one: int, other: int) -> None:
    baseline, candidate = Share(size * one // 100, size), Share(size * other // 100, size)
    found = completion(baseline, candidate)
    if found.standing is not Standing.UNCLEAR or not found.missing or found.missing > 10**9:
        return
    enough = 1 + 3 * found.missing / size  # the logarithm in the width costs some more
    assert (
        completion(baseline.times(enough), candidate.times(enough)).standing is not Standing.UNCLEAR
    )


@pytest.mark.parametrize(
    ("candidate", "standing"),
    [
        (Median(500, 10.0, 9.5, 10.5), Standing.FINE),
        (Median(500, 20.0, 19.0, 21.0), Standing.WORSE),
        (Median(500, 14.0, 9.0, 20.0), Standing.UNCLEAR),
        (Median(500, 10.0, 9.0, None), Standing.UNCLEAR),
        (Median(99, 20.0, 19.0, 21.0), Standing.TOO_FEW),
        (Median(0), Standing.TOO_FEW),
    ],
)
def test_waits_are_compared_as_parts_of_the_baseline(candidate: Median, standing: Standing) -> None:
    found = compare_waits(WAIT, [Median(500, 10.0, 9.5, 10.5), candidate], LIMITS)
    assert found.standing is standing


@pytest.mark.parametrize(
    ("standings", "said"),
    [
        ([Standing.FINE, Standing.FINE], Verdict.PROMOTE),
        ([Standing.FINE, Standing.UNCLEAR], Verdict.HOLD),
        ([Standing.FINE, Standing.TOO_FEW], Verdict.HOLD),
        ([Standing.UNCLEAR, Standing.WORSE], Verdict.ROLL_BACK),
        ([Standing.TOO_FEW, Standing.WORSE], Verdict.ROLL_BACK),
    ],
)
def test_one_worse_measure_is_enough_and_every_one_must_be_fine(
    standings: list[Standing], said: Verdict
) -> None:
    found = [
        Comparison(COMPLETION, 1, 1, None, None, None, None, None, standing, None)
        for standing in standings
    ]
    assert verdict(found) is said
