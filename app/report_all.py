"""``receipts report all``: every canned question at once, for outside the house by default."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from inspect import Parameter as Argument
from inspect import Signature
from pathlib import Path
from typing import Annotated, Any, Final, TextIO

import typer

from elicitation_receipts.acting import record_reading
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.filters import (
    OUTPUT,
    PROFILE,
    REQUIRE_RECORD,
    SUPPRESS_BELOW,
    argument,
    keyword,
    read_filters,
)
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.output import show_text
from elicitation_receipts.queries.catalogue import Catalogue, Result
from elicitation_receipts.queries.every import SHARED, every, facts
from elicitation_receipts.queries.page.words import Language
from elicitation_receipts.queries.render import Format, document, render
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.vocabulary import Event

HELP: Final = (
    "Ask every question at once. The profile is auditor unless --profile operator is given; all "
    "figures of one set are suppressed together. --format html is one page that stands alone."
)


class Form(StrEnum):
    TABLE = "table"
    JSON = "json"
    HTML = "html"


_FORM = Annotated[Form, typer.Option("--format", help="Tables, JSON, or one page of HTML.")]
_LANGUAGE = Annotated[Language, typer.Option("--lang", help="Language of the page.")]


def command(catalogue: Catalogue) -> Callable[..., None]:
    """The function typer makes the command of: it takes what all questions share."""
    parameters = catalogue.questions[SHARED].parameters

    def report_all(
        context: typer.Context,
        form: Form,
        lang: Language,
        output: Path | None,
        profile: str | None,
        suppress_below: int | None,
        require_record: bool,
        **given: Any,
    ) -> None:
        invocation: Invocation = context.obj
        settings = invocation.load_settings(
            {"profile": profile or "auditor", "suppress_below": suppress_below}
        ).settings
        below = settings.suppress_below if settings.profile == "auditor" else None
        values = read_filters(parameters, given)
        with Warehouse(invocation.database).read() as database:
            reports = every(catalogue, database, values, below)
            known = facts(database, reports)
        text = _html(catalogue, reports, known, lang) if form is Form.HTML else None

        def write(stream: TextIO) -> None:
            if text is not None:
                stream.write(text)
            elif form is Form.JSON:
                json.dump({name: document(result) for name, result in reports.items()}, stream)
            else:
                for name, result in reports.items():
                    stream.write(f"{catalogue.questions[name].title} ({name})\n")
                    render(result, Format.TABLE, stream)

        rows = sum(len(result.rows) for result in reports.values())
        record_reading(invocation, Event.REPORTED, "all", rows, require=require_record)
        show_text(write, output)

    arguments = [
        Argument("context", Argument.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        *(argument(parameter) for parameter in parameters),
        keyword("form", _FORM, Form.TABLE),
        keyword("lang", _LANGUAGE, Language.EN),
        keyword("output", OUTPUT, None),
        keyword("profile", PROFILE, None),
        keyword("suppress_below", SUPPRESS_BELOW, None),
        keyword("require_record", REQUIRE_RECORD, False),
    ]
    vars(report_all)["__signature__"] = Signature(arguments)
    return report_all


def _html(
    catalogue: Catalogue,
    reports: Mapping[str, Result],
    known: Mapping[str, object],
    language: Language,
) -> str:
    try:
        from elicitation_receipts.queries.page.build import page
    except ImportError:
        raise UsageError(
            "html_not_installed", "pages need more: pip install 'elicitation-receipts[html]'"
        ) from None
    return page(catalogue, reports, known, language)
