"""From the records of a source to rows: the same rows on every rung, the higher the faster.

==========  ==================================  =======================================
rung        how                                 needs
==========  ==================================  =======================================
reference   each message by the codec           nothing; what the others are proved by
generated   each message straight into a row    nothing; what a plain install lands with
columnar    a batch, field by field             the extra ``[fast]``: numpy and pyarrow
==========  ==================================  =======================================

A faster rung never judges a message. What it does not know as the one plain encoding of a
receipt under the newest schema it hands down to the reference, which lands it or says why not.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from elicitation_receipts.consumers.decode.decoded import Decode, Decoded

__all__ = ["Decode", "Decoded", "best_rung", "has_columns"]


def has_columns() -> bool:
    """Whether what works column by column is installed: the extra ``[fast]``."""
    return bool(find_spec("numpy") and find_spec("pyarrow"))


@cache
def best_rung() -> Decode:
    """The fastest rung that can be had with what is installed."""
    if has_columns():
        from elicitation_receipts.consumers.decode.columnar import decode_columns

        return decode_columns
    from elicitation_receipts.consumers.decode.generated import decode_by_generated

    return decode_by_generated
