"""The walker against the codec: they agree on every message, good or bad."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_receipt import make_receipt, receipts

from elicitation_receipts.evidence.walk import Fault, head_of, walk
from elicitation_receipts.schemas.codec import decode, encode
from elicitation_receipts.schemas.errors import CodecError
from elicitation_receipts.schemas.receipt import Receipt


def agrees(message: bytes) -> bool:
    """Whether both take the message, or neither; said with the walker's verdict."""
    try:
        decode(message)
        decoded = True
    except CodecError:
        decoded = False
    try:
        walk(message)
        walked = True
    except Fault:
        walked = False
    assert walked == decoded
    return walked


@settings(max_examples=30)
@given(receipts())
def test_every_receipt_is_one(receipt: Receipt) -> None:
    message = encode(receipt)
    assert agrees(message)
    assert head_of(message) == (
        receipt.stream_id.bytes,
        receipt.sequence,
        receipt.previous_hash,
    )


@settings(max_examples=80)
@given(receipts(), st.data())
def test_what_is_changed_anywhere_is_judged_alike(receipt: Receipt, data: st.DataObject) -> None:
    message = bytearray(encode(receipt))
    place = data.draw(st.integers(0, len(message) - 1))
    match data.draw(st.sampled_from(["another byte", "a byte more", "a byte less", "cut off"])):
        case "another byte":
            message[place] = data.draw(st.integers(0, 255))
        case "a byte more":
            message.insert(place, data.draw(st.integers(0, 255)))
        case "a byte less":
            del message[place]
        case "cut off":
            del message[place:]
    agrees(bytes(message))


def test_a_fault_names_its_field() -> None:
    message = encode(make_receipt(tool="pay"))
    with pytest.raises(Fault) as raised:
        walk(message.replace(b"\x06pay", b"\x06p y"))
    assert (raised.value.kind, raised.value.field) == ("out_of_vocabulary", "tool")
