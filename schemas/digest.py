"""Keyed digests: what a receipt holds instead of a value, a question or a protocol id.

Each is HMAC-SHA256 under a tenant's key over length-framed parts (every part behind
its length, 8 bytes, big-endian), the first of which names what is digested: digests of
one kind never equal those of another. Objects are digested in the canonical form of
RFC 8785, where a number is an IEEE double: ``1``, ``1.0`` and ``1e0`` are one number.

A bare hash of a short answer is undone by trying all short answers; without the key
these are not.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final
from uuid import UUID

import rfc8785

from elicitation_receipts.schemas.errors import ReceiptsError
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.receipt import Keyed, Payload, Reference
from elicitation_receipts.schemas.vocabulary import Mode, ReferenceKind

_PAYLOAD: Final = b"elicitation-receipts/v1/payload"
_QUESTION: Final = b"elicitation-receipts/v1/question"
_REFERENCE: Final = b"elicitation-receipts/v1/reference"
_KEYED: Final = b"elicitation-receipts/v1/keyed"
_TEXT: Final = b"elicitation-receipts/v1/text"

_LARGEST_EXACT: Final = 2**53 - 1


class DigestError(ReceiptsError):
    """Content that has no canonical form (``not_canonical``), and so no digest."""


def payload_digest(
    key: Key, tenant: str, stream_id: UUID, receipt_id: UUID, nonce: bytes, content: Any
) -> Payload:
    """The digest of a whole submitted content object.

    HMAC(key, tag ‖ tenant ‖ stream_id ‖ receipt_id ‖ nonce ‖ RFC 8785 of ``content``):
    ids as their 16 bytes, ``nonce`` 16 random bytes that make equal answers differ.
    Raises :class:`DigestError`.
    """
    value = payload_mac(key, tenant, stream_id, receipt_id, nonce, canonical(content))
    return Payload(key_id=key.id, nonce=nonce, value=value)


def payload_mac(
    key: Key, tenant: str, stream_id: UUID, receipt_id: UUID, nonce: bytes, form: bytes
) -> bytes:
    """The 32 bytes of :func:`payload_digest`, of content whose RFC 8785 form is at hand."""
    return key.mac(_PAYLOAD, tenant.encode(), stream_id.bytes, receipt_id.bytes, nonce, form)


def question_digest(
    key: Key,
    mode: Mode,
    message: str | None,
    properties_and_required: dict[str, Any] | None,
    origin: str | None,
) -> Keyed:
    """The digest of a question, equal for equal questions of a tenant.

    HMAC(key, tag ‖ RFC 8785 of [mode, message, properties and required, origin]), null
    where the question has none. Raises :class:`DigestError`.
    """
    question = [mode.value, message, properties_and_required, origin]
    return Keyed(key_id=key.id, value=key.mac(_QUESTION, canonical(question)))


def reference(key: Key, kind: ReferenceKind, text: str) -> Reference:
    """What stands for a protocol id: HMAC(key, tag ‖ kind ‖ ``text`` in UTF-8)."""
    return Reference(
        kind=kind, key_id=key.id, value=key.mac(_REFERENCE, kind.value.encode(), _utf8(text))
    )


def keyed(key: Key, label: str, content: Any) -> Keyed:
    """The digest of anything else: HMAC(key, tag ‖ label ‖ RFC 8785 of ``content``).

    Raises :class:`DigestError`.
    """
    return Keyed(key_id=key.id, value=key.mac(_KEYED, label.encode(), canonical(content)))


def reference_text(key: Key, label: str, text: str) -> str:
    """What stands for a name that is no safe identifier: ``#<key id>.<24 hexadecimal digits>``.

    The digits are the first 12 bytes of HMAC(key, tag ‖ label ‖ ``text`` in UTF-8).
    """
    return f"#{key.id}.{key.mac(_TEXT, label.encode(), _utf8(text))[:12].hex()}"


def canonical_digest(content: Any) -> bytes:
    """SHA-256 of the RFC 8785 form, 32 bytes. For what is public, such as a policy.

    Raises :class:`DigestError`.
    """
    return sha256(canonical(content)).digest()


def canonical(content: Any) -> bytes:
    """The RFC 8785 form of parsed JSON, in UTF-8.

    A whole number beyond 2^53 becomes the nearest double (section 3.2.2.3). Raises
    :class:`DigestError` for what JSON or Unicode does not have (infinity, lone
    surrogates) and for what is nested too deeply.
    """
    try:
        return rfc8785.dumps(_with_doubles(content))
    except (ValueError, OverflowError, RecursionError):
        # The cause may repeat the value: it is left out.
        raise DigestError(
            "not_canonical", "the content has no canonical JSON form, so it has no digest"
        ) from None


def _with_doubles(content: Any) -> Any:
    match content:
        case bool():
            return content
        case int() if abs(content) > _LARGEST_EXACT:
            return float(content)
        case list() | tuple():
            return [_with_doubles(part) for part in content]
        case dict():
            return {name: _with_doubles(part) for name, part in content.items()}
    return content


def _utf8(text: str) -> bytes:
    # A JSON string may hold a lone surrogate; it is only digested, never written.
    return text.encode("utf-8", "surrogatepass")
