"""``receipts policy diff``: what two policies decide differently."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from elicitation_receipts.filters import FORMAT, OUTPUT
from elicitation_receipts.output import show
from elicitation_receipts.policy.common import CONTACTS
from elicitation_receipts.producers.fixtures.compare import (
    Change,
    compare_fixtures,
    compare_recording,
    questions_in,
)
from elicitation_receipts.producers.fixtures.fixture import read, shipped
from elicitation_receipts.producers.policy import BUILT_IN, Policy, load
from elicitation_receipts.producers.recordings.recording import RecordingError, find
from elicitation_receipts.producers.recordings.recording import read as read_recording
from elicitation_receipts.progress import progress_bar
from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.queries.render import Format

_COLUMNS: Final = ("source", "name", "question", "what", "old", "new")
_TYPES: Final = ("VARCHAR", "VARCHAR", "BIGINT", "VARCHAR", "VARCHAR", "VARCHAR")


def diff_command(
    old: Annotated[str, typer.Argument(help="A policy file, or `built-in`.")],
    new: Annotated[str, typer.Argument(help="Another.")],
    recordings: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RECORDING...]", help="Recorded traffic, as `receipts replay` reads it."
        ),
    ] = None,
    fixtures: Annotated[
        Path | None, typer.Option(help="Fixtures to compare by, in place of those shipped.")
    ] = None,
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
) -> None:
    """Say which fixtures and recorded questions two policies decide differently.

    Compared are the decision, the findings, and of recorded questions the outcome and who
    decided. Nothing is written; this contacts nothing and follows no address. A recording that
    cannot be read is named, the others go on, and the exit code is 3.

    Exit codes: 0 no difference, 1 differences.
    """
    before, after = _policy(old), _policy(new)
    compared = shipped() if fixtures is None else read(fixtures)
    changes = list(compare_fixtures(compared, before, after))
    questions, broken = _compare_recordings(recordings or [], before, after, changes)
    head = {
        "old": f"{before.id} {before.version} {before.digest.hex()}",
        "new": f"{after.id} {after.version} {after.digest.hex()}",
        "compared": f"{len(compared)} fixtures, {questions} recorded questions",
        "contacted": CONTACTS,
    }
    show(Result(_COLUMNS, _TYPES, tuple(map(_row, changes)), head=head), form, output)
    if broken:
        raise RecordingError("recordings_broken", f"{broken} of the recordings, named above")
    raise typer.Exit(1 if changes else 0)


def _policy(word: str) -> Policy:
    return BUILT_IN if word == BUILT_IN.id else load(Path(word))


def _compare_recordings(
    paths: Sequence[Path], before: Policy, after: Policy, changes: list[Change]
) -> tuple[int, int]:
    """Add what differs to ``changes``; how many questions there were, and broken recordings."""
    files = find(paths) if paths else []
    questions = broken = 0
    with progress_bar("comparing") as show_progress:
        for done, path in enumerate(files, start=1):
            try:
                recording = read_recording(path)
                changes += compare_recording(recording, before, after)
                questions += questions_in(recording, before)
            except RecordingError as error:
                broken += 1
                typer.echo(f"receipts: {error}", err=True)
            if show_progress is not None:
                show_progress(done, len(files) - done)
    return questions, broken


def _row(change: Change) -> tuple[str, str, int | None, str, str, str]:
    return (change.source, change.name, change.question, change.what, change.old, change.new)
