"""A seed: keys, ids and nonces that are the same each time, for receipts to be compared.

Who knows the seed, and it is a small number, can undo every digest made with it: such
receipts never stand among those of a home's own keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from elicitation_receipts.schemas.keys import Key, TenantKeys, frame, hkdf_sha256


@dataclass(frozen=True, slots=True)
class Seed:
    """Everything secret or random, derived from a number."""

    number: int

    def keys(self, tenant: str) -> TenantKeys:
        """A tenant's keys."""

        def key(purpose: bytes) -> Key:
            return Key(self._derive(32, b"key", purpose, tenant.encode()))

        return TenantKeys(tenant, key(b"question"), key(b"reference"), key(b"payload"), epoch=1)

    def random(self, name: bytes) -> Callable[[int], bytes]:
        """A source of bytes; one of another name gives others."""
        numbers = count()
        return lambda size: self._derive(size, b"random", name, str(next(numbers)).encode())

    def _derive(self, size: int, *what: bytes) -> bytes:
        info = frame(b"elicitation-receipts/seed/v1", *what)
        return hkdf_sha256(str(self.number).encode(), info, size)
