"""Signed notes: a text and the Ed25519 signatures under it, and the keys that check them.

C2SP signed-note (https://c2sp.org/signed-note): text, an empty line, then signature lines
``— <key name> <base64(key id ‖ signature)>``; a verifier key is written
``<name>+<key id>+<base64(0x01 ‖ public key)>``, as Go's ``golang.org/x/mod/sumdb/note`` has it.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from elicitation_receipts.schemas.errors import EvidenceError

#: The name every key of ours signs under: one pinned line serves a home's registry and streams.
KEY_NAME: Final = "elicitation-receipts"
#: No note is longer, nor has it more signatures: 16 MiB, room for 100,000 streams.
NOTE_LIMIT: Final = 16 * 1024 * 1024
_MOST_SIGNATURES: Final = 100

_ED25519: Final = b"\x01"
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f]")
_SIGNATURE_LINE: Final = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/=]+)")
_VERIFIER_KEY: Final = re.compile(r"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)")


def base64_text(content: bytes) -> str:
    """Standard base64 with padding, RFC 4648 section 4."""
    return b64encode(content).decode("ascii")


def base64_bytes(text: str, size: int | None = None) -> bytes:
    """What canonical base64 stands for. Raises ``ValueError``, also for another ``size``."""
    content = b64decode(text, validate=True)
    if b64encode(content).decode("ascii") != text or size not in (None, len(content)):
        raise ValueError("not the base64 expected here")
    return content


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key under a name. ``public``: 32 bytes (RFC 8032)."""

    name: str
    public: bytes
    id: bytes = field(init=False)

    def __post_init__(self) -> None:
        text = self.name.encode() + b"\n" + _ED25519 + self.public
        object.__setattr__(self, "id", sha256(text).digest()[:4])

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64_text(_ED25519 + self.public)}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises :class:`EvidenceError` (``key_malformed``)."""
        malformed = EvidenceError(
            "key_malformed", "a verifier key reads name+keyid+base64; export it again"
        )
        match = _VERIFIER_KEY.fullmatch(text)
        if match is None:
            raise malformed
        try:
            encoded = base64_bytes(match[3], 33)
        except ValueError:
            raise malformed from None
        key = cls(match[1], encoded[1:])
        if encoded[:1] != _ED25519 or key.id.hex() != match[2]:
            raise malformed
        return key


def read_keys(text: str) -> list[VerifierKey]:
    """The verifier keys of a file: one a line; empty lines and lines with ``#`` first are none.

    Raises :class:`EvidenceError` (``key_malformed``), also where there is none.
    """
    lines = [line.strip() for line in text.splitlines()]
    keys = [VerifierKey.parse(line) for line in lines if line and not line.startswith("#")]
    if not keys:
        raise EvidenceError("key_malformed", "the key file holds no verifier key; export one")
    return keys


@dataclass(frozen=True, slots=True)
class Signature:
    """A line under a note: who is said to have signed, and the 64 bytes."""

    name: str
    key_id: bytes
    value: bytes


class SignatureFault(Exception):  # noqa: N818  (a verdict, no failure of the program)
    """Why a note counts as signed by nobody: ``unknown_key`` or ``bad_signature``."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Note:
    """``text`` ends with a newline; it means nothing before :meth:`signer` has returned."""

    text: str
    signatures: tuple[Signature, ...]

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Raises :class:`EvidenceError`: ``note_malformed``, ``note_unsigned``."""
        if len(content) > NOTE_LIMIT:
            raise _malformed("too long")
        try:
            whole = content.decode("utf-8")
        except UnicodeDecodeError:
            raise _malformed("no UTF-8") from None
        if _CONTROL.search(whole):
            raise _malformed("control characters")
        text, blank, signed = whole.rpartition("\n\n")
        if not blank or not signed:
            raise EvidenceError("note_unsigned", "the note has no signature")
        if not signed.endswith("\n"):
            raise _malformed("bytes behind its last line")
        lines = signed.removesuffix("\n").split("\n")
        if len(lines) > _MOST_SIGNATURES:
            raise _malformed("too many signatures")
        return cls(text + "\n", tuple(map(_signature, lines)))

    def __bytes__(self) -> bytes:
        lines = (
            f"— {each.name} {base64_text(each.key_id + each.value)}\n" for each in self.signatures
        )
        return f"{self.text}\n{''.join(lines)}".encode()

    def signer(self, keys: Iterable[VerifierKey]) -> VerifierKey:
        """The key among ``keys`` that signed the note. Raises :class:`SignatureFault`."""
        known = list(keys)
        found = None
        for signature in self.signatures:
            named = (signature.name, signature.key_id)
            candidates = [key for key in known if (key.name, key.id) == named]
            if candidates:
                found = next((key for key in candidates if self._is_by(key, signature)), None)
                if found is None:
                    raise SignatureFault("bad_signature")
        if found is None:
            raise SignatureFault("unknown_key")
        return found

    def _is_by(self, key: VerifierKey, signature: Signature) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(key.public).verify(
                signature.value, self.text.encode()
            )
        except (InvalidSignature, ValueError):
            return False
        return True


def sign(text: str, private: Ed25519PrivateKey, name: str = KEY_NAME) -> Note:
    """The note of a text (which ends with a newline), signed by one key."""
    key = VerifierKey(name, private.public_key().public_bytes_raw())
    return Note(text, (Signature(name, key.id, private.sign(text.encode())),))


def _signature(line: str) -> Signature:
    match = _SIGNATURE_LINE.fullmatch(line)
    try:
        content = base64_bytes(match[2]) if match else b""
    except (ValueError, binascii.Error):
        content = b""
    if match is None or len(content) <= 4:
        raise _malformed("a signature line that is none")
    return Signature(match[1], content[:4], content[4:])


def _malformed(what: str) -> EvidenceError:
    return EvidenceError("note_malformed", f"no signed note: it has {what}")
