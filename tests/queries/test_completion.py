"""`completion`: what each column counts, one rule a test, figures counted by hand."""

from __future__ import annotations

from typing import Any

import pytest
from lives import (
    AUTOMATIC,
    PERSON,
    POLICY,
    RUNTIME,
    UNKNOWN,
    Lives,
    answered,
    completed,
    ended,
    refused,
    requested,
    resumed,
)

from elicitation_receipts.schemas.vocabulary import Carrier, DecidedBy, Mode, Outcome

URL = {"mode": Mode.URL}

#: One life of each way to end, and the one column it stands in.
ENDINGS = {
    "accepted": [requested(), answered(Outcome.ACCEPTED), resumed()],
    "completed": [requested(), answered(Outcome.CONSENTED), completed(), resumed()],
    "automatic": [requested(), answered(Outcome.ACCEPTED, AUTOMATIC, after=1000), resumed()],
    "unknown": [requested(), answered(Outcome.ACCEPTED, UNKNOWN), resumed()],
    "declined": [requested(), answered(Outcome.DECLINED), resumed()],
    "cancelled": [requested(), answered(Outcome.CANCELLED), resumed()],
    "invalid": [requested(), answered(Outcome.INVALID), resumed()],
    "malformed": [requested(), answered(Outcome.MALFORMED, UNKNOWN)],
    "ambiguous": [requested(), answered(Outcome.AMBIGUOUS, UNKNOWN)],
    "unsupported": [requested(), refused(Outcome.UNSUPPORTED)],
    "errored": [requested(), refused(Outcome.ERRORED)],
    "blocked": [requested(), refused(Outcome.BLOCKED, POLICY)],
    "withdrawn": [requested(), refused(Outcome.WITHDRAWN, RUNTIME)],
    "expired": [requested(), ended(Outcome.EXPIRED)],
    "abandoned": [requested(), ended(Outcome.ABANDONED)],
    "unproven": [requested(), answered(Outcome.CONSENTED), ended(Outcome.UNPROVEN)],
    "open": [requested()],
}


def counts(row: dict[str, Any]) -> dict[str, int]:
    """The columns an elicitation can stand in, those that are not zero."""
    return {name: row[name] for name in ENDINGS if row[name]}


def test_columns_and_their_order(lives: Lives, ask: Any) -> None:
    lives.add(*ENDINGS["accepted"])
    [row] = ask("completion")
    assert list(row) == ["put", *ENDINGS, "rounds", "completion_rate"]


@pytest.mark.parametrize("column", ENDINGS)
def test_every_ending_stands_in_one_column(column: str, lives: Lives, ask: Any) -> None:
    lives.add(*ENDINGS[column], **(URL if column in ("completed", "unproven") else {}))
    [row] = ask("completion")
    assert counts(row) == {column: 1}
    assert row["put"] == (column != "blocked")


def test_all_endings_together(lives: Lives, ask: Any) -> None:
    for column, steps in ENDINGS.items():
        lives.add(*steps, **(URL if column in ("completed", "unproven") else {}))
    [row] = ask("completion")
    assert counts(row) == dict.fromkeys(ENDINGS, 1)
    assert row["put"] == len(ENDINGS) - 1
    assert row["completion_rate"] == 2 / 16


@pytest.mark.parametrize("by", [AUTOMATIC, UNKNOWN])
@pytest.mark.parametrize(
    "outcome", [Outcome.ACCEPTED, Outcome.DECLINED, Outcome.CANCELLED, Outcome.INVALID]
)
def test_only_a_person_is_counted_as_one(
    outcome: Outcome, by: DecidedBy, lives: Lives, ask: Any
) -> None:
    lives.add(requested(), answered(outcome, by))
    [row] = ask("completion")
    assert counts(row) == {"automatic" if by is AUTOMATIC else "unknown": 1}
    assert row["completion_rate"] == 0


@pytest.mark.parametrize(("by", "column"), [(AUTOMATIC, "automatic"), (UNKNOWN, "unknown")])
def test_a_completion_does_not_hide_who_consented(
    by: DecidedBy, column: str, lives: Lives, ask: Any
) -> None:
    lives.add(requested(), answered(Outcome.CONSENTED, by), completed(), **URL)
    [row] = ask("completion")
    assert counts(row) == {column: 1}
    assert row["completion_rate"] == 0


def test_a_url_completes_without_an_answer_where_the_client_retries(lives: Lives, ask: Any) -> None:
    lives.add(requested(), completed(), resumed(), carrier=Carrier.URL_REQUIRED_ERROR, **URL)
    [row] = ask("completion")
    assert counts(row) == {"completed": 1}
    assert row["completion_rate"] == 1


def test_consent_alone_is_still_open(lives: Lives, ask: Any) -> None:
    lives.add(requested(), answered(Outcome.CONSENTED), **URL)
    [row] = ask("completion")
    assert counts(row) == {"open": 1}


def test_the_rate_takes_accepted_task_inputs_and_leaves_out_modes_nobody_knows(
    lives: Lives, ask: Any
) -> None:
    lives.add(*ENDINGS["accepted"], mode=Mode.TASK_INPUT, carrier=Carrier.TASK)
    lives.add(*ENDINGS["accepted"], mode=Mode.UNKNOWN)
    [row] = ask("completion")
    assert (row["accepted"], row["completion_rate"]) == (2, 1 / 2)


def test_a_refusal_of_the_whole_operation_was_never_put(lives: Lives, ask: Any) -> None:
    """Error -32021: there is no question, hence no digest of one."""
    nobody_asked = requested(question_digest=None)
    lives.add(nobody_asked, refused(Outcome.UNSUPPORTED), carrier=Carrier.MULTI_ROUND_TRIP)
    [row] = ask("completion")
    assert (row["put"], row["unsupported"], row["rounds"]) == (0, 1, 0)
    assert row["completion_rate"] is None


def test_a_question_put_to_a_client_that_refuses_it_was_put(lives: Lives, ask: Any) -> None:
    lives.add(requested(question_digest=None), refused(Outcome.UNSUPPORTED))
    [row] = ask("completion")
    assert (row["put"], row["unsupported"]) == (1, 1)


def test_an_elicitation_counts_once_by_its_last_round(lives: Lives, ask: Any) -> None:
    again = requested(after=1000)
    lives.add(
        requested(),
        answered(Outcome.INVALID, AUTOMATIC),
        again,
        answered(Outcome.DECLINED),
        again,
        answered(Outcome.ACCEPTED, PERSON),
        resumed(),
    )
    lives.add(*ENDINGS["open"])
    [row] = ask("completion")
    assert counts(row) == {"accepted": 1, "open": 1}
    assert (row["put"], row["rounds"], row["completion_rate"]) == (2, 4, 1 / 2)


def test_an_empty_database_gives_no_row(ask: Any) -> None:
    assert ask("completion") == []
