"""Verify: receipts against what was signed about them; a verdict on each question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final
from uuid import UUID

from elicitation_receipts.evidence.expectations import Expectations, believe
from elicitation_receipts.evidence.manifest import Manifest
from elicitation_receipts.evidence.note import VerifierKey
from elicitation_receipts.evidence.registry import installed_schemas
from elicitation_receipts.evidence.report import (
    Answer,
    Check,
    Finding,
    Findings,
    Report,
    Verdict,
    Window,
)
from elicitation_receipts.evidence.source import Run, Source
from elicitation_receipts.evidence.store import Evidence, Signed
from elicitation_receipts.evidence.stream_check import StreamCheck
from elicitation_receipts.evidence.text import moment_text
from elicitation_receipts.evidence.tree import Frontier
from elicitation_receipts.evidence.trust import Trust
from elicitation_receipts.evidence.verdicts import Facts, answers

#: How often progress is told.
_STEP = 1_000


_ALWAYS: Final = frozenset({Check.INTEGRITY, Check.ORDER, Check.COMPLETENESS, Check.RETENTION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to verify a source by.

    ``evidence``: what came with the source; ``against``: what was kept from earlier, by name;
    ``pins``: the keys that count, None: those that came along; ``as_of``: the newest signature
    must be at least of that time; ``only``: these streams, None: all; ``starts``: the tree
    before the first receipt of a stream that is here in part; ``schemas``: the SHA-256 of
    the schema files that came along, by name, ``policies``: of the policies that did, each a
    file named by it; ``manifest``: of the bundle that all came in.
    """

    evidence: Evidence
    against: Mapping[str, Evidence] = field(default_factory=dict)
    pins: Sequence[VerifierKey] | None = None
    as_of: datetime | None = None
    only: Collection[UUID] | None = None
    starts: Mapping[UUID, Frontier] = field(default_factory=dict)
    schemas: Mapping[str, str] = field(default_factory=installed_schemas)
    policies: Mapping[str, str] = field(default_factory=dict)
    manifest: Signed[Manifest] | None = None

    @property
    def asked(self) -> frozenset[Check]:
        """The questions that only these options can answer."""
        options = {
            Check.AUTHENTICITY: self.pins is not None,
            Check.FRESHNESS: self.as_of is not None,
            Check.CONTINUITY: bool(self.against),
        }
        return frozenset(check for check, given in options.items() if given)


def verify(
    source: Source, question: Question, progress: Callable[[int], None] = lambda _: None
) -> Report:
    """Read the source once and judge it. ``progress`` hears how many receipts were read.

    Raises what the source raises, and :class:`EvidenceError` for nothing of its own.
    """
    findings = Findings()
    rotations = [*question.evidence.rotations]
    for earlier in question.against.values():
        rotations += [each for each in earlier.rotations if each not in rotations]
    keys = question.evidence.keys if question.pins is None else question.pins
    trust = Trust(keys, rotations, findings)
    ours = believe(question.evidence, trust, findings)
    if question.manifest is not None:
        made = question.manifest
        trust.signer(made.name, made.note, made.content.time)
    theirs = {name: believe(earlier, trust, findings) for name, earlier in question.against.items()}
    checks = _read(source, question, ours, list(theirs.values()), findings, progress)
    wanted = _wanted(ours, question)
    _compare(ours, checks, wanted, findings)
    _compare_schemas(ours, question, findings)
    _check_policies(question, findings)
    _check_age(ours, question, findings)
    compared = sum(
        _compare_earlier(earlier, ours, checks, question, findings) for earlier in theirs.values()
    )
    windows = [_window(check, ours) for check in checks.values()]
    facts = Facts(
        counts=findings.counts,
        windows=windows,
        registry=ours.registry,
        left_out=len(ours.roots.keys() - wanted),
        roots=sum(len(check.roots) for check in checks.values()),
        believed=trust.believed,
        is_pinned=question.pins is not None,
        keys=trust.keys,
        as_of=question.as_of,
        earlier=len(theirs),
        compared=compared,
    )
    asked = _ALWAYS | question.asked
    return Report(answers(facts, findings), findings.listed, findings.unlisted, windows, asked)


def refused(kind: str, detail: str) -> Report:
    """The report on an archive that was tampered with: nothing in it was looked at further."""
    reason = "the archive is not as it was made; get it again"
    verdicts = [
        Answer(check, Verdict.FAILS, "1 finding")
        if check is Check.INTEGRITY
        else Answer(check, Verdict.NOT_CHECKED, reason)
        for check in Check
    ]
    finding = Finding(Check.INTEGRITY, kind, detail=detail)
    return Report(verdicts, [finding], 0, [], _ALWAYS)


_Checks = dict[UUID, StreamCheck]


def _wanted(ours: Expectations, question: Question) -> set[UUID]:
    """The streams that must be here."""
    signed = set(ours.roots)
    return signed if question.only is None else signed & set(question.only)


