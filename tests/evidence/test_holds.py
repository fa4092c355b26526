"""Holds: which stand, told from the acts alone."""

from __future__ import annotations

from uuid import uuid4

import sample

from elicitation_receipts.evidence.holds import standing_holds
from elicitation_receipts.schemas.receipt import Act, Keyed, Receipt
from elicitation_receipts.schemas.vocabulary import Event


def act(event: Event, at: int, tenant: str = "a", case: str = "1") -> Receipt:
    ref = Keyed(12 * "0", case.encode().ljust(32))
    return sample.receipt(uuid4(), event, occurred_at=at, act=Act(None, tenant, 0, ref))


def standing(*acts: Receipt) -> set[tuple[str, str]]:
    found = standing_holds(acts)
    return {(hold.target, hold.case_ref.value.decode().strip(" \0")) for hold in found}


def test_a_hold_stands_until_it_is_lifted() -> None:
    first = act(Event.HOLD_SET, 1)
    lifted = act(Event.HOLD_LIFTED, 2)
    assert standing(first) == {("a", "1")}
    assert standing(first, lifted) == set()
    assert standing(lifted, first, first) == set(), "in any order, also twice"
    assert standing(first, lifted, act(Event.HOLD_SET, 3)) == {("a", "1")}


def test_one_case_does_not_lift_another() -> None:
    held = act(Event.HOLD_SET, 1), act(Event.HOLD_SET, 2, case="2"), act(Event.HOLD_SET, 3, "b")
    assert standing(*held, act(Event.HOLD_LIFTED, 4)) == {("a", "2"), ("b", "1")}
