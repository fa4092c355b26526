"""Which words from the wire may stand in a receipt as they are, and what stands in for the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from elicitation_receipts.schemas.vocabulary import ORIGINATING_METHODS, PROTOCOL_REVISIONS

_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.:/-]{0,63}")
_SIX_DIGITS: Final = re.compile(r"[0-9]{6}")


def is_identifier(text: str) -> bool:
    return _IDENTIFIER.fullmatch(text) is not None and _SIX_DIGITS.search(text) is None


_REFERENCE: Final = re.compile(r"#[0-9a-f]{12}\.[0-9a-f]{24}")
_KEY_ID: Final = re.compile(r"[0-9a-f]{12}")
_TENANT: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_ORDINAL: Final = re.compile(r"\[(?:0|[1-9][0-9]{0,8})\]")
_VERSION: Final = re.compile(
    r"v?[0-9]+(?:\.[0-9]+)*(?:[-+.]?[A-Za-z][A-Za-z0-9]*(?:[-+.][A-Za-z0-9]+)*)?"
)


def is_version(text: str) -> bool:
    return (
        len(text) <= 64
        and _VERSION.fullmatch(text) is not None
        and _SIX_DIGITS.search(text) is None
    )


def is_reference(text: str) -> bool:
    return _REFERENCE.fullmatch(text) is not None


def is_key_id(text: str) -> bool:
    return _KEY_ID.fullmatch(text) is not None


def is_tenant(text: str) -> bool:
    return _TENANT.fullmatch(text) is not None and ".." not in text


def is_field(text: str) -> bool:
    return is_identifier(text) or _ORDINAL.fullmatch(text) is not None


def is_url_origin(text: str) -> bool:
    return re.fullmatch(r"https?://[a-z0-9.:\[\]#-]+|[a-z]+:", text) is not None


CONSTRAINTS: Final[dict[str, Callable[[str], bool]]] = {
    "identifier": lambda text: is_identifier(text) or is_reference(text),
    "version": lambda text: is_version(text) or is_identifier(text) or is_reference(text),
    "protocol_version": lambda text: text in PROTOCOL_REVISIONS or is_reference(text),
    "method": lambda text: text in ORIGINATING_METHODS or is_reference(text),
    "tenant": is_tenant,
    "url_origin": is_url_origin,
    "field": is_field,
    "key_id": is_key_id,
}
