"""``receipts report``: the canned questions, each a command made from its SQL file's head."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import Parameter as Argument
from inspect import Signature
from pathlib import Path
from typing import Annotated, Any

import typer

from elicitation_receipts import report_all
from elicitation_receipts.acting import record_reading
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.filters import (
    FORMAT,
    OUTPUT,
    PROFILE,
    REQUIRE_RECORD,
    SUPPRESS_BELOW,
    argument,
    keyword,
    read_filters,
)
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.output import show
from elicitation_receipts.queries.catalogue import Catalogue, Question
from elicitation_receipts.queries.chart import draw
from elicitation_receipts.queries.publish import publish
from elicitation_receipts.queries.render import Format
from elicitation_receipts.schemas.vocabulary import Event

_CHART = Annotated[bool, typer.Option("--chart", help="Draw bars below the table.")]


def group(catalogue: Catalogue) -> typer.Typer:
    """The command group: one command a question of the catalogue."""
    app = typer.Typer(help="Ask canned questions of what has landed.", add_completion=False)

    @app.callback(invoke_without_command=True)
    def report(
        context: typer.Context,
        list_: Annotated[
            bool, typer.Option("--list", help="List the questions and what they answer.")
        ] = False,
    ) -> None:
        if list_:
            for question in catalogue.questions.values():
                typer.echo(f"{question.name}: {question.title}\n  {question.answers}")
        elif context.invoked_subcommand is None:
            typer.echo(context.get_help())

    app.command("all", help=report_all.HELP, short_help="Every question at once.")(
        report_all.command(catalogue)
    )
    for question in catalogue.questions.values():
        app.command(
            question.name,
            help=f"{question.title}. {question.answers}",
            short_help=f"{question.title}.",
        )(_command(catalogue, question))
    return app


def _command(catalogue: Catalogue, question: Question) -> Callable[..., None]:
    """The function typer makes a command of. Its signature is what the question declares."""

    def command(
        context: typer.Context,
        form: Format,
        output: Path | None,
        require_record: bool,
        profile: str | None,
        suppress_below: int | None,
        chart: bool,
        **given: Any,
    ) -> None:
        values = read_filters(question.parameters, given)
        invocation: Invocation = context.obj
        settings = invocation.load_settings(
            {"profile": profile, "suppress_below": suppress_below}
        ).settings
        with Warehouse(invocation.database).read() as database:
            if settings.profile == "auditor":
                result = publish(catalogue, database, question, values, settings.suppress_below)
            else:
                result = catalogue.run(database, question.name, values)
        record_reading(
            invocation, Event.REPORTED, question.name, len(result.rows), require=require_record
        )
        show(result, form, output)
        if chart and form is Format.TABLE and output is None:
            draw(result, sys.stdout)
        for note in result.notes:
            typer.echo(f"note: {note}", err=True)
        if form is Format.TABLE and not result.rows:
            typer.echo("hint: no question counts here; widen the period or the filters", err=True)

    arguments = [
        Argument("context", Argument.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        *(argument(parameter) for parameter in question.parameters),
        keyword("form", FORMAT, Format.TABLE),
        keyword("output", OUTPUT, None),
        keyword("require_record", REQUIRE_RECORD, False),
        keyword("profile", PROFILE, None),
        keyword("suppress_below", SUPPRESS_BELOW, None),
        keyword("chart", _CHART, False),
    ]
    vars(command)["__signature__"] = Signature(arguments)
    return command
