"""The leaf hash: what links one sealed receipt to the next."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

LEAF_PREFIX: Final = b"\x00"


def leaf_hash(message: bytes) -> bytes:
    """SHA-256(0x00 ‖ message), 32 bytes: the leaf hash of RFC 6962 section 2.1.

    ``message`` is the whole Avro single-object message, schema fingerprint included:
    the datum alone could be read under another schema, with other words in it.
    """
    return sha256(LEAF_PREFIX + message).digest()
