"""Judging: what each gate says of a combination by its rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from elicitation_receipts.queries.gates.combination import Combination
from elicitation_receipts.queries.gates.rules import Attestation, Rule


class Verdict(StrEnum):
    PASS = "pass"  # noqa: S105  (a verdict)
    FAIL = "fail"
    STALE = "stale"  # something of the combination has changed since there was evidence
    NO_EVIDENCE = "no_evidence"  # which is never a pass


@dataclass(frozen=True, slots=True)
class Found:
    """A finding in a combination. ``receipts``: ids of some that show it."""

    gate: str
    name: str
    severity: str
    count: int
    receipts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a combination has shown: numbers by name, and its findings."""

    combination: Combination
    numbers: Mapping[str, int]
    findings: Sequence[Found]

    def lacks(self, rule: Rule) -> list[str]:
        """What the rule needs more of, as ``have/needed name``."""
        return [
            f"{self.numbers[name]}/{needed} {name}"
            for name, needed in rule.needs.items()
            if self.numbers[name] < needed
        ]


@dataclass(frozen=True, slots=True)
class Judged:
    """A gate's verdict. ``reason`` is a sentence; ``findings`` are those that fail it."""

    gate: str
    verdict: Verdict
    reason: str
    findings: tuple[Found, ...] = ()


def judge(
    rule: Rule,
    shown: Sequence[Shown],
    attestations: Sequence[Attestation],
    changed: Sequence[str] = (),
) -> Judged:
    """``shown``: of the combination in question first, then of earlier ones, the latest first.

    ``changed``: members that are said to have changed since anything was seen.
    """
    if rule.attested:
        return _attested(rule, shown[0].combination, attestations, changed)
    return _observed(rule, shown, changed)


def _observed(rule: Rule, shown: Sequence[Shown], changed: Sequence[str]) -> Judged:
    now, *earlier = shown
    if changed:
        return _stale(rule, changed)
    failing = [
        found for found in now.findings if rule.is_failed_by(found.gate, found.name, found.severity)
    ]
    exceeded = [
        f"{now.numbers[name]} {name}, at most {most}"
        for name, most in rule.at_most.items()
        if now.numbers[name] > most
    ]
    if failing or exceeded:
        said = [f"{found.count} {found.name}" for found in failing]
        return Judged(rule.gate, Verdict.FAIL, "; ".join([*said, *exceeded]), tuple(failing))
    lacking = now.lacks(rule)
    if not lacking:
        return Judged(rule.gate, Verdict.PASS, "enough was seen, and nothing that fails it")
    for other in earlier:
        if not other.lacks(rule):
            return _stale(rule, now.combination.changed_since(other.combination))
    return Judged(rule.gate, Verdict.NO_EVIDENCE, f"too little was seen: {', '.join(lacking)}")


def _attested(
    rule: Rule,
    combination: Combination,
    attestations: Sequence[Attestation],
    changed: Sequence[str],
) -> Judged:
    for_gate = [item for item in attestations if item.gate == rule.gate]
    valid = [item for item in for_gate if not item.differs_from(combination)]
    for item in sorted(valid, key=lambda item: (item.passed, item.at)):
        if not item.passed:
            return Judged(rule.gate, Verdict.FAIL, f"{item.by} attests on {item.at} that it fails")
        if not changed:
            return Judged(rule.gate, Verdict.PASS, f"attested by {item.by} on {item.at}")
    if changed and for_gate:
        return _stale(rule, changed)
    if for_gate:
        return _stale(rule, for_gate[-1].differs_from(combination))
    return Judged(rule.gate, Verdict.NO_EVIDENCE, "nobody has attested it (--evidence)")


def _stale(rule: Rule, changed: Sequence[str]) -> Judged:
    return Judged(
        rule.gate, Verdict.STALE, f"changed since there was evidence: {', '.join(changed)}"
    )
