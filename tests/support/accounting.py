"""Accounting: what must hold of the receipts of any question, whatever the traffic was."""

from __future__ import annotations

from itertools import groupby

from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Event, Outcome


def lives(receipts: list[Receipt]) -> list[list[Receipt]]:
    """The receipts of each elicitation, in order."""
    of_elicitations = [r for r in receipts if r.elicitation_id is not None]
    ordered = sorted(of_elicitations, key=lambda r: str(r.elicitation_id))  # stable
    return [list(group) for _, group in groupby(ordered, key=lambda r: r.elicitation_id)]


def is_end(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome not in (Outcome.OPEN, Outcome.CONSENTED)


def check_life(life: list[Receipt]) -> None:
    """What holds of a question whose session has ended."""
    check_rounds(life)
    rounds = [r.round for r in life if r.event is Event.REQUESTED]
    for number in rounds:
        # A round that the server overtakes by asking again may stay without an end.
        has_ended = any(is_end(r.outcome) for r in life if r.round == number)
        assert has_ended or number < rounds[-1]


def check_rounds(life: list[Receipt]) -> None:
    """What holds of a question at any time."""
    assert life[0].event is Event.REQUESTED
    rounds = [r.round for r in life if r.event is Event.REQUESTED]
    assert rounds == list(range(1, len(rounds) + 1))
    # A late answer to an earlier round is noted with that round.
    in_order = [r.round for r in life if r.event is not Event.NOTED]
    assert in_order == sorted(in_order)
    for number in rounds:
        of_round = [r for r in life if r.round == number]
        assert of_round[0].event is Event.REQUESTED
        assert of_round[0].outcome is Outcome.OPEN
        assert of_round[0].attempt == 0
        ends = [r for r in of_round if is_end(r.outcome)]
        assert len(ends) <= 1
        after = of_round[of_round.index(ends[0]) + 1 :] if ends else []
        assert {r.event for r in after} <= {Event.NOTED, Event.RESUMED}
        assert {r.outcome for r in after} <= {None}
    assert sum(r.event is Event.RESUMED for r in life) <= 1
