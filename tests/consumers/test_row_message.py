"""A row written straight to its message: the same bytes as by way of the receipt."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from make_receipt import make_receipt, receipts

from elicitation_receipts.consumers.row_message import RowError, message_from_row
from elicitation_receipts.consumers.rows import columns, row_from_receipt
from elicitation_receipts.schemas.codec import encode, fingerprint
from elicitation_receipts.schemas.receipt import Receipt


@settings(max_examples=30)
@given(receipts())
def test_the_message_is_the_sealed_one(receipt: Receipt) -> None:
    assert message_from_row(row_from_receipt(receipt), fingerprint()) == encode(receipt)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("event", "nothing_known", "out_of_vocabulary"),
        ("event", "unrecognized", "out_of_vocabulary"),
        ("round", None, "wrong_type"),
        ("previous_hash", b"short", "wrong_type"),
        ("occurred_at", 5, "wrong_type"),
        ("findings", None, "wrong_type"),
    ],
)
def test_what_no_receipt_holds_is_named_with_its_column(
    column: str, value: object, reason: str
) -> None:
    row = row_from_receipt(make_receipt())
    row[columns().index(column)] = value
    with pytest.raises(RowError) as raised:
        message_from_row(row, fingerprint())
    assert (raised.value.reason, raised.value.column) == (reason, column)


def test_a_schema_that_is_not_here_is_named() -> None:
    with pytest.raises(RowError, match="unknown_fingerprint"):
        message_from_row(row_from_receipt(make_receipt()), bytes(8))
