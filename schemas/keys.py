"""The keyring: every key behind a digest, derived per tenant and purpose, made on first use.

Secrets, 32 random bytes each (see ``secret_sources`` for where they are kept)::

    root                           what every tenant's keys are derived from …
    tenants/<tenant>/tenant-0001   … together with a secret of the tenant's own
    tenants/<tenant>/epoch-0001    … or, for payloads, of the tenant's epoch
    lander                         the lander's own key, derived from nothing

The tenant's and the epoch's secrets exist in their source only. Destroying one is the
erasure: no root can derive again what was made with it. The next one has the next number.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

from elicitation_receipts.schemas.errors import KeyringError
from elicitation_receipts.schemas.identifiers import is_tenant
from elicitation_receipts.schemas.key_files import SECRET_SIZE, check_folder, make_folder
from elicitation_receipts.schemas.key_register import KeyRegister
from elicitation_receipts.schemas.secret_sources import FileSecrets, SecretSource

_NUMBERED: Final = re.compile(r"tenants/[^/]+/(tenant|epoch)-([0-9]{4})")
_SERIES: Final = ("tenant", "epoch")
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


class KeyState(StrEnum):
    CURRENT = "current"  # what is written now is digested with it
    EARLIER = "earlier"  # only to look up what was written before a rotation
    DESTROYED = "destroyed"  # what was digested with it nobody can confirm any more
    MISSING = "missing"  # neither there nor destroyed: restore it


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A key that was used here. ``number``: of the secret behind it; ``secret``: its name."""

    tenant: str
    purpose: str
    number: int
    key_id: str
    state: KeyState
    secret: str


