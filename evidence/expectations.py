"""Expectations: the roots that believed notes say the streams have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from elicitation_receipts.evidence.checkpoint import Checkpoint
from elicitation_receipts.evidence.registry import Registry
from elicitation_receipts.evidence.report import Check, Finding, Findings
from elicitation_receipts.evidence.seal import Seal
from elicitation_receipts.evidence.store import Evidence
from elicitation_receipts.evidence.trust import Trust


@dataclass(slots=True)
class Expectations:
    """``registry``: the newest; ``roots``: by stream and size; ``seals``: by stream, in order."""

    registry: Registry | None = None
    roots: dict[UUID, dict[int, bytes]] = field(default_factory=dict)
    seals: dict[UUID, list[Seal]] = field(default_factory=dict)

    def checkpoints(self) -> Iterator[Checkpoint]:
        for stream_id, roots in self.roots.items():
            for size, root in roots.items():
                yield Checkpoint(stream_id, size, root)

    def newest(self, stream_id: UUID) -> int | None:
        """The largest signed size of a stream."""
        return max(self.roots.get(stream_id, ()), default=None)


def believe(evidence: Evidence, trust: Trust, findings: Findings) -> Expectations:
    """What of the evidence counts. What is signed by nobody known says nothing."""
    for name, reason in evidence.unread:
        kind = "unsigned" if reason == "note_unsigned" else reason
        findings.add(Finding(Check.AUTHENTICITY, kind, detail=name))
    expected = Expectations()
    for listed in sorted(evidence.registries, key=lambda each: each.content.time):
        if trust.signer(listed.name, listed.note, listed.content.time):
            expected.registry = listed.content
            for entry in listed.content.streams.values():
                _expect(expected, entry.checkpoint, findings)
    for signed in evidence.checkpoints:
        if trust.signer(signed.name, signed.note):
            _expect(expected, signed.content, findings)
    for sealed in sorted(evidence.seals, key=lambda each: each.content.first):
        if trust.signer(sealed.name, sealed.note, sealed.content.time):
            _chain(expected, sealed.content, findings)
    return expected


def _expect(expected: Expectations, checkpoint: Checkpoint, findings: Findings) -> None:
    roots = expected.roots.setdefault(checkpoint.stream_id, {})
    if roots.setdefault(checkpoint.size, checkpoint.root) != checkpoint.root:
        # Whoever holds the key has signed two trees of one size: two histories.
        findings.add(Finding(Check.CONTINUITY, "fork", checkpoint.stream_id, checkpoint.size - 1))


def _chain(expected: Expectations, seal: Seal, findings: Findings) -> None:
    seals = expected.seals.setdefault(seal.stream_id, [])
    before = seals[-1].digest if seals else None
    if seal.previous != before or (seals and seal.first <= seals[-1].last):
        findings.add(Finding(Check.RETENTION, "bad_seal", seal.stream_id, seal.first))
        return
    seals.append(seal)
