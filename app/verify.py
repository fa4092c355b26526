"""``receipts verify``: receipts against what was signed about them, offline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NoReturn
from uuid import UUID

import typer

from elicitation_receipts.evidence.archive import BLOCK, ArchiveError, is_archive
from elicitation_receipts.evidence.bundle import Bundle
from elicitation_receipts.evidence.note import VerifierKey, read_keys
from elicitation_receipts.evidence.proof_check import check_proof
from elicitation_receipts.evidence.prove import KIND as PROOF
from elicitation_receipts.evidence.report import Report, Verdict
from elicitation_receipts.evidence.signing import SigningKeys
from elicitation_receipts.evidence.source import Source
from elicitation_receipts.evidence.store import Evidence, read_files, read_folder
from elicitation_receipts.evidence.verify import Question, refused
from elicitation_receipts.evidence.verify import verify as verify_source
from elicitation_receipts.evidence_sources import open_home, open_source
from elicitation_receipts.filters import FORMAT, OUTPUT
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.moment import read_moment
from elicitation_receipts.output import show
from elicitation_receipts.progress import progress_bar
from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.queries.render import Format
from elicitation_receipts.schemas.errors import EvidenceError, HomeError, UsageError

app = typer.Typer(add_completion=False)


@app.command()
def verify(
    context: typer.Context,
    source: Annotated[
        Path | None,
        typer.Argument(
            help="A bundle, a proof, a database, a Parquet file, a spool or a dump of the topic; "
            "without it the home's database, or its spool where nothing has landed.",
            show_default=False,
        ),
    ] = None,
    evidence: Annotated[
        Path | None,
        typer.Option(help="Folder of checkpoints to verify by; without it the home's."),
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(help="Earlier checkpoint, registry, folder or bundle to go on from."),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(help="File of the verifier keys that count, had from elsewhere."),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(help="The newest signature must be of this time or later.", metavar="TIME"),
    ] = None,
    stream: Annotated[list[str] | None, typer.Option(help="Only this stream.")] = None,
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
) -> None:
    """Verify integrity, order, completeness, authenticity, freshness, continuity, and holes.

    Each has a verdict of its own: holds, fails, or not checked, and why. Exit code 0: all that
    was asked for holds; 1: something fails; 4: not enough to say. No network is used.
    """
    invocation: Invocation = context.obj
    pins = None if keys is None else _pins(keys)
    moment = None if as_of is None else read_moment("as_of", as_of)
    proof = None if source is None else _proof(source)
    try:
        if proof is not None:
            report = check_proof(proof, pins, moment, against=bool(against))
            _show(report, form, output)
        with _opened(invocation, source) as receipts:
            question = Question(
                **_came_along(invocation, receipts, evidence, _streams(stream)),
                against={str(path): _earlier(path) for path in against or ()},
                pins=pins,
                as_of=moment,
            )
            report = _verify(receipts, question)
    except ArchiveError as error:
        report = refused(error.reason, str(error.args[0]))
    _show(report, form, output)


def _show(report: Report, form: Format, output: Path | None) -> NoReturn:
    result = as_result(report)
    if form is Format.TABLE:
        result = _without_empty_columns(result)
    show(result, form, output)
    raise typer.Exit(report.exit_code)


def _proof(path: Path) -> bytes | None:
    """The content of a file that is a proof; None: it is something else."""
    try:
        with path.open("rb") as file:
            beginning = file.read(len(PROOF))
            return beginning + file.read() if beginning == PROOF.encode() else None
    except OSError as error:
        raise _unreadable(path, error) from error


def _verify(receipts: Source, question: Question) -> Report:
    with progress_bar("verifying") as tell:

        def progress(done: int) -> None:
            if tell is not None and receipts.count is not None:
                tell(done, max(0, receipts.count - done))

        return verify_source(receipts, question, progress)


def as_result(report: Report) -> Result:
    """A row a verdict, and under each that fails a row a finding."""
    rows: list[tuple[str | int | None, ...]] = []
    for answer in report.answers:
        rows.append((answer.check, answer.verdict, None, None, None, None, answer.reason))
        rows += [
            (
                finding.check,
                Verdict.FAILS,
                finding.kind,
                str(finding.stream_id) if finding.stream_id else None,
                finding.sequence,
                finding.field,
                finding.detail,
            )
            for finding in report.findings
            if finding.check is answer.check
        ]
    notes = (f"{report.unlisted} more findings",) if report.unlisted else ()
    return Result(
        ("check", "verdict", "class", "stream", "sequence", "field", "reason"),
        ("VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "BIGINT", "VARCHAR", "VARCHAR"),
        tuple(rows),
        notes,
    )


def _without_empty_columns(result: Result) -> Result:
    """What people need to see: nothing is wrong nowhere."""
    places = [
        place
        for place in range(len(result.columns))
        if any(row[place] is not None for row in result.rows)
    ]
    return replace(
        result,
        columns=tuple(result.columns[place] for place in places),
        types=tuple(result.types[place] for place in places),
        rows=tuple(tuple(row[place] for place in places) for row in result.rows),
    )


@contextmanager
def _opened(invocation: Invocation, source: Path | None) -> Iterator[Source]:
    if source is None:
        with open_home(invocation.home(create=False)) as receipts:
            yield receipts
    else:
        with open_source(source) as receipts:
            yield receipts


def _came_along(
    invocation: Invocation, receipts: Source, folder: Path | None, only: frozenset[UUID] | None
) -> dict[str, Any]:
    """What came with the source: a bundle brings all it needs, for others the home has it."""
    if isinstance(receipts, Bundle):
        return {
            "evidence": receipts.evidence,
            "only": receipts.streams if only is None else receipts.streams & only,
            "starts": receipts.starts,
            "schemas": receipts.schemas,
            "policies": receipts.policies,
            "manifest": receipts.manifest,
        }
    return {"evidence": _evidence(invocation, folder), "only": only}


def _evidence(invocation: Invocation, folder: Path | None) -> Evidence:
    if folder is not None:
        return _folder(folder)
    try:
        home = invocation.home(create=False)
    except HomeError:
        return Evidence()
    evidence = read_folder(home.evidence)
    # Its keys are where only its owner can write; those beside the notes are for others.
    evidence.keys = SigningKeys.open(home.signing_keys).public() or evidence.keys
    return evidence


def _earlier(path: Path) -> Evidence:
    if path.is_dir():
        return _folder(path)
    try:
        with path.open("rb") as file:
            if is_archive(file.read(BLOCK)):
                return Bundle(path).evidence
        return read_files([(path.name, path.read_bytes())])
    except OSError as error:
        raise _unreadable(path, error) from error


def _folder(path: Path) -> Evidence:
    if not path.is_dir():
        raise UsageError("not_a_folder", f"{path} is no folder of checkpoints")
    return read_folder(path)


def _pins(path: Path) -> Sequence[VerifierKey]:
    try:
        return read_keys(path.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise _unreadable(path, error) from error


def _streams(texts: list[str] | None) -> frozenset[UUID] | None:
    try:
        return frozenset(map(UUID, texts)) if texts else None
    except ValueError:
        raise UsageError("stream_invalid", "--stream takes a stream's id, a UUID") from None


def _unreadable(path: Path, error: OSError) -> EvidenceError:
    return EvidenceError("evidence_unreadable", f"cannot read {path} ({error.strerror}); check it")
