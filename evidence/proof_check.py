"""A proof checked: one receipt, its path to a signed root, and who signed it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from elicitation_receipts.evidence.checkpoint import Checkpoint
from elicitation_receipts.evidence.note import SignatureFault, VerifierKey
from elicitation_receipts.evidence.prove import Proof
from elicitation_receipts.evidence.report import Answer, Check, Finding, Report, Verdict
from elicitation_receipts.evidence.walk import Fault, head_of, walk
from elicitation_receipts.schemas.errors import EvidenceError

_ONE = "a proof is about one receipt: nothing follows for any other"


def check_proof(
    content: bytes,
    pins: Sequence[VerifierKey] | None,
    as_of: datetime | None,
    *,
    against: bool,
) -> Report:
    """Judge a tlog-proof file. What ``as_of`` and ``against`` ask, no proof can answer."""
    findings: list[Finding] = []
    try:
        proof = Proof.parse(content)
        checkpoint = Checkpoint.parse(proof.checkpoint.text)
        walk(proof.message)
        head = head_of(proof.message)
    except (EvidenceError, Fault) as error:
        kind = error.kind if isinstance(error, Fault) else error.reason
        findings.append(Finding(Check.INTEGRITY, kind))
        signed = (Verdict.NOT_CHECKED, "the proof could not be read")
    else:
        stream = UUID(bytes=head.stream)
        if (stream, head.sequence) != (checkpoint.stream_id, proof.index):
            findings.append(Finding(Check.INTEGRITY, "misplaced", stream, head.sequence))
        elif not proof.leads_to(checkpoint):
            findings.append(Finding(Check.INTEGRITY, "root_mismatch", stream, head.sequence))
        signed = _signer(proof, pins, findings)
    wrong = {finding.check for finding in findings}
    answers = []
    for check in Check:
        verdict, reason = Verdict.NOT_CHECKED, _ONE
        if check is Check.INTEGRITY:
            verdict, reason = Verdict.HOLDS, "the receipt leads to the root of the checkpoint"
        elif check is Check.AUTHENTICITY:
            verdict, reason = signed
        if check in wrong:
            verdict, reason = Verdict.FAILS, "1 finding"
        answers.append(Answer(check, verdict, reason))
    asked = {
        Check.INTEGRITY: True,
        Check.AUTHENTICITY: pins is not None,
        Check.FRESHNESS: as_of is not None,
        Check.CONTINUITY: against,
    }
    return Report(answers, findings, 0, [], frozenset(each for each, yes in asked.items() if yes))


def _signer(
    proof: Proof, pins: Sequence[VerifierKey] | None, findings: list[Finding]
) -> tuple[Verdict, str]:
    if pins is None:
        return Verdict.NOT_CHECKED, "who signed the checkpoint, only --keys tells"
    try:
        key = proof.checkpoint.signer(pins)
    except SignatureFault as fault:
        findings.append(Finding(Check.AUTHENTICITY, fault.kind))
        return Verdict.FAILS, "1 finding"
    return Verdict.HOLDS, f"the checkpoint is signed by the pinned key {key.id.hex()}"
