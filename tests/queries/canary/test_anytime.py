"""Confidence sequences: checked by exact arithmetic, not by chance."""

from __future__ import annotations

from math import comb, exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.queries.canary.anytime import Share, difference, quantile_ranks

ALPHA = 0.05


def shares(most: int) -> st.SearchStrategy[Share]:
    return st.integers(0, most).flatmap(
        lambda trials: st.builds(Share, st.integers(0, trials), st.just(trials))
    )


@given(shares(200), st.floats(0.01, 0.99))
def test_the_evidence_against_the_true_share_is_a_martingale(share: Share, true: float) -> None:
    """What is expected of it after one more trial is what it is now."""
    now = share.log_ratio(true)  # its own exponential may be beyond a float
    event = Share(share.events + 1, share.trials + 1).log_ratio(true) - now
    miss = Share(share.events, share.trials + 1).log_ratio(true) - now
    assert true * exp(event) + (1 - true) * exp(miss) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("true", [0.02, 0.3, 0.5, 0.95])
def test_who_looks_after_every_trial_is_rarely_ever_misled(true: float) -> None:
    """The exact probability that 400 looks at one arm ever exclude the true share."""
    limit = -log(ALPHA)
    alive = {0: 1.0}  # events so far, among those never misled: their probability
    misled = 0.0
    for trials in range(1, 401):
        reached: dict[int, float] = {}
        for events, probability in alive.items():
            reached[events + 1] = reached.get(events + 1, 0) + probability * true
            reached[events] = reached.get(events, 0) + probability * (1 - true)
        alive = {}
        for events, probability in reached.items():
            if Share(events, trials).log_ratio(true) < limit:
                alive[events] = probability
            else:
                misled += probability
    assert 0 < misled <= ALPHA


def test_an_interval_for_one_look_would_not_do() -> None:
    """Beside it: five of a hundred are misled by one look, more than a quarter by 400."""
    alive, misled = {0: 1.0}, 0.0
    for trials in range(1, 401):
        reached: dict[int, float] = {}
        for events, probability in alive.items():
            for more in (0, 1):
                reached[events + more] = reached.get(events + more, 0) + probability / 2
        outside = {at for at in reached if abs(at - trials / 2) > 1.96 * (trials / 4) ** 0.5}
        misled += sum(reached[at] for at in outside)
        alive = {at: probability for at, probability in reached.items() if at not in outside}
    assert misled > 0.25


@given(shares(40), shares(40))
def test_the_difference_is_the_widest_of_all_pairs_not_excluded(one: Share, other: Share) -> None:
    interval = difference(one, other, ALPHA)
    steps = [place / 50 for place in range(51)]
    possible = [
        q - p for p in steps for q in steps if one.log_ratio(p) + other.log_ratio(q) < -log(ALPHA)
    ]
    assert all(interval.low - 1e-9 <= delta <= interval.high + 1e-9 for delta in possible)
    if possible:  # the grid comes within two steps of each end
        assert min(possible) <= interval.low + 0.08
        assert max(possible) >= interval.high - 0.08


@given(shares(10**6), shares(10**6))
def test_it_holds_the_estimate_and_turns_round_with_the_arms(one: Share, other: Share) -> None:
    interval, turned = difference(one, other, ALPHA), difference(other, one, ALPHA)
    estimate = (other.estimate or 0) - (one.estimate or 0)
    assert -1 <= interval.low <= estimate <= interval.high <= 1
    assert (turned.low, turned.high) == pytest.approx((-interval.high, -interval.low), abs=1e-6)


def test_nothing_seen_excludes_nothing() -> None:
    nothing = difference(Share(0, 0), Share(0, 0), ALPHA)
    assert (nothing.low, nothing.high) == (-1, 1)


@pytest.mark.parametrize(("events", "trials"), [(-1, 3), (4, 3), (0, -1)])
def test_no_share(events: int, trials: int) -> None:
    with pytest.raises(ValueError, match="is no share"):
        Share(events, trials)


@given(st.integers(0, 3000), st.sampled_from([0.1, 0.5, 0.9]))
def test_ranks_are_those_of_every_count_that_is_not_excluded(size: int, quantile: float) -> None:
    counts = [
        rank for rank in range(size + 1) if Share(rank, size).log_ratio(quantile) < -log(ALPHA)
    ]
    assert quantile_ranks(size, quantile, ALPHA) == (counts[0], counts[-1] + 1)


def test_ranks_stand_around_the_middle_one() -> None:
    low, high = quantile_ranks(1001, 0.5, ALPHA)
    assert 0 < low < 501 < high < 1002
    assert low + high == 1002
    within = sum(comb(1001, rank) for rank in range(low, high)) / 2**1001
    assert within > 1 - ALPHA


def test_few_values_say_nothing_of_their_median() -> None:
    assert quantile_ranks(3, 0.5, ALPHA) == (0, 4)
