"""``receipts report``: the canned questions, each a command made from its SQL file's head."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from inspect import Parameter as Argument
from inspect import Signature
from pathlib import Path
from typing import Annotated, Any

import typer

from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.queries.catalogue import Catalogue, Question
from elicitation_receipts.queries.parameter import Kind, Parameter, Value
from elicitation_receipts.queries.render import Format, render, save

_FORMAT = Annotated[
    Format, typer.Option("--format", help="A table for people; json, csv or parquet for programs.")
]
_OUTPUT = Annotated[
    Path | None,
    typer.Option("--output", help="Write to this file instead, whole or not at all."),
]


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

    for question in catalogue.questions.values():
        app.command(
            question.name,
            help=f"{question.title}. {question.answers}",
            short_help=f"{question.title}.",
        )(_command(catalogue, question))
    return app


def _command(catalogue: Catalogue, question: Question) -> Callable[..., None]:
    """The function typer makes a command of. Its signature is what the question declares."""

    def command(context: typer.Context, form: Format, output: Path | None, **given: Any) -> None:
        values = _values(question, given)
        invocation: Invocation = context.obj
        with Warehouse(invocation.database).read() as database:
            result = catalogue.run(database, question.name, values)
        if output is None:
            render(result, form, sys.stdout)
        else:
            save(result, form, output)
        for note in result.notes:
            typer.echo(f"note: {note}", err=True)
        if form is Format.TABLE and not result.rows:
            typer.echo("hint: no question counts here; widen the period or the filters", err=True)

    arguments = [
        Argument("context", Argument.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        *(_argument(parameter) for parameter in question.parameters),
        _keyword("form", _FORMAT, Format.TABLE),
        _keyword("output", _OUTPUT, None),
    ]
    vars(command)["__signature__"] = Signature(arguments)
    return command


def _argument(parameter: Parameter) -> Argument:
    if parameter.kind is Kind.FLAG:
        option = typer.Option(parameter.option, help=parameter.help)
        return _keyword(parameter.name, Annotated[bool, option], False)
    metavar = parameter.kind.value.upper().removesuffix("S")
    option = typer.Option(parameter.option, help=parameter.help, metavar=metavar)
    text: Any = list[str] | None if parameter.kind.is_repeatable else str | None
    return _keyword(parameter.name, Annotated[text, option], None)


def _keyword(name: str, annotation: Any, default: object) -> Argument:
    return Argument(name, Argument.KEYWORD_ONLY, annotation=annotation, default=default)


def _values(question: Question, given: Mapping[str, Any]) -> dict[str, Value]:
    """What was given on the command line, read as its parameters say."""
    now = datetime.now(UTC)
    values = {}
    for parameter in question.parameters:
        texts = given[parameter.name]
        if isinstance(texts, str):
            texts = [texts]
        if texts:
            values[parameter.name] = parameter.read([] if texts is True else texts, now)
    return values
