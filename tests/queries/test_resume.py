"""`resume`: exact quantiles of the intervals, and what is left out of them."""

from __future__ import annotations

from typing import Any

import pytest
from lives import AUTOMATIC, SECOND, UNKNOWN, Lives, answered, completed, requested, resumed

from elicitation_receipts.schemas.vocabulary import Carrier, Clock, Mode, Outcome

INTERVALS = ["human_wait", "between_rounds", "ceremony", "resume", "time_to_resume"]
FIGURES = ["count", "p50_seconds", "p90_seconds", "p99_seconds", "max_seconds"]
LEFT_OUT = ["automatic", "unknown", "wall_clock", "unattributed"]


def by_interval(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["interval"]: row for row in rows}


def test_a_row_an_interval(lives: Lives, ask: Any) -> None:
    lives.add(requested(), answered(Outcome.ACCEPTED), resumed())
    rows = ask("resume")
    assert [row["interval"] for row in rows] == INTERVALS
    assert list(rows[0]) == ["interval", *FIGURES, *LEFT_OUT]


def test_intervals_are_summed_over_rounds(lives: Lives, ask: Any) -> None:
    lives.add(
        requested(),
        answered(Outcome.INVALID, after=10 * SECOND),
        requested(after=2 * SECOND),
        answered(Outcome.ACCEPTED, after=4 * SECOND),
        resumed(after=SECOND // 4),
    )
    rows = by_interval(ask("resume"))
    assert rows["human_wait"]["max_seconds"] == 14
    assert rows["between_rounds"]["max_seconds"] == 2
    assert rows["resume"]["max_seconds"] == 0.25
    assert rows["time_to_resume"]["max_seconds"] == 16.25
    assert rows["ceremony"]["count"] == 0
    assert rows["ceremony"]["p50_seconds"] is None


def test_a_ceremony_lasts_from_consent_to_completion(lives: Lives, ask: Any) -> None:
    lives.add(
        requested(),
        answered(Outcome.CONSENTED, after=3 * SECOND),
        completed(after=42 * SECOND),
        resumed(after=SECOND),
        mode=Mode.URL,
    )
    rows = by_interval(ask("resume"))
    assert rows["ceremony"]["max_seconds"] == 42
    assert rows["resume"]["max_seconds"] == 1
    assert rows["time_to_resume"]["max_seconds"] == 46


def test_quantiles_are_waits_that_happened(lives: Lives, ask: Any) -> None:
    """Nearest rank of 1 to 100 seconds."""
    for seconds in range(1, 101):
        lives.add(requested(), answered(Outcome.ACCEPTED, after=seconds * SECOND))
    row = by_interval(ask("resume"))["human_wait"]
    assert [row[name] for name in FIGURES] == [100, 50, 90, 99, 100]


@pytest.mark.parametrize(("by", "column"), [(AUTOMATIC, "automatic"), (UNKNOWN, "unknown")])
def test_no_wait_of_a_machine_is_a_human_one(by: Any, column: str, lives: Lives, ask: Any) -> None:
    lives.add(requested(), answered(Outcome.ACCEPTED, by, after=1000), resumed())
    lives.add(requested(), answered(Outcome.ACCEPTED, after=9 * SECOND), resumed())
    for row in ask("resume"):
        measured = row["interval"] in ("human_wait", "resume", "time_to_resume")
        assert (row["count"], row[column]) == ((1, 1) if measured else (0, 0))
    assert by_interval(ask("resume"))["human_wait"]["p50_seconds"] == 9


def test_time_to_resume_needs_an_answer(lives: Lives, ask: Any) -> None:
    lives.add(
        requested(),
        completed(),
        resumed(),
        mode=Mode.URL,
        carrier=Carrier.URL_REQUIRED_ERROR,
    )
    rows = by_interval(ask("resume"))
    assert (rows["resume"]["count"], rows["time_to_resume"]["count"]) == (1, 0)


def test_what_rests_on_two_clocks_is_marked(lives: Lives, ask: Any) -> None:
    lives.add(requested(), answered(Outcome.ACCEPTED, clock=Clock.WALL))
    lives.add(requested(), answered(Outcome.ACCEPTED))
    row = by_interval(ask("resume"))["human_wait"]
    assert (row["count"], row["wall_clock"]) == (2, 1)


def test_questions_without_an_operation_are_unattributed(lives: Lives, ask: Any) -> None:
    lives.add(requested(), answered(Outcome.ACCEPTED), operation_id=None)
    lives.add(requested(), answered(Outcome.ACCEPTED), resumed())
    rows = by_interval(ask("resume"))
    assert {row["unattributed"] for row in rows.values()} == {1}
    assert (rows["human_wait"]["count"], rows["resume"]["count"]) == (2, 1)
