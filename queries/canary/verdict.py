"""The verdict on a candidate: promote, roll back, or hold because there is not enough evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, inf, isfinite

from elicitation_receipts.queries.canary.anytime import Interval, Share, difference
from elicitation_receipts.queries.canary.thresholds import Threshold, Thresholds


class Standing(StrEnum):
    """What the interval of a difference says of the candidate."""

    FINE = "fine"  # not worse by more than the margin
    WORSE = "worse"  # worse, and perhaps by more than the margin
    UNCLEAR = "unclear"  # either may be
    TOO_FEW = "too_few"  # an arm has less than the minimum


class Verdict(StrEnum):
    PROMOTE = "promote"  # every measure is fine
    ROLL_BACK = "roll_back"  # one is worse
    HOLD = "hold"  # neither can be said yet


@dataclass(frozen=True, slots=True)
class Median:
    """A median wait in seconds, and where it lies at all times; None: an end is not known yet."""

    measured: int
    estimate: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure of both arms.

    ``difference``, ``low``, ``high``: candidate minus baseline for shares; for waits the change as
    a part of the baseline's median. ``missing``: about how many more questions each arm needs at
    the rates so far; None where nothing is missing, or no number would do.
    """

    threshold: Threshold
    baseline_count: int
    candidate_count: int
    baseline: float | None
    candidate: float | None
    difference: float | None
    low: float | None
    high: float | None
    standing: Standing
    missing: int | None


def compare_shares(threshold: Threshold, arms: Sequence[Share], limits: Thresholds) -> Comparison:
    """``arms``: baseline, candidate."""
    baseline, candidate = arms
    estimates = baseline.estimate, candidate.estimate
    change = None
    if baseline.estimate is not None and candidate.estimate is not None:
        change = candidate.estimate - baseline.estimate
    interval = difference(baseline, candidate, limits.alpha_each)
    return _compared(
        threshold, (baseline.trials, candidate.trials), estimates, change, interval, limits.minimum
    )


def compare_waits(threshold: Threshold, arms: Sequence[Median], limits: Thresholds) -> Comparison:
    """``arms``: baseline, candidate; the interval of each made for half of ``alpha_each``."""
    baseline, candidate = arms
    low = _change(baseline.high, candidate.low)
    high = _change(baseline.low, candidate.high)
    return _compared(
        threshold,
        (baseline.measured, candidate.measured),
        (baseline.estimate, candidate.estimate),
        _change(baseline.estimate, candidate.estimate),
        Interval(-1 if low is None else low, inf if high is None else high),
        limits.minimum,
    )


def verdict(comparisons: Sequence[Comparison]) -> Verdict:
    standings = {comparison.standing for comparison in comparisons}
    if Standing.WORSE in standings:
        return Verdict.ROLL_BACK
    return Verdict.PROMOTE if standings == {Standing.FINE} else Verdict.HOLD


def _compared(
    threshold: Threshold,
    counts: tuple[int, int],
    estimates: tuple[float | None, float | None],
    change: float | None,
    interval: Interval,
    minimum: int,
) -> Comparison:
    least = min(counts)
    missing: int | None
    if least < minimum or change is None:
        standing, missing = Standing.TOO_FEW, minimum - least
    else:
        worse = -change if threshold.lower_is_worse else change
        worsening = interval
        if threshold.lower_is_worse:
            worsening = Interval(-interval.high, -interval.low)
        standing = _standing(worsening, threshold.margin)
        missing = _missing(least, worse, worsening, threshold.margin)
    return Comparison(
        threshold,
        *counts,
        *estimates,
        change,
        interval.low,
        interval.high if isfinite(interval.high) else None,
        standing,
        missing if standing in (Standing.UNCLEAR, Standing.TOO_FEW) else None,
    )


def _standing(worsening: Interval, margin: float) -> Standing:
    if worsening.high <= margin:
        return Standing.FINE
    return Standing.WORSE if worsening.low > 0 else Standing.UNCLEAR


def _missing(count: int, worse: float, worsening: Interval, margin: float) -> int | None:
    """How many more until the interval, which narrows as the root of the count, leaves no doubt."""
    if worse < margin:
        reach, room = worsening.high - worse, margin - worse
    else:
        reach, room = worse - worsening.low, worse
    if room <= 0 or not isfinite(reach):
        return None
    return max(1, ceil(count * ((reach / room) ** 2 - 1)))


def _change(baseline: float | None, candidate: float | None) -> float | None:
    """From one wait to the other, as a part of the first."""
    if baseline is None or candidate is None or baseline <= 0:
        return None
    return candidate / baseline - 1
