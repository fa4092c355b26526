"""Filters: what a report is asked with, as the options of a command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from inspect import Parameter as Argument
from pathlib import Path
from typing import Annotated, Any

import typer

from elicitation_receipts.queries.parameter import Kind, Parameter, Value
from elicitation_receipts.queries.render import Format
from elicitation_receipts.settings import option

FORMAT = Annotated[
    Format, typer.Option("--format", help="A table for people; json, csv or parquet for programs.")
]
OUTPUT = Annotated[
    Path | None,
    typer.Option("--output", help="Write to this file instead, whole or not at all."),
]
REQUIRE_RECORD = Annotated[
    bool,
    typer.Option("--require-record", help="Refuse where it cannot be recorded who asked."),
]
PROFILE = Annotated[str | None, option("profile")]
SUPPRESS_BELOW = Annotated[int | None, option("suppress_below")]


def argument(parameter: Parameter) -> Argument:
    """The keyword of a command's function from which typer makes the option."""
    if parameter.kind is Kind.FLAG:
        option = typer.Option(parameter.option, help=parameter.help)
        return keyword(parameter.name, Annotated[bool, option], False)
    metavar = parameter.kind.value.upper().removesuffix("S")
    option = typer.Option(parameter.option, help=parameter.help, metavar=metavar)
    text: Any = list[str] | None if parameter.kind.is_repeatable else str | None
    return keyword(parameter.name, Annotated[text, option], None)


def keyword(name: str, annotation: Any, default: object) -> Argument:
    return Argument(name, Argument.KEYWORD_ONLY, annotation=annotation, default=default)


def read_filters(parameters: Iterable[Parameter], given: Mapping[str, Any]) -> dict[str, Value]:
    """What was given on the command line, read as the parameters say; the rest is left out."""
    now = datetime.now(UTC)
    values = {}
    for parameter in parameters:
        texts = given[parameter.name]
        if isinstance(texts, str):
            texts = [texts]
        if texts:
            values[parameter.name] = parameter.read([] if texts is True else texts, now)
    return values
