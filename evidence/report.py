"""The report of a verification: a verdict on each question, never one on all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from uuid import UUID

#: So many findings are listed; the rest is counted.
_MOST_FINDINGS: Final = 1_000


class Check(StrEnum):
    """What is asked of evidence, each question by itself."""

    INTEGRITY = "integrity"  # is every receipt what was sealed?
    ORDER = "order"  # does each name the one before it?
    COMPLETENESS = "completeness"  # is all there that the signed checkpoints cover?
    AUTHENTICITY = "authenticity"  # who signed them?
    FRESHNESS = "freshness"  # how old is the newest signature?
    CONTINUITY = "continuity"  # does it go on from what was seen before?
    RETENTION = "retention holes"  # is what was dropped by rule named and signed?


class Verdict(StrEnum):
    HOLDS = "holds"
    FAILS = "fails"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong. ``kind``: its class, a stable name; ``field``: where it can be told."""

    check: Check
    kind: str
    stream_id: UUID | None = None
    sequence: int | None = None
    field: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    check: Check
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Window:
    """What of a stream was looked at. ``first`` to ``protected``: under a signed root.

    ``tail``: receipts behind the newest checkpoint, which may be cut off unnoticed;
    ``expired``: receipts that were dropped by rule, with a seal.
    """

    stream_id: UUID
    first: int
    protected: int | None
    receipts: int
    tail: int
    expired: int


class Findings:
    """Collects what is wrong, so many at most; the rest is counted."""

    def __init__(self) -> None:
        self.listed: list[Finding] = []
        self.counts: dict[Check, int] = dict.fromkeys(Check, 0)

    def add(self, finding: Finding) -> None:
        self.counts[finding.check] += 1
        if len(self.listed) < _MOST_FINDINGS:
            self.listed.append(finding)

    @property
    def unlisted(self) -> int:
        return sum(self.counts.values()) - len(self.listed)


@dataclass(frozen=True, slots=True)
class Report:
    """``asked``: the questions whose answer decides the exit code."""

    answers: Sequence[Answer]
    findings: Sequence[Finding]
    unlisted: int
    windows: Sequence[Window]
    asked: frozenset[Check] = field(repr=False)

    def verdict(self, check: Check) -> Verdict:
        return next(answer.verdict for answer in self.answers if answer.check is check)

    @property
    def exit_code(self) -> int:
        """0: all that was asked holds; 1: something fails; 4: not enough to say."""
        verdicts = {answer.check: answer.verdict for answer in self.answers}
        if Verdict.FAILS in verdicts.values():
            return 1
        return 4 if any(verdicts[check] is Verdict.NOT_CHECKED for check in self.asked) else 0
