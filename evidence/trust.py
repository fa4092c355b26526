"""Trust: which keys count, and whether a note is signed by one of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from elicitation_receipts.evidence.note import Note, SignatureFault, VerifierKey
from elicitation_receipts.evidence.report import Check, Finding, Findings
from elicitation_receipts.evidence.signing import Rotation
from elicitation_receipts.evidence.store import Signed


class Trust:
    """``keys``, and each key that one of them has named its successor.

    A key that has named one is retired: what it signs later does not count.
    """

    def __init__(
        self,
        keys: Iterable[VerifierKey],
        rotations: Iterable[Signed[Rotation]],
        findings: Findings,
    ) -> None:
        self._keys = list(keys)
        self._retired: dict[VerifierKey, datetime] = {}
        self._findings = findings
        self.believed = 0
        for rotation in sorted(rotations, key=lambda each: each.content.time):
            signer = self.signer(rotation.name, rotation.note, rotation.content.time)
            if signer is None:
                continue
            if signer != rotation.content.old:
                self._find("rotation_invalid", rotation.name)
                continue
            self._keys.append(rotation.content.new)
            self._retired[signer] = rotation.content.time

    @property
    def keys(self) -> Sequence[VerifierKey]:
        return self._keys

    def signer(self, name: str, note: Note, time: datetime | None = None) -> VerifierKey | None:
        """The key that signed a note of ``time``; None where its signature does not count.

        Then there is a finding under ``name``: ``unknown_key``, ``bad_signature``, ``retired_key``.
        """
        try:
            key = note.signer(self._keys)
        except SignatureFault as fault:
            self._find(fault.kind, name)
            return None
        retired = self._retired.get(key)
        if retired is not None and time is not None and time > retired:
            self._find("retired_key", name)
            return None
        self.believed += 1
        return key

    def _find(self, kind: str, name: str) -> None:
        self._findings.add(Finding(Check.AUTHENTICITY, kind, detail=name))
