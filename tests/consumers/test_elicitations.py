"""The view `elicitations`: lives written by hand, with every figure worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from typing import Any
from uuid import uuid4

import pytest
import sample
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streams import ListSource, seal

from elicitation_receipts.consumers.landing import Lander
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.receipt import Keyed, Receipt
from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    Clock,
    DecidedBy,
    Decision,
    Event,
    Mode,
    OperationResult,
    Outcome,
    Proof,
)

PERSON, AUTOMATIC = DecidedBy.PERSON_CLAIMED, DecidedBy.AUTOMATIC_SUSPECTED
RUNTIME, POLICY = DecidedBy.RUNTIME, DecidedBy.POLICY
MEASURES = (
    "human_wait_us",
    "between_rounds_us",
    "ceremony_us",
    "resume_us",
    "time_to_resume_us",
)


class Life:
    """One elicitation; every method is an event, ``after`` microseconds behind the one before."""

    def __init__(self, **fields: Any) -> None:
        self.receipts: list[Receipt] = []
        self._fields = {
            "elicitation_id": uuid4(),
            "operation_id": uuid4(),
            "carrier": Carrier.SERVER_REQUEST,
            "mode": Mode.FORM,
            "question_digest": Keyed("0" * 12, b"q" * 32),
        } | fields
        self._stream_id = uuid4()
        self._round = 0
        self._now = 1_700_000_000_000_000

    def asked(self, after: int = 0, **fields: Any) -> Life:
        self._round += 1
        return self.event(Event.REQUESTED, after, outcome=Outcome.OPEN, **fields)

    def answered(self, after: int, outcome: Outcome, by: DecidedBy = PERSON, **fields: Any) -> Life:
        return self.event(Event.ANSWERED, after, outcome=outcome, decided_by=by, **fields)

    def refused(self, after: int, outcome: Outcome, by: DecidedBy = RUNTIME) -> Life:
        return self.event(Event.REFUSED, after, outcome=outcome, decided_by=by)

    def completed(self, after: int, proof: Proof = Proof.SERVER_NOTIFICATION) -> Life:
        return self.event(
            Event.COMPLETED, after, outcome=Outcome.COMPLETED, decided_by=RUNTIME, proof=proof
        )

    def resumed(self, after: int, result: OperationResult = OperationResult.SUCCESS) -> Life:
        return self.event(Event.RESUMED, after, operation_result=result)

    def ended(self, after: int, event: Event, outcome: Outcome) -> Life:
        return self.event(event, after, outcome=outcome, decided_by=RUNTIME)

    def noted(self, after: int, **fields: Any) -> Life:
        return self.event(Event.NOTED, after, **fields)

    def event(self, event: Event, after: int, **fields: Any) -> Life:
        first = not self.receipts
        self._now += after
        self.receipts.append(
            sample.receipt(
                self._stream_id,
                event,
                **self._fields
                | {
                    "round": self._round,
                    "occurred_at": self._now,
                    "since_previous_us": None if first else after,
                    "clock": None if first else Clock.MONOTONIC,
                }
                | fields,
            )
        )
        return self


def view_of(warehouse: Warehouse, life: Life, lost: tuple[int, ...] = ()) -> dict[str, Any]:
    """Land a life without the ``lost`` receipts of it; its row in the view."""
    source = ListSource(str(uuid4()))
    source.add_sealed(*(one for one in seal(life.receipts) if one.receipt.sequence not in lost))
    Lander(warehouse, source, Key(b"k" * 32)).land()
    with warehouse.read() as database:
        result = database.execute(
            "FROM elicitations WHERE elicitation_id = ?", [life.receipts[0].elicitation_id]
        )
        names = [column[0] for column in result.description]
        [row] = result.fetchall()
    return dict(zip(names, row, strict=True))


def measures(row: dict[str, Any]) -> tuple[int | None, ...]:
    return tuple(row[name] for name in MEASURES)


def test_a_form_accepted(warehouse: Warehouse) -> None:
    life = Life(server_name="files", tool="delete", policy_id="strict")
    row = view_of(
        warehouse, life.asked(decision=Decision.ALLOW).answered(5, Outcome.ACCEPTED).resumed(3)
    )
    assert measures(row) == (5, None, None, 3, 8)
    expected = {
        "state": "accepted",
        "decided_by": "person_claimed",
        "answered_by": "person_claimed",
        "any_automatic": False,
        "put": True,
        "unanswered": False,
        "rounds": 1,
        "attempts": 1,
        "operation_result": "success",
        "wall_clock": False,
        "server_name": "files",
        "tool": "delete",
        "policy_id": "strict",
        "decision": "allow",
        "put_at": datetime(2023, 11, 14, 22, 13, 20),  # noqa: DTZ001  (as DuckDB gives it)
        "day": date(2023, 11, 14),
        "first_sequence": 0,
        "last_sequence": 2,
        "tenant": "default",
        "vantage": "stdio",
    }
    assert expected.items() <= row.items()


def test_an_invalid_form_asked_again(warehouse: Warehouse) -> None:
    life = Life().asked().answered(5, Outcome.INVALID).asked(2).answered(7, Outcome.ACCEPTED)
    row = view_of(warehouse, life.resumed(3))
    assert measures(row) == (12, 2, None, 3, 17)
    assert (row["rounds"], row["attempts"], row["state"]) == (2, 2, "accepted")


def test_a_url_consented_and_completed(warehouse: Warehouse) -> None:
    life = Life(mode=Mode.URL).asked().answered(5, Outcome.CONSENTED, AUTOMATIC)
    row = view_of(warehouse, life.completed(11).resumed(3))
    assert measures(row) == (5, None, 11, 3, 19)
    # The completion does not hide who consented.
    assert (row["state"], row["decided_by"]) == ("completed", "runtime")
    assert (row["answered_by"], row["any_automatic"]) == ("automatic_suspected", True)
    assert row["proof"] == "server_notification"


def test_a_url_asked_again_on_retry(warehouse: Warehouse) -> None:
    life = Life(mode=Mode.URL).asked().answered(5, Outcome.CONSENTED).asked(7)
    life.answered(11, Outcome.CONSENTED).completed(13, Proof.OPERATION_RESULT).resumed(0)
    assert measures(view_of(warehouse, life)) == (16, 7, 13, 0, 36)


def test_a_url_completed_after_the_operation_went_on(warehouse: Warehouse) -> None:
    life = Life(mode=Mode.URL).asked().answered(5, Outcome.CONSENTED).resumed(3).completed(20)
    row = view_of(warehouse, life)
    # The ceremony took 23, of which the operation waited for none.
    assert measures(row) == (5, None, 23, 3, 8)
    assert row["state"] == "completed"


def test_a_url_completed_in_one_round_and_asked_again(warehouse: Warehouse) -> None:
    life = Life(mode=Mode.URL).asked().answered(5, Outcome.CONSENTED).completed(7).asked(2)
    row = view_of(warehouse, life.answered(3, Outcome.DECLINED).resumed(1))
    assert measures(row) == (8, 2, 7, 1, 18)
    assert row["state"] == "declined"


def test_consented_and_never_proved(warehouse: Warehouse) -> None:
    life = Life(mode=Mode.URL).asked().answered(5, Outcome.CONSENTED)
    row = view_of(warehouse, life.ended(100, Event.ABANDONED, Outcome.UNPROVEN))
    assert measures(row) == (5, None, None, None, None)
    assert (row["state"], row["unanswered"], row["decided_by"]) == ("unproven", False, "runtime")


def test_answered_and_never_resumed(warehouse: Warehouse) -> None:
    row = view_of(warehouse, Life().asked().answered(5, Outcome.DECLINED))
    assert measures(row) == (5, None, None, None, None)


def test_an_answer_that_was_not_delivered_and_given_again(warehouse: Warehouse) -> None:
    life = Life().asked().answered(5, Outcome.ACCEPTED, attempt=1)
    life.noted(1, outcome=Outcome.OPEN).answered(4, Outcome.ACCEPTED, attempt=2).resumed(2)
    row = view_of(warehouse, life)
    assert measures(row) == (10, None, None, 2, 12)
    assert (row["rounds"], row["attempts"]) == (1, 2)


def test_an_answer_that_was_not_delivered_leaves_the_question_open(warehouse: Warehouse) -> None:
    row = view_of(
        warehouse, Life().asked().answered(5, Outcome.ACCEPTED).noted(1, outcome=Outcome.OPEN)
    )
    assert (row["state"], row["decided_by"]) == ("open", None)


def test_what_is_noted_counts_as_time_and_changes_nothing(warehouse: Warehouse) -> None:
    life = Life().asked().noted(2).answered(5, Outcome.ACCEPTED).noted(3).resumed(4).noted(9)
    row = view_of(warehouse, life)
    assert measures(row) == (7, None, None, 7, 14)
    assert (row["state"], row["answered_by"]) == ("accepted", "person_claimed")


def test_rounds_without_an_answer_lie_between_those_with_one(warehouse: Warehouse) -> None:
    life = Life().asked().refused(3, Outcome.ERRORED).asked(4).answered(5, Outcome.INVALID)
    life.asked(6).refused(7, Outcome.ERRORED).asked(8).answered(9, Outcome.ACCEPTED).resumed(10)
    row = view_of(warehouse, life)
    assert measures(row) == (14, 3 + 4 + 6 + 7 + 8, None, 10, 52)
    assert row["rounds"] == 4


def test_a_last_round_without_an_answer_lies_before_the_resume(warehouse: Warehouse) -> None:
    life = Life().asked().answered(5, Outcome.INVALID).asked(2).refused(3, Outcome.ERRORED)
    row = view_of(warehouse, life.resumed(4, OperationResult.ERROR))
    assert measures(row) == (5, None, None, 9, 14)
    assert (row["state"], row["operation_result"]) == ("errored", "error")


def test_nobody_answered(warehouse: Warehouse) -> None:
    life = Life().asked().refused(3, Outcome.UNSUPPORTED).resumed(4)
    row = view_of(warehouse, life)
    assert measures(row) == (None, None, None, None, None)
    assert (row["put"], row["answered_by"], row["attempts"]) == (True, None, 0)


@pytest.mark.parametrize(
    ("event", "outcome", "unanswered"),
    [
        (Event.ABANDONED, Outcome.ABANDONED, True),
        (Event.EXPIRED, Outcome.EXPIRED, True),
        (Event.REFUSED, Outcome.WITHDRAWN, False),
    ],
)
def test_unanswered(warehouse: Warehouse, event: Event, outcome: Outcome, unanswered: bool) -> None:
    again = Life().asked().answered(1, Outcome.INVALID).asked(1).ended(5, event, outcome)
    assert view_of(warehouse, again)["unanswered"] is unanswered
    assert view_of(warehouse, Life().asked().ended(5, event, outcome))["unanswered"] is unanswered


def test_an_expiry_after_an_answer_is_not_unanswered(warehouse: Warehouse) -> None:
    life = Life(mode=Mode.URL).asked().answered(5, Outcome.CONSENTED)
    row = view_of(warehouse, life.ended(9, Event.EXPIRED, Outcome.EXPIRED))
    assert (row["state"], row["unanswered"]) == ("expired", False)


def test_what_was_never_put(warehouse: Warehouse) -> None:
    blocked = Life().asked(decision=Decision.BLOCK).refused(0, Outcome.BLOCKED, POLICY)
    row = view_of(warehouse, blocked)
    assert (row["put"], row["decided_by"], row["decision"]) == (False, "policy", "block")
    # Error -32021: the server wanted a capability, and worded no question.
    missing = {"carrier": Carrier.MULTI_ROUND_TRIP, "question_digest": None}
    named = Life(**missing).asked().refused(0, Outcome.UNSUPPORTED)
    assert view_of(warehouse, named)["put"] is False
    # A form over the same carrier that a redaction failure left without a digest was put.
    assert view_of(warehouse, Life(**missing).asked().answered(1, Outcome.DECLINED))["put"] is True
    assert view_of(warehouse, Life().asked().refused(0, Outcome.UNSUPPORTED))["put"] is True


def test_a_question_becomes_a_tasks(warehouse: Warehouse) -> None:
    life = Life().asked()
    life.noted(1, carrier=Carrier.TASK, mode=Mode.TASK_INPUT)
    row = view_of(
        warehouse, life.answered(2, Outcome.ACCEPTED, carrier=Carrier.TASK, mode=Mode.TASK_INPUT)
    )
    assert (row["carrier"], row["mode"]) == ("task", "task_input")


def test_the_policy_is_the_one_of_the_last_question(warehouse: Warehouse) -> None:
    life = Life().asked(policy_version="1", decision=Decision.ALLOW).answered(1, Outcome.INVALID)
    life.asked(1, policy_version="2", decision=Decision.WARN).noted(1, policy_version="3")
    row = view_of(warehouse, life)
    assert (row["policy_version"], row["decision"]) == ("2", "warn")


def test_another_watchers_clock_is_said(warehouse: Warehouse) -> None:
    life = Life().asked().answered(5, Outcome.ACCEPTED, clock=Clock.WALL).resumed(3)
    row = view_of(warehouse, life)
    assert (row["wall_clock"], *measures(row)) == (True, 5, None, None, 3, 8)


@pytest.mark.parametrize("lost", range(4))
def test_no_interval_is_better_than_a_wrong_one(warehouse: Warehouse, lost: int) -> None:
    life = Life().asked().noted(1).answered(5, Outcome.ACCEPTED).resumed(3).noted(1)
    row = view_of(warehouse, life, lost=(lost,))
    assert measures(row) == (None, None, None, None, None)
    assert row["state"] == ("open" if lost == 2 else "accepted")
    assert row["put"] is True
    # What was missing lands later: now it can be told.
    assert measures(view_of(warehouse, life)) == (6, None, None, 3, 9)


def test_what_is_lost_behind_the_end_does_not_matter(warehouse: Warehouse) -> None:
    life = Life().asked().answered(5, Outcome.ACCEPTED).resumed(3).noted(1)
    assert measures(view_of(warehouse, life, lost=(3,))) == (5, None, None, 3, 8)


def test_a_receipt_without_its_interval_makes_the_sum_unknown(warehouse: Warehouse) -> None:
    life = Life().asked().answered(5, Outcome.ACCEPTED, since_previous_us=None).resumed(3)
    assert measures(view_of(warehouse, life)) == (None, None, None, None, None)


def test_intervals_no_column_can_hold_are_unknown(warehouse: Warehouse) -> None:
    life = Life().asked().answered(2**63 - 1, Outcome.ACCEPTED, occurred_at=0)
    life.receipts.append(
        replace(life.receipts[-1], receipt_id=uuid4(), event=Event.RESUMED, outcome=None)
    )
    assert measures(view_of(warehouse, life)) == (2**63 - 1, None, None, 2**63 - 1, None)


# The sum of the parts

ENDS = [Outcome.INVALID, Outcome.ACCEPTED, Outcome.DECLINED, Outcome.CONSENTED, Outcome.ERRORED]


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    lives=st.lists(
        st.lists(
            st.tuples(st.sampled_from(ENDS), *[st.integers(0, 10**9)] * 4), min_size=1, max_size=5
        ),
        min_size=1,
        max_size=12,
    )
)
def test_the_four_parts_make_the_whole(
    lives: list[list[tuple[Any, ...]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    warehouse = Warehouse(tmp_path_factory.mktemp("view") / "warehouse.duckdb")
    source = ListSource()
    for rounds in lives:
        life = Life()
        for outcome, before, wait, noted, ceremony in rounds:
            life.asked(before if life.receipts else 0)
            if outcome is Outcome.ERRORED:
                life.refused(wait, outcome)
            else:
                life.noted(noted).answered(wait, outcome)
            if outcome is Outcome.CONSENTED and ceremony % 2:
                life.completed(ceremony)
        source.add_sealed(*seal(life.resumed(7).receipts))
    Lander(warehouse, source, Key(b"k" * 32)).land()
    with warehouse.read() as database:
        rows = database.execute(
            "SELECT attempts, time_to_resume_us, coalesce(human_wait_us, 0)"
            " + coalesce(between_rounds_us, 0) + coalesce(ceremony_us, 0) + coalesce(resume_us, 0),"
            " (SELECT sum(since_previous_us) FROM receipts"
            "  WHERE receipts.elicitation_id = elicitations.elicitation_id)"
            " FROM elicitations"
        ).fetchall()
    assert len(rows) == len(lives)
    for attempts, whole, parts, total in rows:
        if attempts:
            assert whole == parts == total
        else:
            assert whole is None
