"""Holds: whose receipts and keys stay, whatever their age, for as long as a case needs them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from elicitation_receipts.schemas.receipt import Keyed, Receipt
from elicitation_receipts.schemas.vocabulary import Event


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold that stands. ``target``: the tenant as acts write it; ``set_at``: UTC microseconds."""

    target: str
    case_ref: Keyed
    set_at: int


def standing_holds(acts: Iterable[Receipt]) -> list[Hold]:
    """The holds that were set and not lifted, oldest first. ``acts``: in any order, also twice."""
    holds: dict[tuple[str, bytes], Hold] = {}
    unique = {receipt.receipt_id: receipt for receipt in acts}
    for receipt in sorted(unique.values(), key=lambda one: (one.occurred_at, one.sequence)):
        act = receipt.act
        if act is None or act.target is None or act.case_ref is None:
            continue
        place = (act.target, act.case_ref.value)
        if receipt.event is Event.HOLD_SET:
            holds.setdefault(place, Hold(act.target, act.case_ref, receipt.occurred_at))
        elif receipt.event is Event.HOLD_LIFTED:
            holds.pop(place, None)
    return list(holds.values())
