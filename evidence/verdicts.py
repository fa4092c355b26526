"""Verdicts: what the facts of a verification come to, and the words for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from elicitation_receipts.evidence.note import VerifierKey
from elicitation_receipts.evidence.registry import Registry
from elicitation_receipts.evidence.report import Answer, Check, Findings, Verdict, Window
from elicitation_receipts.evidence.text import moment_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """``counts``: findings by question; ``left_out``: signed streams not asked for;
    ``roots``: how many signed roots were compared; ``believed``: notes whose signature counts;
    ``earlier``: how many files to compare with were given, ``compared``: roots out of them.
    """

    counts: Mapping[Check, int]
    windows: Sequence[Window]
    registry: Registry | None
    left_out: int
    roots: int
    believed: int
    is_pinned: bool
    keys: Sequence[VerifierKey]
    as_of: datetime | None
    earlier: int
    compared: int

    @property
    def receipts(self) -> int:
        return sum(window.receipts for window in self.windows)

    @property
    def expired(self) -> int:
        return sum(window.expired for window in self.windows)

    @property
    def is_empty(self) -> bool:
        return self.receipts == self.expired == 0


def answers(facts: Facts, findings: Findings) -> list[Answer]:
    """One answer a question; a question with findings fails, whatever else may be said."""
    return [
        Answer(check, Verdict.FAILS, _number(findings.counts[check], "finding"))
        if findings.counts[check]
        else Answer(check, *judge(facts))
        for check, judge in _JUDGES.items()
    ]


_Judged = tuple[Verdict, str]
_NOTHING: Final = (Verdict.NOT_CHECKED, "there is no receipt to verify")


def _integrity(facts: Facts) -> _Judged:
    if facts.is_empty:
        return _NOTHING
    read = f"{_number(facts.receipts, 'receipt')} in the one encoding of each"
    roots = f"{_number(facts.roots, 'signed root')} recomputed" if facts.roots else "no signed root"
    return Verdict.HOLDS, f"{read}; {roots}"


def _order(facts: Facts) -> _Judged:
    if facts.is_empty:
        return _NOTHING
    streams = _number(len(facts.windows), "stream")
    return Verdict.HOLDS, f"each receipt names the one before it, in {streams}"


def _completeness(facts: Facts) -> _Judged:
    if facts.registry is None:
        return Verdict.NOT_CHECKED, "no registry whose signature counts; `receipts checkpoint`"
    if facts.is_empty:
        return _NOTHING
    tail = sum(window.tail for window in facts.windows)
    streams = sum(window.tail > 0 for window in facts.windows)
    until = f"all that was signed until {moment_text(facts.registry.time)}"
    behind = (
        f"unprotected tail: {_number(tail, 'receipt')} in {_number(streams, 'stream')}"
        if tail
        else "no unprotected tail"
    )
    left = f"; not asked for: {_number(facts.left_out, 'stream')}" if facts.left_out else ""
    return Verdict.HOLDS, f"{until}; {behind}{left}"


def _authenticity(facts: Facts) -> _Judged:
    if not facts.believed:
        return Verdict.NOT_CHECKED, "nothing here is signed"
    signed = _number(facts.believed, "note")
    if facts.is_pinned:
        return Verdict.HOLDS, f"{signed} signed by pinned keys or their successors"
    names = ", ".join(key.id.hex() for key in facts.keys)
    return (
        Verdict.NOT_CHECKED,
        f"{signed} signed by the keys that came along ({names}): whose they are, only --keys tells",
    )


def _freshness(facts: Facts) -> _Judged:
    if facts.registry is None:
        return Verdict.NOT_CHECKED, "no registry whose signature counts says a time"
    newest = f"the newest signature is of {moment_text(facts.registry.time)}"
    if facts.as_of is None:
        return Verdict.NOT_CHECKED, f"{newest}: whether that is late enough, only --as-of tells"
    return Verdict.HOLDS, f"{newest}, not before {moment_text(facts.as_of)}"


def _continuity(facts: Facts) -> _Judged:
    if not facts.earlier:
        return (
            Verdict.NOT_CHECKED,
            "an older state, or another history, can look whole: only --against tells",
        )
    if not facts.compared:
        return Verdict.NOT_CHECKED, "no earlier root could be compared with what is here"
    return Verdict.HOLDS, f"goes on from {_number(facts.compared, 'earlier root')}"


def _retention(facts: Facts) -> _Judged:
    if facts.is_empty:
        return _NOTHING
    if not facts.expired:
        return Verdict.HOLDS, "no hole"
    return Verdict.HOLDS, f"{_number(facts.expired, 'receipt')} expired with seal"


_JUDGES: Final[Mapping[Check, Callable[[Facts], _Judged]]] = {
    Check.INTEGRITY: _integrity,
    Check.ORDER: _order,
    Check.COMPLETENESS: _completeness,
    Check.AUTHENTICITY: _authenticity,
    Check.FRESHNESS: _freshness,
    Check.CONTINUITY: _continuity,
    Check.RETENTION: _retention,
}


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
