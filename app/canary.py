"""``receipts canary``: a candidate beside a baseline, with a verdict a pipeline can act on."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from inspect import Parameter as Argument
from inspect import Signature
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from elicitation_receipts.acting import record_reading
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.filters import (
    FORMAT,
    OUTPUT,
    REQUIRE_RECORD,
    argument,
    keyword,
    read_filters,
)
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.output import show
from elicitation_receipts.queries.canary.ask import COMPARABLE, FILTERS_OF, Pair, compare
from elicitation_receipts.queries.canary.thresholds import load
from elicitation_receipts.queries.canary.verdict import Comparison, Standing, Verdict, verdict
from elicitation_receipts.queries.catalogue import Catalogue, Result
from elicitation_receipts.queries.render import Format
from elicitation_receipts.schemas.errors import NotEnoughError
from elicitation_receipts.schemas.vocabulary import Event

_EXIT_CODES: Final = {Verdict.PROMOTE: 0, Verdict.ROLL_BACK: 1, Verdict.HOLD: 4}
_COLUMNS: Final = {
    "measure": "VARCHAR",
    "baseline_count": "BIGINT",
    "candidate_count": "BIGINT",
    "baseline": "DOUBLE",
    "candidate": "DOUBLE",
    "difference": "DOUBLE",
    "low": "DOUBLE",
    "high": "DOUBLE",
    "margin": "DOUBLE",
    "standing": "VARCHAR",
    "missing": "BIGINT",
}
_HELP: Final = """Compare a candidate with a baseline, and say: promote, roll back, or hold.

Each difference stands in an interval that stays valid however often one looks, so this may run
every minute. A share is of the questions put; a wait is a median, in seconds, and its difference a
part of the baseline's. fine: worse by no more than the margin. worse: worse for certain. unclear,
too_few: `missing` is about how many more questions each arm needs.

Exit codes: 0 promote, 1 roll back, 4 hold.
"""


def group(catalogue: Catalogue) -> typer.Typer:
    """The command; its filters are those of a report."""
    app = typer.Typer(add_completion=False)
    filters = [item for item in catalogue.questions[FILTERS_OF].parameters if item.name != "by"]

    def command(
        context: typer.Context,
        baseline: str,
        candidate: str,
        compare_: str,
        thresholds: Path | None,
        watch: int | None,
        form: Format,
        output: Path | None,
        require_record: bool,
        **given: Any,
    ) -> None:
        invocation: Invocation = context.obj
        pair = Pair(compare_, baseline, candidate)
        limits = load(thresholds)
        values = read_filters(filters, given)
        while True:
            try:
                with Warehouse(invocation.database).read() as database:
                    found = compare(catalogue, database, pair, limits, datetime.now(UTC), values)
            except NotEnoughError as error:
                if watch is None:
                    raise
                typer.echo(f"hold: {error}", err=True)
            else:
                said = verdict(found)
                record_reading(
                    invocation, Event.REPORTED, "canary", len(found), require=require_record
                )
                head = {
                    "compared": pair.compare,
                    "baseline": pair.baseline,
                    "candidate": pair.candidate,
                    "verdict": said.value,
                }
                result = _result(found, head)
                show(result, form, output)
                typer.echo(f"verdict: {_sentence(said, found)}", err=True)
                if watch is None or said is not Verdict.HOLD:
                    raise typer.Exit(_EXIT_CODES[said])
            time.sleep(watch)

    vars(command)["__signature__"] = Signature(
        [
            Argument("context", Argument.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
            _positional("baseline", "The value that is in use."),
            _positional("candidate", "The value that may be promoted."),
            keyword(
                "compare_",
                Annotated[
                    str,
                    typer.Option(
                        "--compare", help=f"What the two differ in: {', '.join(COMPARABLE)}."
                    ),
                ],
                "server_version",
            ),
            keyword(
                "thresholds",
                Annotated[
                    Path | None,
                    typer.Option(help="Measures and margins, as JSON; else the built-in ones."),
                ],
                None,
            ),
            keyword(
                "watch",
                Annotated[
                    int | None,
                    typer.Option(
                        min=1,
                        metavar="SECONDS",
                        help="Look again every so many seconds, until the verdict is not hold.",
                    ),
                ],
                None,
            ),
            *(argument(parameter) for parameter in filters),
            keyword("form", FORMAT, Format.TABLE),
            keyword("output", OUTPUT, None),
            keyword("require_record", REQUIRE_RECORD, False),
        ]
    )
    app.command("canary", help=_HELP)(command)
    return app


def _positional(name: str, help_: str) -> Argument:
    return Argument(
        name,
        Argument.POSITIONAL_OR_KEYWORD,
        annotation=Annotated[str, typer.Argument(help=help_, show_default=False)],
    )


def _result(found: list[Comparison], head: dict[str, str]) -> Result:
    rows = tuple(
        (
            item.threshold.measure,
            item.baseline_count,
            item.candidate_count,
            item.baseline,
            item.candidate,
            item.difference,
            item.low,
            item.high,
            item.threshold.margin,
            item.standing.value,
            item.missing,
        )
        for item in found
    )
    return Result(tuple(_COLUMNS), tuple(_COLUMNS.values()), rows, head=head)


def _sentence(said: Verdict, found: list[Comparison]) -> str:
    def named(*standings: Standing) -> str:
        return ", ".join(item.threshold.measure for item in found if item.standing in standings)

    match said:
        case Verdict.PROMOTE:
            return "promote: no measure is worse by more than its margin"
        case Verdict.ROLL_BACK:
            return f"roll back: {named(Standing.WORSE)} worse than the baseline"
        case Verdict.HOLD:
            missing = max((item.missing for item in found if item.missing), default=None)
            more = "" if missing is None else f"; about {missing} more questions an arm"
            return f"hold: not enough to say for {named(Standing.UNCLEAR, Standing.TOO_FEW)}{more}"
