"""The key folder: every secret behind a digest, made on first use, derived per tenant and purpose.

Layout, folder mode 0700, files mode 0600, each 32 random bytes as 64 hexadecimal
digits and a newline (text, so that a damaged file is noticed)::

    root.key                                what every tenant's keys are derived from …
    tenants/<tenant>/tenant.key             … together with a secret of the tenant's own
    tenants/<tenant>/epoch-0001.key         … or, for payloads, of the tenant's epoch
    lander.key                              the lander's own key, derived from nothing

The tenant's and the epoch's secrets exist in these files only. Destroying one is the
erasure: no root can derive again what was made with it.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

from elicitation_receipts.schemas.errors import KeyringError
from elicitation_receipts.schemas.identifiers import is_tenant

_SECRET_SIZE: Final = 32
_SECRET_FILE: Final = re.compile(rb"[0-9a-f]{64}\n")
_EPOCH_FILE: Final = re.compile(r"epoch-([0-9]{4})\.key")
_FIRST_EPOCH: Final = 1
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_DERIVATION: Final = b"elicitation-receipts/v1"
_KEY_ID: Final = b"elicitation-receipts/key-id/v1"


def frame(*parts: bytes) -> bytes:
    """Each part behind its length (8 bytes, big-endian): no two lists of parts are equal."""
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def hkdf_sha256(secret: bytes, info: bytes, length: int, salt: bytes = b"") -> bytes:
    """HKDF with SHA-256 (RFC 5869): ``length`` bytes, at most 8,160, derived from ``secret``."""
    block = b""
    output = b""
    extracted = hmac.digest(salt or bytes(sha256().digest_size), secret, "sha256")
    for counter in range(1, -(-length // sha256().digest_size) + 1):
        block = hmac.digest(extracted, block + info + bytes([counter]), "sha256")
        output += block
    return output[:length]


@dataclass(frozen=True, slots=True)
class Key:
    """A secret of 32 bytes. ``id`` names it in receipts: 12 hexadecimal digits of a hash of it."""

    secret: bytes = field(repr=False)
    id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", sha256(_KEY_ID + self.secret).hexdigest()[:12])

    def mac(self, *parts: bytes) -> bytes:
        """HMAC-SHA256 over the length-framed parts: 32 bytes."""
        return hmac.digest(self.secret, frame(*parts), "sha256")


@dataclass(frozen=True, slots=True)
class TenantKeys:
    """A tenant's keys: for equal questions, for protocol ids, for payloads of an epoch."""

    tenant: str
    question: Key
    reference: Key
    payload: Key
    epoch: int


class Keyring:
    """The keys of one key folder. What it has read it keeps: open it again after a change."""

    def __init__(self, folder: Path, *, create: bool) -> None:
        self._folder = folder
        self._create = create
        self._tenants: dict[str, TenantKeys] = {}

    def __repr__(self) -> str:
        return f"Keyring({str(self._folder)!r})"

    @classmethod
    def open(cls, folder: Path, create: bool = True) -> Self:
        """The keyring in ``folder``; with ``create`` the folder and each missing key are made.

        A key is read or made when it is first asked for. Several processes may do so at
        once: all get the same key. Every method raises :class:`KeyringError`:
        ``key_unreadable`` (missing, damaged, or open to other users) or ``key_unwritable``.
        """
        if create:
            _make_folder(folder)
        _check_folder(folder)
        return cls(folder, create=create)

    def tenant(self, name: str) -> TenantKeys:
        """The keys of a tenant. ``name`` as in a receipt's ``tenant``."""
        if name not in self._tenants:
            self._tenants[name] = self._derive(name)
        return self._tenants[name]

    def lander(self) -> Key:
        """The key under which a lander digests what it cannot decode."""
        return Key(self._secret(self._folder / "lander.key"))

    def _derive(self, tenant: str) -> TenantKeys:
        if not is_tenant(tenant):
            raise KeyringError(
                "key_unreadable",
                "a tenant's name is lower-case letters, digits, '.', '_' and '-', at most 64",
            )
        folder = self._folder / "tenants" / tenant
        if self._create:
            _make_folder(folder.parent)
            _make_folder(folder)
        root = self._secret(self._folder / "root.key")
        own = self._secret(folder / "tenant.key")
        epoch = _current_epoch(folder)
        of_epoch = self._secret(folder / f"epoch-{epoch:04}.key")

        def derive(purpose: bytes, secret: bytes, qualifier: bytes = b"") -> Key:
            info = frame(_DERIVATION, purpose, tenant.encode(), qualifier)
            return Key(hkdf_sha256(root + secret, info, _SECRET_SIZE))

        return TenantKeys(
            tenant=tenant,
            question=derive(b"question", own),
            reference=derive(b"reference", own),
            payload=derive(b"payload", of_epoch, str(epoch).encode()),
            epoch=epoch,
        )

    def _secret(self, path: Path) -> bytes:
        if self._create and not path.exists():
            _make_secret(path)
        return _read_secret(path)


def _current_epoch(folder: Path) -> int:
    try:
        names = [_EPOCH_FILE.fullmatch(path.name) for path in folder.iterdir()]
    except OSError as error:
        raise _unreadable(folder, error) from error
    return max((int(match[1]) for match in names if match), default=_FIRST_EPOCH)


def _read_secret(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            mode = os.fstat(descriptor).st_mode
            text = file.read(2 * _SECRET_SIZE + 2)
    except OSError as error:
        raise _unreadable(path, error) from error
    if mode & _OTHERS:
        raise KeyringError(
            "key_unreadable",
            f"{path} is open to other users: replace it if they may have read it, then chmod 600",
        )
    if not _SECRET_FILE.fullmatch(text):
        raise KeyringError(
            "key_unreadable", f"{path} is damaged: it must hold 64 hexadecimal digits; restore it"
        )
    return bytes.fromhex(text.decode("ascii"))


def _make_secret(path: Path) -> None:
    """Put a new secret at ``path``, whole and durable, unless somebody was faster."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_hex(_SECRET_SIZE).encode("ascii") + b"\n")
                file.flush()
                os.fsync(descriptor)
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink()
        _sync_folder(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
        _sync_folder(folder.parent)
    except FileExistsError:
        pass
    except OSError as error:
        raise _unwritable(folder, error) from error


def _check_folder(folder: Path) -> None:
    try:
        mode = folder.stat().st_mode
    except OSError as error:
        raise _unreadable(folder, error) from error
    if not stat.S_ISDIR(mode) or mode & _OTHERS:
        raise KeyringError(
            "key_unreadable", f"{folder} must be a folder of yours alone: chmod 700 {folder}"
        )


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unreadable(path: Path, error: OSError) -> KeyringError:
    return KeyringError(
        "key_unreadable", f"cannot read {path} ({error.strerror}); restore it or its permissions"
    )


def _unwritable(path: Path, error: OSError) -> KeyringError:
    return KeyringError(
        "key_unwritable", f"cannot make {path} ({error.strerror}); check its folder and the disk"
    )
