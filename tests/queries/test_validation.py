"""`validation`: which field failed which keyword, in how many of the answers given."""

from __future__ import annotations

from typing import Any

from lives import AUTOMATIC, UNKNOWN, Lives, answered, requested

from elicitation_receipts.schemas.vocabulary import Keyword, Mode, Outcome

EMAIL = ("email", Keyword.FORMAT)
AGE = ("[2]", Keyword.MINIMUM)


def test_failures_by_keyword_field_and_round(lives: Lives, ask: Any) -> None:
    again = requested(after=1000)
    lives.add(
        requested(),
        answered(Outcome.INVALID, failed=[EMAIL, AGE]),
        again,
        answered(Outcome.INVALID, failed=[EMAIL]),
        again,
        answered(Outcome.ACCEPTED),
    )
    lives.add(requested(), answered(Outcome.ACCEPTED))
    lives.add(requested(), answered(Outcome.INVALID, failed=[EMAIL]))
    nobody = {"automatic": 0, "unknown": 0}
    assert ask("validation") == [
        {"keyword": "format", "field": "email", "round": 1, "failures": 2}
        | nobody
        | {"answers": 3, "failure_rate": 2 / 3},
        {"keyword": "format", "field": "email", "round": 2, "failures": 1}
        | nobody
        | {"answers": 1, "failure_rate": 1.0},
        {"keyword": "minimum", "field": "[2]", "round": 1, "failures": 1}
        | nobody
        | {"answers": 3, "failure_rate": 1 / 3},
    ]


def test_only_judged_content_is_an_answer(lives: Lives, ask: Any) -> None:
    lives.add(requested(), answered(Outcome.INVALID, failed=[EMAIL]))
    lives.add(requested(), answered(Outcome.DECLINED))
    lives.add(requested(), answered(Outcome.MALFORMED, UNKNOWN))
    lives.add(requested(), answered(Outcome.CONSENTED), mode=Mode.URL)
    [row] = ask("validation")
    assert (row["failures"], row["answers"]) == (1, 1)


def test_what_no_person_answered_stands_apart(lives: Lives, ask: Any) -> None:
    lives.add(requested(), answered(Outcome.INVALID, AUTOMATIC, failed=[EMAIL]))
    lives.add(requested(), answered(Outcome.INVALID, UNKNOWN, failed=[EMAIL]))
    [row] = ask("validation")
    assert (row["automatic"], row["unknown"]) == (1, 1)
    assert (row["failures"], row["answers"], row["failure_rate"]) == (0, 0, None)


def test_an_answer_that_was_not_delivered_is_none(lives: Lives, ask: Any) -> None:
    """It is given again within its round: the last attempt counts."""
    lives.add(
        requested(),
        answered(Outcome.INVALID, failed=[EMAIL]),
        answered(Outcome.INVALID, failed=[AGE]),
    )
    lives.add(requested(), answered(Outcome.INVALID, failed=[EMAIL]), answered(Outcome.DECLINED))
    [row] = ask("validation")
    assert (row["keyword"], row["failures"], row["answers"]) == ("minimum", 1, 1)


def test_a_failure_without_a_field_is_counted(lives: Lives, ask: Any) -> None:
    lives.add(requested(), answered(Outcome.INVALID))
    lives.add(requested(), answered(Outcome.INVALID, validation=None))
    lives.add(requested(), answered(Outcome.INVALID, failed=[(None, Keyword.REQUIRED)]))
    rows = [(row["keyword"], row["field"], row["failures"]) for row in ask("validation")]
    assert rows == [(None, None, 2), ("required", None, 1)]


def test_a_field_that_fails_a_keyword_twice_fails_once(lives: Lives, ask: Any) -> None:
    lives.add(requested(), answered(Outcome.INVALID, failed=[EMAIL, EMAIL]))
    [row] = ask("validation")
    assert (row["failures"], row["failure_rate"]) == (1, 1)


def test_answers_are_those_of_the_same_group(lives: Lives, ask: Any) -> None:
    lives.add(requested(), answered(Outcome.INVALID, failed=[EMAIL]), server_name="a")
    lives.add(requested(), answered(Outcome.ACCEPTED), server_name="a")
    lives.add(requested(), answered(Outcome.INVALID, failed=[EMAIL]), server_name=None)
    lives.add(requested(), answered(Outcome.ACCEPTED), server_name="c")
    rows = [
        (row["server"], row["failures"], row["answers"]) for row in ask("validation", by=["server"])
    ]
    assert rows == [("a", 1, 2), (None, 1, 1)]
