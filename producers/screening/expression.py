"""Expressions run by RE2, in time linear in the text whatever stands in it.

Texts come from the wire: what is no Unicode (half a surrogate pair) is read as ``?``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import re2

from elicitation_receipts.producers.policy.words import DataClass

#: RE2 keeps the states it has seen; with fewer the long word lists would take it longer.
_MAX_MEM: Final = 64 << 20


def compiled(expression: str) -> Any:
    """``expression`` ready to search the bytes of a text, see :func:`encoded`."""
    options = re2.Options()
    options.max_mem = _MAX_MEM
    options.log_errors = False
    return re2.compile(expression.encode(), options)


def compiled_classes(expressions: Mapping[DataClass, Sequence[str]]) -> Any:
    """One expression in which each class is a group by its name, see :func:`class_of`."""
    return compiled(
        "|".join(f"(?P<{name}>{'|'.join(parts)})" for name, parts in expressions.items())
    )


def class_of(match: Any) -> DataClass:
    """The class whose group it was that matched."""
    return DataClass(match.lastgroup.decode())


def encoded(text: str) -> bytes:
    return text.encode(errors="replace")
