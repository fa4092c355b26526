"""The base rung: each message read once, straight into its row, by a function made from the schema.

What fastavro, the check of the encoding, the checks of the datum, the receipt's object and its
row are to the reference is one pass here, without a call for each field. It takes only what is
plainly canonical: every number in its shortest form, every union and array as the one writer
writes it, every string one that satisfies its rule. The reference judges the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from elicitation_receipts.consumers.decode.decoded import Decoded, ExpectedKeys, ListedRows
from elicitation_receipts.consumers.decode.reader_source import Odd, Read, compile_reader
from elicitation_receipts.consumers.decode.record import Reject, decode_record
from elicitation_receipts.consumers.decode.reference import row_of
from elicitation_receipts.consumers.rows import columns
from elicitation_receipts.consumers.source import Record
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import MESSAGE_LIMIT, SINGLE_OBJECT, installed

_HEADER: Final = 10  # marker and fingerprint


def decode_by_generated(records: Sequence[Record]) -> Decoded:
    """See :data:`Decode`."""
    read, header = _reader()
    at_stream, at_sequence, at_previous = map(
        columns().index, ("stream_id", "sequence", "previous_hash")
    )
    expected = ExpectedKeys()
    arrived: list[Record] = []
    rows: list[list[Any]] = []
    leaves: list[bytes] = []
    rejects: list[Reject] = []
    for record in records:
        message = record.value
        try:
            if message is None or message[:_HEADER] != header or len(message) >= MESSAGE_LIMIT:
                raise Odd
            end, row = read(message, _HEADER)
            if end != len(message) or record.key != expected[row[at_stream]]:
                raise Odd
        except (LookupError, ValueError):
            decoded = decode_record(record)
            if isinstance(decoded, Reject):
                rejects.append(decoded)
                continue
            row, leaf = row_of(decoded), decoded.leaf
            row[at_stream] = decoded.receipt.stream_id.bytes  # as the reader gives it
        else:
            leaf = leaf_hash(message)
            row += leaf, header[2:]
        arrived.append(record)
        rows.append(row)
        leaves.append(leaf)
    return Decoded(
        records=arrived,
        stream_ids=[row[at_stream] for row in rows],
        sequences=[row[at_sequence] for row in rows],
        previous_hashes=[row[at_previous] for row in rows],
        leaves=leaves,
        rows=ListedRows(rows),
        rejects=rejects,
    )


@cache
def _reader() -> tuple[Read, bytes]:
    """What reads a receipt under the newest schema, and what such messages begin with."""
    newest = installed().newest
    read, names = compile_reader(newest.text)
    if names != columns():
        raise AssertionError("the reader and the table disagree about the columns")
    return read, SINGLE_OBJECT + newest.fingerprint
