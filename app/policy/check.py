"""``receipts policy check``: questions in, what the policy says about each out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, BinaryIO, Final, cast

import typer

from elicitation_receipts.filters import FORMAT, OUTPUT
from elicitation_receipts.output import show
from elicitation_receipts.policy.common import (
    CLIENT_MODE,
    POLICY,
    PROMPT,
    RESOURCE,
    TOOL,
    declared_of,
    head_of,
    operation_of,
    policy_of,
)
from elicitation_receipts.producers.fixtures.questions import Written, read_questions
from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.producers.policy.words import Effect
from elicitation_receipts.producers.screening.screen import Context, screen
from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.queries.render import Format
from elicitation_receipts.schemas.errors import PolicyError
from elicitation_receipts.schemas.vocabulary import Decision

_COLUMNS: Final = ("source", "line", "decision", "blocking", "findings", "asks_for")
_TYPES: Final = ("VARCHAR", "BIGINT", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR")
_STANDARD_INPUT: Final = "-"

Row = tuple[str, int, str, str, str, str]


def check_command(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE...]", help="JSON or JSON lines; - or none: standard input."),
    ] = None,
    revision: Annotated[
        str | None, typer.Option(help="The protocol's revision, such as 2025-11-25.")
    ] = None,
    client_mode: CLIENT_MODE = None,
    tool: TOOL = None,
    prompt: PROMPT = None,
    resource: RESOURCE = None,
    policy: POLICY = None,
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
) -> None:
    """Check questions before they are put: one answer each, names alone, nothing of the text.

    A question is the parameters of an `elicitation/create`, or the whole message. What cannot
    be read as one gets its answer, too. This contacts nothing and follows no address.

    Exit codes: 0 none is blocked, 1 one is.
    """
    loaded = policy_of(context, policy)
    method, name = operation_of(tool, prompt, resource)
    occasion = Context(revision, method, name, declared=declared_of(client_mode))
    rows = [row for file in files or [_STANDARD_INPUT] for row in _rows(file, loaded, occasion)]
    result = Result(columns=_COLUMNS, types=_TYPES, rows=tuple(rows), head=head_of(loaded))
    show(result, form, output)
    raise typer.Exit(1 if any(row[2] == Decision.BLOCK for row in rows) else 0)


def _rows(file: str, policy: Policy, occasion: Context) -> Iterator[Row]:
    try:
        with _opened(file) as stream:
            for written in read_questions(stream):
                yield _row(file, written, policy, occasion)
    except OSError as error:
        raise PolicyError(
            "file_unreadable", f"cannot read {file} ({error.strerror}); check the path"
        ) from None


def _opened(file: str) -> nullcontext[BinaryIO] | BinaryIO:
    if file == _STANDARD_INPUT:
        return nullcontext(sys.stdin.buffer)
    return cast("BinaryIO", Path(file).open("rb"))


def _row(file: str, written: Written, policy: Policy, occasion: Context) -> Row:
    if written.params is None:
        assert written.defect is not None  # noqa: S101  (one of the two is there)
        effect = policy.effect_of(written.defect)
        blocks = effect is Effect.BLOCK
        decision = Decision.BLOCK if blocks else Decision.WARN
        defect = written.defect.value
        return (file, written.line, decision.value, defect if blocks else "", defect, "")
    screened = screen(written.params, policy, occasion)
    return (
        file,
        written.line,
        screened.decision.value,
        " ".join(screened.blocking),
        " ".join(screened.findings),
        " ".join(sorted(screened.asks_for)),
    )
