"""Intervals that stay valid however often one looks: confidence sequences for shares.

An interval of a fixed sample holds with its probability *once*; looked at after every event, it
is wrong sooner or later. The ones made here hold at all times together with probability 1 - alpha:
one may look every minute and stop when one likes.

The method is Robbins' mixture. For ``events`` among ``trials`` and a share p, the ratio

    M(p) = B(events + 1/2, trials - events + 1/2) / B(1/2, 1/2) / (p^events (1-p)^(trials-events))

of a beta mixture to the likelihood of p is a martingale that starts at 1 if p is the true share; by
Ville's inequality it ever reaches 1/alpha with probability alpha at most. The shares where it has
not are the confidence sequence. Two independent arms multiply: the differences q - p for which
some pair has M(p) M(q) < 1/alpha are one for the difference. Exact for every sample size.

H. Robbins, Statistical methods related to the law of the iterated logarithm, Ann. Math. Stat.
41 (1970); S. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, Time-uniform, nonparametric,
nonasymptotic confidence sequences, Ann. Stat. 49 (2021).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, lgamma, log
from typing import Final

#: So often an interval that holds the answer is halved: to 2^-50 of its width.
_HALVINGS: Final = 50
_LOG_BETA_HALF: Final = 2 * lgamma(0.5) - lgamma(1)


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends belong to it."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Share:
    """``events`` among ``trials``."""

    events: int
    trials: int

    def __post_init__(self) -> None:
        if not 0 <= self.events <= self.trials:
            raise ValueError(f"{self.events} of {self.trials} is no share")

    @property
    def estimate(self) -> float | None:
        """None where there were no trials."""
        return self.events / self.trials if self.trials else None

    def times(self, factor: float) -> Share:
        """As many events among so many times the trials."""
        return Share(round(self.events * factor), round(self.trials * factor))

    def log_ratio(self, share: float) -> float:
        """Logarithm of the evidence against ``share`` being the true one."""
        misses = self.trials - self.events
        evidence = (
            lgamma(self.events + 0.5) + lgamma(misses + 0.5) - lgamma(self.trials + 1)
        ) - _LOG_BETA_HALF
        return evidence - _times_log(self.events, share) - _times_log(misses, 1 - share)


def difference(baseline: Share, candidate: Share, alpha: float) -> Interval:
    """The candidate's share minus the baseline's, between -1 and 1."""
    middle = (candidate.estimate or 0) - (baseline.estimate or 0)

    def holds(delta: float) -> bool:
        return not excludes(baseline, candidate, delta, alpha)

    return Interval(_edge(holds, middle, -1), _edge(holds, middle, 1))


def excludes(baseline: Share, candidate: Share, delta: float, alpha: float) -> bool:
    """Whether the candidate's share minus the baseline's can no longer be ``delta``."""
    return _least(baseline, candidate, delta) >= -log(alpha)


def quantile_ranks(size: int, quantile: float, alpha: float) -> tuple[int, int]:
    """Ranks (from 1) of the values between which the quantile lies at all times; 0, size + 1: none.

    The values up to the true quantile are a share ``quantile`` of all, so the counts that do not
    speak against that share are the ranks that do not against the value.
    """
    limit = -log(alpha)
    middle = round(size * quantile)

    def holds(rank: int) -> bool:
        return Share(rank, size).log_ratio(quantile) < limit

    first = bisect_left(range(middle), True, key=holds)
    beyond = middle + bisect_left(range(middle, size + 1), True, key=lambda rank: not holds(rank))
    return first, beyond


def _least(baseline: Share, candidate: Share, delta: float) -> float:
    """The least evidence against any pair of shares that differ by ``delta``."""
    low, high = max(0.0, -delta), min(1.0, 1 - delta)

    def slope(share: float) -> float:
        return _slope(baseline, share) + _slope(candidate, share + delta)

    # The sum is convex in the share: its least value is where it ceases to fall.
    share = _edge(lambda at: slope(at) < 0, low, high)
    return baseline.log_ratio(share) + candidate.log_ratio(share + delta)


def _slope(count: Share, share: float) -> float:
    """How fast the evidence against a share grows with it."""
    misses = count.trials - count.events
    falls = inf if count.events and share <= 0 else count.events / max(share, 1e-300)
    rises = inf if misses and share >= 1 else misses / max(1 - share, 1e-300)
    return rises - falls


def _edge(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where ``holds`` ceases to be true on the way from ``inside`` to ``outside``."""
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return outside


def _times_log(count: int, share: float) -> float:
    """count log share, with 0 log 0 = 0."""
    if count == 0:
        return 0.0
    return count * log(share) if share > 0 else -inf
