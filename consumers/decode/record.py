"""From a record of a source to the receipt in it, or to the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from elicitation_receipts.consumers.source import Record
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.errors import CodecError, SchemaError
from elicitation_receipts.schemas.receipt import Receipt


@dataclass(frozen=True, slots=True)
class Arrival:
    """A record that holds a receipt. ``leaf``: its leaf hash; ``fingerprint``: its schema's."""

    record: Record
    receipt: Receipt
    leaf: bytes
    fingerprint: bytes


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that cannot land, and the name of the reason."""

    record: Record
    reason: str


def decode_record(record: Record) -> Arrival | Reject:
    """Reasons of a reject: ``tombstone``, ``key_mismatch``, and those of :class:`CodecError`.

    Raises :class:`SchemaError`: what no installed schema can read is no reject.
    """
    if record.value is None:
        return Reject(record, "tombstone")
    try:
        receipt = decode(record.value)
    except SchemaError:
        raise
    except CodecError as error:
        return Reject(record, error.reason)
    if record.key != str(receipt.stream_id).encode():
        # Under another key it may lie in another partition, out of its stream's order.
        return Reject(record, "key_mismatch")
    return Arrival(record, receipt, leaf_hash(record.value), record.value[2:10])
