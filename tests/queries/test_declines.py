"""`declines`: a person's no, beside what no person decided."""

from __future__ import annotations

from typing import Any

import pytest
from lives import (
    AUTOMATIC,
    POLICY,
    RUNTIME,
    UNKNOWN,
    Lives,
    Step,
    answered,
    completed,
    ended,
    refused,
    requested,
)

from elicitation_receipts.schemas.vocabulary import Mode, Outcome

COLUMNS = ["declined", "cancelled", "automatic", "runtime", "policy", "unknown"]


@pytest.mark.parametrize(
    ("steps", "column"),
    [
        ([answered(Outcome.DECLINED)], "declined"),
        ([answered(Outcome.CANCELLED)], "cancelled"),
        ([answered(Outcome.DECLINED, AUTOMATIC)], "automatic"),
        ([answered(Outcome.CANCELLED, AUTOMATIC)], "automatic"),
        ([answered(Outcome.ACCEPTED, AUTOMATIC)], "automatic"),
        ([answered(Outcome.CONSENTED, AUTOMATIC), completed()], "automatic"),
        ([answered(Outcome.DECLINED, UNKNOWN)], "unknown"),
        ([answered(Outcome.MALFORMED, UNKNOWN)], "unknown"),
        ([answered(Outcome.AMBIGUOUS, UNKNOWN)], "unknown"),
        ([refused(Outcome.WITHDRAWN, UNKNOWN)], "unknown"),
        ([refused(Outcome.WITHDRAWN, RUNTIME)], "runtime"),
        ([refused(Outcome.UNSUPPORTED)], "runtime"),
        ([refused(Outcome.ERRORED)], "runtime"),
        ([ended(Outcome.EXPIRED)], "runtime"),
        ([ended(Outcome.ABANDONED)], "runtime"),
        ([answered(Outcome.CONSENTED), ended(Outcome.UNPROVEN)], "runtime"),
        ([refused(Outcome.BLOCKED, POLICY)], "policy"),
        ([answered(Outcome.ACCEPTED)], None),
        ([answered(Outcome.INVALID)], None),
        ([answered(Outcome.CONSENTED), completed()], None),
        ([answered(Outcome.CONSENTED)], None),
        ([answered(Outcome.CONSENTED, UNKNOWN)], None),
        ([], None),
    ],
)
def test_who_decided(steps: list[Step], column: str | None, lives: Lives, ask: Any) -> None:
    lives.add(requested(), *steps, mode=Mode.URL)
    [row] = ask("declines")
    assert [name for name in COLUMNS if row[name]] == ([column] if column else [])


def test_rates_are_shares_of_what_was_put(lives: Lives, ask: Any) -> None:
    lives.add(requested(), answered(Outcome.DECLINED))
    lives.add(requested(), answered(Outcome.DECLINED, AUTOMATIC))
    lives.add(requested(), answered(Outcome.CANCELLED))
    lives.add(requested(), answered(Outcome.ACCEPTED))
    lives.add(requested(), refused(Outcome.BLOCKED, POLICY))
    [row] = ask("declines")
    assert list(row) == ["put", *COLUMNS, "rounds", "decline_rate", "cancel_rate"]
    assert (row["put"], row["rounds"]) == (4, 4)
    assert (row["decline_rate"], row["cancel_rate"]) == (1 / 4, 1 / 4)


def test_no_rate_of_nothing(lives: Lives, ask: Any) -> None:
    lives.add(requested(), refused(Outcome.BLOCKED, POLICY))
    [row] = ask("declines")
    assert (row["put"], row["policy"], row["decline_rate"], row["cancel_rate"]) == (
        0,
        1,
        None,
        None,
    )
