"""How often a canary that is looked at every minute is wrong, and how much it must see to be sure.

Simulates pairs of arms whose questions come in by the minute, looks after every minute, and stops
at the first verdict. Beside it, in the same runs, what an interval made for a single look
(Wald, 95 %) would have said.

    python benchmarks/canary.py [--quick]
"""

from __future__ import annotations

import argparse
import random
from statistics import median

from rich.console import Console
from rich.progress import track
from rich.table import Table

from elicitation_receipts.queries.canary.anytime import Share, excludes

ALPHA = 0.05
PER_MINUTE = 20  # questions an arm
COMPLETED = 0.8  # the baseline's true share
Z = 1.96


def arm(events: int, trials: int, share: float, source: random.Random) -> tuple[int, int]:
    return events + sum(source.random() < share for _ in range(PER_MINUTE)), trials + PER_MINUTE


def single_look_excludes_none(baseline: Share, candidate: Share) -> bool:
    """Whether the textbook interval of the difference leaves zero out."""
    one, other = baseline.events / baseline.trials, candidate.events / candidate.trials
    variance = one * (1 - one) / baseline.trials + other * (1 - other) / candidate.trials
    return abs(one - other) > Z * variance**0.5


def first_alarms(worse: float, minutes: int, seed: int) -> tuple[int | None, int | None]:
    """Questions an arm had seen at the first alarm: ours, and the single look's."""
    source = random.Random(seed)
    ours = single = None
    baseline = candidate = (0, 0)
    for _ in range(minutes):
        baseline = arm(*baseline, COMPLETED, source)
        candidate = arm(*candidate, COMPLETED - worse, source)
        shares = Share(*baseline), Share(*candidate)
        if ours is None and excludes(*shares, 0, ALPHA):
            ours = baseline[1]
        if single is None and single_look_excludes_none(*shares):
            single = baseline[1]
        if ours and single:
            break
    return ours, single


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs, wider of the truth")
    quick = parser.parse_args().quick
    table = Table(
        "true change",
        "runs",
        "minutes",
        "alarms",
        "of a single look's interval",
        "questions an arm until the alarm, median",
    )
    for worse, runs, minutes in (
        (0.0, 100 if quick else 1000, 1440),
        (0.02, 10 if quick else 100, 5000),
        (0.05, 20 if quick else 200, 1440),
    ):
        found = [
            first_alarms(worse, minutes, seed)
            for seed in track(range(runs), f"{worse:.0%} worse", transient=True)
        ]
        ours = [at for at, _ in found if at]
        single = [at for _, at in found if at]
        table.add_row(
            f"{-worse:.0%}" if worse else "none",
            str(runs),
            str(minutes),
            f"{len(ours) / runs:.1%}",
            f"{len(single) / runs:.1%}",
            f"{median(ours):,.0f}" if worse and ours else "-",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