def _read(
    source: Source,
    question: Question,
    ours: Expectations,
    theirs: Sequence[Expectations],
    findings: Findings,
    progress: Callable[[int], None],
) -> _Checks:
    """Take every item of the source to its stream's check."""
    only = None if question.only is None else {stream.bytes for stream in question.only}
    open_checks: dict[bytes, StreamCheck] = {}

    def open_check(stream_id: UUID) -> StreamCheck:
        sizes = {size for expected in (ours, *theirs) for size in expected.roots.get(stream_id, ())}
        start = question.starts.get(stream_id)
        seals = ours.seals.get(stream_id, ())
        return StreamCheck(stream_id, findings, sizes, seals, start)

    for stream_id in ours.seals:  # all of a stream may have expired
        if only is None or stream_id.bytes in only:
            open_checks[stream_id.bytes] = open_check(stream_id)
    done = told = 0
    for item in source.items():
        if only is not None and item.stream not in only:
            continue
        check = open_checks.get(item.stream)
        if check is None:
            check = open_checks[item.stream] = open_check(UUID(bytes=item.stream))
        if isinstance(item, Run):
            check.take_run(item)
            done += len(item.leaves)
        else:
            check.take(item)
            done += 1
        if done >= told + _STEP:
            told = done
            progress(done)
    for check in open_checks.values():
        check.end()
    progress(done)
    return {check.stream_id: check for check in open_checks.values()}


def _compare(
    ours: Expectations, checks: _Checks, wanted: Collection[UUID], findings: Findings
) -> None:
    """Against the signed roots that came along."""

    def find(check: Check, kind: str, stream_id: UUID | None, sequence: int | None) -> None:
        findings.add(Finding(check, kind, stream_id, sequence))

    if ours.roots and ours.registry is None:
        find(Check.COMPLETENESS, "registry_missing", None, None)
    for stream_id in wanted:
        roots, check = ours.roots[stream_id], checks.get(stream_id)
        newest = max(roots)
        if ours.registry is not None:
            entry = ours.registry.streams.get(stream_id)
            if entry is None or entry.last + 1 < newest:
                find(Check.COMPLETENESS, "registry_cut", stream_id, None)
        if check is None:
            find(Check.COMPLETENESS, "missing_stream", stream_id, None)
            continue
        if check.next < newest:
            find(Check.COMPLETENESS, "missing_tail", stream_id, check.next)
        for size, root in sorted(roots.items()):
            if check.roots.get(size, root) != root:
                find(Check.INTEGRITY, "root_mismatch", stream_id, size - 1)
                break  # every later root differs too


def _compare_schemas(ours: Expectations, question: Question, findings: Findings) -> None:
    if ours.registry is None:
        return
    for name, digest in ours.registry.schemas.items():
        if question.schemas.get(name) != digest:
            findings.add(Finding(Check.INTEGRITY, "schema_mismatch", field=name))


def _check_policies(question: Question, findings: Findings) -> None:
    """A receipt names its policy by digest: a file under that name must have it."""
    for name, digest in question.policies.items():
        if PurePosixPath(name).name != f"{digest}.json":
            findings.add(Finding(Check.INTEGRITY, "policy_mismatch", field=name))


def _check_age(ours: Expectations, question: Question, findings: Findings) -> None:
    if ours.registry and question.as_of and ours.registry.time < question.as_of:
        findings.add(Finding(Check.FRESHNESS, "stale", detail=moment_text(ours.registry.time)))


def _compare_earlier(
    earlier: Expectations,
    ours: Expectations,
    checks: _Checks,
    question: Question,
    findings: Findings,
) -> int:
    """Against the roots that were kept from earlier; how many could be compared."""

    def find(kind: str, stream_id: UUID | None, sequence: int | None = None) -> None:
        findings.add(Finding(Check.CONTINUITY, kind, stream_id, sequence))

    compared = 0
    if earlier.registry is not None and ours.registry is not None:
        if ours.registry.time < earlier.registry.time:
            find("rolled_back", None)
        for stream_id in earlier.registry.streams.keys() - ours.registry.streams.keys():
            find("registry_cut", stream_id)
    for checkpoint in earlier.checkpoints():
        stream_id, size = checkpoint.stream_id, checkpoint.size
        if question.only is not None and stream_id not in question.only:
            continue
        check = checks.get(stream_id)
        if check is None:
            find("missing_stream", stream_id)
        elif check.next < size:
            find("rolled_back", stream_id, check.next)
        elif size in check.roots:
            compared += 1
            if check.roots[size] != checkpoint.root:
                find("fork", stream_id, size - 1)
    return compared


def _window(check: StreamCheck, ours: Expectations) -> Window:
    newest = ours.newest(check.stream_id)
    return Window(
        stream_id=check.stream_id,
        first=check.first,
        protected=None if newest is None else newest - 1,
        receipts=check.receipts,
        tail=max(0, check.next - (newest or check.first)),
        expired=check.expired,
    )
