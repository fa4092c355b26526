"""Signing keys: a home's own Ed25519 keys, apart from every key that digests are made with.

Layout of the folder, mode 0700, files mode 0600::

    0001.key    the private key: 64 hexadecimal digits and a newline
    0001.vkey   its verifier key, one line: public
    0002.note   names the second key, signed by the first: public

The newest key signs. After a rotation the key before is gone: nothing can be signed with it
any more, and what it has signed stays good, since it named its successor.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from elicitation_receipts.evidence.note import KEY_NAME, Note, VerifierKey, sign
from elicitation_receipts.evidence.text import lines_of, malformed, moment, moment_text
from elicitation_receipts.schemas.errors import EvidenceError, KeyringError
from elicitation_receipts.schemas.key_files import sync_folder, unreadable, unwritable
from elicitation_receipts.schemas.whole_file import whole_file

KIND: Final = "elicitation-receipts/rotation/v1"
_KEY_FILE: Final = re.compile(rb"[0-9a-f]{64}\n")
_PUBLIC_FILE: Final = re.compile(r"([0-9]{4})\.vkey")
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class Rotation:
    """From ``time`` on ``new`` signs in place of ``old``: a note that ``old`` signed."""

    time: datetime
    old: VerifierKey
    new: VerifierKey

    @property
    def text(self) -> str:
        return f"{KIND}\ntime {moment_text(self.time)}\nfrom {self.old}\nto {self.new}\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises :class:`EvidenceError` (``note_malformed``)."""
        try:
            match lines_of(text, KIND):
                case [["time", time], ["from", old], ["to", new]]:
                    rotation = cls(moment(time), VerifierKey.parse(old), VerifierKey.parse(new))
                    if rotation.text == text:
                        return rotation
        except (ValueError, EvidenceError):
            pass
        raise malformed(KIND)


class SigningKeys:
    """The signing keys of a folder. Every method raises :class:`KeyringError`:

    ``signing_key_missing``, ``key_unreadable`` (damaged, or open to other users) or
    ``key_unwritable``.
    """

    def __init__(self, folder: Path) -> None:
        """Use :meth:`open`."""
        self._folder = folder

    @classmethod
    def open(cls, folder: Path, *, create: bool = False) -> Self:
        """The keys in ``folder``; ``create``: make folder and first key where there are none."""
        keys = cls(folder)
        if create:
            try:
                folder.parent.mkdir(mode=0o700, exist_ok=True)
                folder.mkdir(mode=0o700, exist_ok=True)
                if not keys._numbers():
                    keys._make(1)
            except OSError as error:
                raise unwritable(folder, error) from error
        return keys

    def public(self) -> list[VerifierKey]:
        """Every key that ever signed, oldest first; [] where there is none."""
        return [
            VerifierKey.parse(self._read(f"{number:04}.vkey").decode("ascii").strip())
            for number in self._numbers()
        ]

    def rotations(self) -> list[Note]:
        """The notes that name a key's successor, oldest first."""
        return [Note.parse(self._read(f"{number:04}.note")) for number in self._numbers()[1:]]

    def sign(self, text: str) -> Note:
        """A note of ``text``, signed by the newest key."""
        return sign(text, self._private(self._newest()))

    def rotate(self, now: datetime) -> Rotation:
        """Make a new key, let the old one name it, and remove the old one."""
        number = self._newest()
        private = self._private(number)
        try:
            new = self._make_private(number + 1)
            rotation = Rotation(now, self.public()[-1], new)
            self._write(f"{number + 1:04}.note", bytes(sign(rotation.text, private)))
            # Only now does the new key count; whatever stops us before leaves the old one.
            self._write(f"{number + 1:04}.vkey", f"{new}\n".encode())
            (self._folder / f"{number:04}.key").unlink()
        except OSError as error:
            raise unwritable(self._folder, error) from error
        return rotation

    def _numbers(self) -> Sequence[int]:
        try:
            matches = [_PUBLIC_FILE.fullmatch(path.name) for path in self._folder.iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise unreadable(self._folder, error) from error
        return sorted(int(match[1]) for match in matches if match)

    def _newest(self) -> int:
        numbers = self._numbers()
        if not numbers:
            raise KeyringError(
                "signing_key_missing",
                f"{self._folder} has no signing key; `receipts checkpoint` makes one",
            )
        return numbers[-1]

    def _private(self, number: int) -> Ed25519PrivateKey:
        path = self._folder / f"{number:04}.key"
        content = self._read(path.name)
        if path.stat().st_mode & _OTHERS:
            raise KeyringError(
                "key_unreadable",
                f"{path} is open to other users: rotate it if they may have read it, "
                "then chmod 600",
            )
        if not _KEY_FILE.fullmatch(content):
            raise KeyringError(
                "key_unreadable",
                f"{path} is damaged: it must hold 64 hexadecimal digits; restore it",
            )
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(content.decode("ascii")))

    def _make(self, number: int) -> None:
        key = self._make_private(number)
        self._write(f"{number:04}.vkey", f"{key}\n".encode())

    def _make_private(self, number: int) -> VerifierKey:
        secret = secrets.token_bytes(32)
        self._write(f"{number:04}.key", f"{secret.hex()}\n".encode())
        public = Ed25519PrivateKey.from_private_bytes(secret).public_key()
        return VerifierKey(KEY_NAME, public.public_bytes_raw())

    def _read(self, name: str) -> bytes:
        try:
            return (self._folder / name).read_bytes()
        except OSError as error:
            raise unreadable(self._folder / name, error) from error

    def _write(self, name: str, content: bytes) -> None:
        """Put a file of ours in its place, whole and durable, closed to others."""
        with whole_file(self._folder / name) as draft:
            with suppress(FileNotFoundError):
                draft.unlink()
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
        sync_folder(self._folder)
