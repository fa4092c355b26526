"""``receipts policy test``: run fixtures against a policy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, TextIO

import typer

from elicitation_receipts.filters import OUTPUT
from elicitation_receipts.junit import Case, Outcome, write_junit
from elicitation_receipts.output import show, show_text
from elicitation_receipts.policy.common import POLICY, head_of, policy_of
from elicitation_receipts.producers.fixtures.fixture import read, shipped
from elicitation_receipts.producers.fixtures.run import Ran, run
from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.queries.render import Format

_COLUMNS: Final = ("fixture", "result", "what", "expected", "got", "title")
_SUITE: Final = "receipts policy test"


class FixtureFormat(StrEnum):
    """What reports are written as, and what build servers read."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    JUNIT = "junit"
    TAP = "tap"


def fixtures_command(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="Folder of fixtures, or one; without: those shipped."),
    ] = None,
    policy: POLICY = None,
    form: Annotated[
        FixtureFormat,
        typer.Option("--format", help="A table for people; junit and tap for build servers."),
    ] = FixtureFormat.TABLE,
    output: OUTPUT = None,
) -> None:
    """Test a policy by fixtures: each a situation and what the policy must make of it.

    A failure says what was expected and what came, by name. This contacts nothing and follows
    no address.

    Exit codes: 0 all pass, 1 one fails.
    """
    loaded = policy_of(context, policy)
    fixtures = shipped() if folder is None else read(folder)
    ran = [run(fixture, loaded) for fixture in fixtures]
    failed = sum(bool(one.differences) for one in ran)
    if form in (FixtureFormat.JUNIT, FixtureFormat.TAP):
        write = _junit if form is FixtureFormat.JUNIT else _tap
        show_text(lambda stream: write(ran, stream), output)
    else:
        head = {**head_of(loaded), "fixtures": f"{len(ran)}, failed {failed}"}
        rows = tuple(row for one in ran for row in _rows(one))
        result = Result(_COLUMNS, ("VARCHAR",) * len(_COLUMNS), rows, head=head)
        show(result, Format(form.value), output)
    raise typer.Exit(1 if failed else 0)


def _rows(ran: Ran) -> list[tuple[str | None, ...]]:
    fixture = ran.fixture
    if not ran.differences:
        return [(fixture.name, "passed", None, None, None, fixture.title)]
    return [
        (fixture.name, "failed", one.what, one.expected, one.got, fixture.title)
        for one in ran.differences
    ]


def _message(ran: Ran) -> str:
    return "; ".join(
        f"{one.what}: expected {one.expected}, got {one.got}" for one in ran.differences
    )


def _junit(all_ran: Sequence[Ran], stream: TextIO) -> None:
    cases = (
        Case(
            ran.fixture.name,
            Outcome.FAILED if ran.differences else Outcome.PASSED,
            _message(ran),
        )
        for ran in all_ran
    )
    write_junit(_SUITE, cases, stream)


def _tap(all_ran: Sequence[Ran], stream: TextIO) -> None:
    """The Test Anything Protocol, version 14, with what failed as a YAML block."""
    stream.write(f"TAP version 14\n1..{len(all_ran)}\n")
    for number, ran in enumerate(all_ran, start=1):
        stream.write(f"{'not ok' if ran.differences else 'ok'} {number} - {ran.fixture.name}\n")
        if ran.differences:
            stream.write(f"  ---\n  message: {json.dumps(_message(ran))}\n  ...\n")
