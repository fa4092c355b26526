"""The slow rung: each message by the codec, one receipt after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from elicitation_receipts.consumers.decode.decoded import Decoded, ListedRows
from elicitation_receipts.consumers.decode.record import Arrival, Reject, decode_record
from elicitation_receipts.consumers.rows import row_from_receipt
from elicitation_receipts.consumers.source import Record


def decode_by_reference(records: Sequence[Record]) -> Decoded:
    """See :data:`Decode`."""
    arrivals: list[Arrival] = []
    rejects: list[Reject] = []
    for record in records:
        decoded = decode_record(record)
        if isinstance(decoded, Arrival):
            arrivals.append(decoded)
        else:
            rejects.append(decoded)
    return Decoded(
        records=[arrival.record for arrival in arrivals],
        stream_ids=[arrival.receipt.stream_id.bytes for arrival in arrivals],
        sequences=[arrival.receipt.sequence for arrival in arrivals],
        previous_hashes=[arrival.receipt.previous_hash for arrival in arrivals],
        leaves=[arrival.leaf for arrival in arrivals],
        rows=ListedRows([row_of(arrival) for arrival in arrivals]),
        rejects=rejects,
    )


def row_of(arrival: Arrival) -> list[Any]:
    """The row of one arrival: the receipt's columns, then those of its provenance."""
    return [*row_from_receipt(arrival.receipt), arrival.leaf, arrival.fingerprint]