class Keyring:
    """The keys of one key folder. What it has read it keeps: open it again after a change.

    Several processes may ask for a key for the first time at once: all get the same.
    Every method raises :class:`KeyringError`: ``key_missing``, ``key_wrong`` (not the one used
    before), ``key_unreadable`` (damaged, or open to other users), ``key_unwritable``, and
    ``keys_command_failed``.
    """

    def __init__(self, folder: Path, source: SecretSource, *, create: bool) -> None:
        """Use :meth:`open`."""
        self._folder = folder
        self._source = source
        self._create = create
        self._register = KeyRegister(folder)
        self._tenants: dict[str, TenantKeys] = {}

    def __repr__(self) -> str:
        return f"Keyring({str(self._folder)!r})"

    @classmethod
    def open(cls, folder: Path, create: bool = True, source: SecretSource | None = None) -> Self:
        """The keyring of ``folder``; with ``create`` it and each key never used yet are made.

        ``source``: where the secrets are kept, if not in files of that folder.
        """
        if create:
            make_folder(folder)
        check_folder(folder)
        return cls(folder, source or FileSecrets(folder), create=create)

    def tenant(self, name: str) -> TenantKeys:
        """The keys of a tenant that are current. ``name`` as in a receipt's ``tenant``."""
        if name not in self._tenants:
            if not is_tenant(name):
                raise KeyringError(
                    "key_unreadable",
                    "a tenant's name is lower-case letters, digits, '.', '_' and '-', at most 64",
                )
            own = self._current(name, "tenant")
            epoch = self._current(name, "epoch")
            question, reference = self._own_keys(name, own)
            self._tenants[name] = TenantKeys(
                name, question, reference, self._payload_key(name, epoch), epoch
            )
        return self._tenants[name]

    def lander(self) -> Key:
        """The key under which a lander digests what it cannot decode."""
        if self._create:
            self._source.make("lander")
        return Key(self._present("lander"))

    def payload_keys(self, tenant: str) -> dict[str, Key]:
        """The key of every epoch of a tenant that is still there, by its id."""
        keys = (
            self._payload_key(tenant, entry.number)
            for entry in self.entries(tenant)
            if entry.purpose == "payload" and entry.state in (KeyState.CURRENT, KeyState.EARLIER)
        )
        return {key.id: key for key in keys}

    def entries(self, tenant: str | None = None) -> Iterator[KeyEntry]:
        """Every key that was used here, of one tenant or of all; reads no secret."""
        for name in self._register.tenants() if tenant is None else [tenant]:
            there = self._source.names(f"tenants/{name}/")
            current = {_secret(name, series, self._newest(name, series)) for series in _SERIES}
            for secret in sorted(self._register.names(f"tenants/{name}/")):
                if self._register.is_destroyed(secret):
                    state = KeyState.DESTROYED
                elif secret not in there:
                    state = KeyState.MISSING
                else:
                    state = KeyState.CURRENT if secret in current else KeyState.EARLIER
                for purpose, id_ in self._register.ids(secret).items():
                    yield KeyEntry(name, purpose, _number(secret), id_, state, secret)

    def rotate(self, tenant: str) -> tuple[Key, Key]:
        """Begin a new epoch of a tenant; its payload key before and now.

        What runs goes on with the key it has until it starts again. Keys for equal questions
        and for protocol ids stay: they find again what was asked before.
        """
        before = self.tenant(tenant)
        self._source.make(_secret(tenant, "epoch", before.epoch + 1))
        del self._tenants[tenant]
        return before.payload, self.tenant(tenant).payload

    def destroy(self, tenant: str, epoch: int | None = None) -> None:
        """Destroy the secret of one epoch, or every secret of a tenant, for good.

        Done again after a crash it goes on where it was. Raises also ``key_unknown`` and
        ``key_kept``: the source does not confirm that it is gone.
        """
        doomed = {
            entry.secret
            for entry in self.entries(tenant)
            if epoch is None or (entry.purpose == "payload" and entry.number == epoch)
        }
        if not doomed:
            raise KeyringError(
                "key_unknown", f"no such key of {tenant} was used here; see `receipts keys list`"
            )
        self._tenants.pop(tenant, None)
        for secret in sorted(doomed):
            self._source.destroy(secret)
            self._register.mark_destroyed(secret)

    # Inside

    def _own_keys(self, tenant: str, number: int) -> tuple[Key, Key]:
        """The keys that do not rotate with the epoch: for questions and for references."""
        name = _secret(tenant, "tenant", number)
        secret = self._root() + self._used(name)
        question = _derive(secret, b"question", tenant)
        reference = _derive(secret, b"reference", tenant)
        self._confirm(name, question=question, reference=reference)
        return question, reference

    def _payload_key(self, tenant: str, epoch: int) -> Key:
        name = _secret(tenant, "epoch", epoch)
        secret = self._root() + self._used(name)
        key = _derive(secret, b"payload", tenant, str(epoch).encode())
        self._confirm(name, payload=key)
        return key

    def _root(self) -> bytes:
        root = self._used("root")
        self._confirm("root", root=Key(root))
        return root

    def _confirm(self, name: str, **keys: Key) -> None:
        ids = {purpose: key.id for purpose, key in keys.items()}
        self._register.confirm(name, ids, write=self._create)

    def _used(self, name: str) -> bytes:
        """A secret; one that was used before is never made anew."""
        if self._create and not self._register.ids(name):
            self._source.make(name)
        return self._present(name)

    def _present(self, name: str) -> bytes:
        secret = self._source.get(name)
        if secret is None:
            raise KeyringError(
                "key_missing", f"the secret {name} is not there; restore it (keys: {self._folder})"
            )
        return secret

    def _newest(self, tenant: str, series: str) -> int:
        """The highest number of a series that was used or is there; 0: none."""
        prefix = f"tenants/{tenant}/"
        names = self._source.names(prefix) | self._register.names(prefix)
        found = (_NUMBERED.fullmatch(name) for name in names)
        return max((int(match[2]) for match in found if match and match[1] == series), default=0)

    def _current(self, tenant: str, series: str) -> int:
        """The newest of a series; the next one where that is destroyed, or there is none."""
        newest = self._newest(tenant, series)
        is_over = newest == 0 or self._register.is_destroyed(_secret(tenant, series, newest))
        return newest + is_over


def _secret(tenant: str, series: str, number: int) -> str:
    return f"tenants/{tenant}/{series}-{number:04}"


def _number(secret: str) -> int:
    return int(secret[-4:])


def _derive(secret: bytes, purpose: bytes, tenant: str, qualifier: bytes = b"") -> Key:
    info = frame(_DERIVATION, purpose, tenant.encode(), qualifier)
    return Key(hkdf_sha256(secret, info, SECRET_SIZE))
