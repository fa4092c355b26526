"""Notices a submitted value in an error of the operation it was submitted to.

In memory only: the texts compared here never reach a receipt, the finding does.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import Final

from elicitation_receipts.producers.wire.message import walk

#: A shorter value stands in too many texts by chance. Bytes of UTF-8.
_SHORTEST: Final = 4
#: Values of one answer that are looked for; no form has so many.
_MOST: Final = 1_000


def texts_of(content: object) -> set[str]:
    """The texts by which what was submitted would be recognised.

    Each value of four bytes or more, and the whole object as Python and as JSON print it:
    that is how validators repeat their input.
    """
    if not isinstance(content, dict) or not content:
        return set()
    values = (item for value in content.values() for item in _items(value))
    texts = (text for text in map(_scalar, values) if text is not None)
    long_enough = (text for text in texts if len(text.encode("utf-8", "replace")) >= _SHORTEST)
    return {
        *islice(long_enough, _MOST),
        repr(content),
        json.dumps(content),
        json.dumps(content, separators=(",", ":")),
    }


def holds(members: object, texts: set[str]) -> bool:
    """Whether ``members``, an error as it was sent, holds one of ``texts``."""
    if not texts:
        return False
    parts = list(walk(members))
    said = "\n".join(part for part in parts if isinstance(part, str))
    if any(text in said for text in texts):
        return True
    return any(_scalar(part) in texts or _flat(part) in texts for part in parts)


def _scalar(value: object) -> str | None:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    return None


def _flat(value: object) -> str | None:
    """An object with no object in it, as JSON prints it: what a form's answer is."""
    if not isinstance(value, dict):
        return None
    items = [item for part in value.values() for item in _items(part)]
    return None if any(isinstance(item, dict | list) for item in items) else json.dumps(value)


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]
