"""Sealing: what becomes of the receipts of one stream, from its first to its last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import encode_at
from elicitation_receipts.schemas.receipt import ZERO_HASH, Receipt


def seal(receipts: Iterable[Receipt]) -> Iterator[bytes]:
    """The messages of a whole stream, each with its sequence and the hash of the one before.

    Raises :class:`CodecError`.
    """
    previous_hash = ZERO_HASH
    for sequence, receipt in enumerate(receipts):
        message = encode_at(receipt, sequence, previous_hash)
        previous_hash = leaf_hash(message)
        yield message
