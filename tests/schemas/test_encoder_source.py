"""The encoder made of the schema gives the bytes of the converter, to which it leaves the rest."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from make_receipt import make_receipt, receipts

from elicitation_receipts.schemas.codec import encode, encode_at, encode_datum, schema_text
from elicitation_receipts.schemas.datum import CLASSES, compile_schema
from elicitation_receipts.schemas.encoder_source import UNFIT, compile_encoder
from elicitation_receipts.schemas.errors import CodecError
from elicitation_receipts.schemas.receipt import Finding, Receipt
from elicitation_receipts.schemas.vocabulary import Gate

CONVERTER = compile_schema(json.loads(schema_text()))
ENCODE = compile_encoder(schema_text(), CLASSES)


def by_converter(receipt: Receipt) -> bytes | str:
    """The bytes, or the reason why there are none."""
    try:
        return encode_datum(CONVERTER.dump(receipt))
    except CodecError as error:
        return error.reason


@given(receipt=receipts())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_receipt(receipt: Receipt) -> None:
    expected = by_converter(receipt)
    assert isinstance(expected, bytes)
    assert ENCODE(receipt, receipt.sequence, receipt.previous_hash) == expected[10:]
    assert encode(receipt) == expected


@given(
    field=st.sampled_from([field.name for field in fields(Receipt)]),
    value=st.none()
    | st.booleans()
    | st.integers(-1, 130)
    | st.sampled_from([2**31, 2**63, 1.0, "", "answered", "a b", b"", b"x" * 16, b"x" * 32, (), []])
    | st.just((Finding("no word", "error", Gate.UX),))  # type: ignore[arg-type]
    | st.just((1,) * 65)
    | st.just({}),
)
@settings(max_examples=300, deadline=None)
def test_any_value_anywhere(field: str, value: Any) -> None:
    receipt = replace(make_receipt(), **{field: value})
    expected = by_converter(receipt)
    try:
        found: bytes | str = encode(receipt)
    except CodecError as error:
        found = error.reason
    assert found == expected


def test_a_place_given_stands_for_the_receipts_own() -> None:
    receipt = make_receipt()
    placed = replace(receipt, sequence=7, previous_hash=b"h" * 32)
    assert encode_at(receipt, 7, b"h" * 32) == encode(placed)
    with pytest.raises(CodecError, match="sequence"):
        encode_at(receipt, -1, b"h" * 32)
    with pytest.raises(UNFIT):
        ENCODE(receipt, 2**63, b"h" * 32)
