"""Receipts as one line each, to compare with by eye and by assertion."""

from __future__ import annotations

from collections.abc import Iterable

from elicitation_receipts.schemas.receipt import Receipt


def tell(receipts: Iterable[Receipt]) -> list[str]:
    """Event, outcome (where it is another word), who decided, result, proof; then the findings."""
    return [_line(receipt) for receipt in receipts]


def _line(receipt: Receipt) -> str:
    outcome = receipt.outcome if receipt.outcome != receipt.event.value else None
    words = (
        receipt.event,
        outcome,
        receipt.decided_by,
        receipt.operation_result,
        receipt.proof,
    )
    findings = [finding.name.value for finding in receipt.findings]
    return " ".join([*(word.value for word in words if word), *(f"!{name}" for name in findings)])
