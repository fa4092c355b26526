"""``receipts export``: consent records of a standard, or Parquet by day, for other systems."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.queries.consent import (
    LEFT_OUT,
    SCHEMA_VERSION,
    Record,
    Standard,
    records,
)
from elicitation_receipts.queries.every import SHARED
from elicitation_receipts.queries.partitions import elicitations_by_day, published_by_day
from elicitation_receipts.queries.render import naming_output
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.vocabulary import Event

HELP: Final = (
    "Export consent records as JSON (--standard), or Parquet partitioned by day (--format parquet "
    "--output FOLDER). The profile is auditor unless --profile operator is given: then consent "
    "records carry no reference to a subject, and Parquet holds the suppressed reports; the "
    "operator's holds one row an elicitation."
)


class Form(StrEnum):
    JSON = "json"
    PARQUET = "parquet"


_STANDARD = Annotated[Standard | None, typer.Option("--standard", help="Of which standard.")]
_FORM = Annotated[Form, typer.Option("--format", help="JSON of a standard, or Parquet by day.")]


def group(catalogue: Catalogue) -> typer.Typer:
    """The command: it is asked with what all questions share, but for the split."""
    app = typer.Typer(add_completion=False)
    app.command(help=HELP)(_command(catalogue))
    return app


def _command(catalogue: Catalogue) -> Callable[..., None]:
    parameters = [each for each in catalogue.questions[SHARED].parameters if each.name != "by"]

    def export(
        context: typer.Context,
        standard: Standard | None,
        form: Form,
        output: Path | None,
        profile: str | None,
        suppress_below: int | None,
        require_record: bool,
        **given: Any,
    ) -> None:
        if (standard is None) == (form is Form.JSON):
            raise UsageError("export_of_what", "give --standard, or --format parquet, not both")
        invocation: Invocation = context.obj
        settings = invocation.load_settings(
            {"profile": profile or "auditor", "suppress_below": suppress_below}
        ).settings
        auditor = settings.profile == "auditor"
        values = read_filters(parameters, given)

        def record(target: str, count: int) -> None:
            record_reading(invocation, Event.EXPORTED, target, count, require=require_record)

        with Warehouse(invocation.database).read() as database:
            if standard is not None:
                found = list(
                    records(catalogue, database, standard, values, with_subject=not auditor)
                )
            else:
                with _whole_folder(output) as folder:
                    count = (
                        published_by_day(
                            catalogue, database, values, settings.suppress_below, folder
                        )
                        if auditor
                        else elicitations_by_day(catalogue, database, values, folder)
                    )
                    record("parquet", count)
        if standard is not None:
            record(str(standard), len(found))
            _write(standard, settings.profile, found, output)

    arguments = [
        Argument("context", Argument.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        keyword("standard", _STANDARD, None),
        keyword("form", _FORM, Form.JSON),
        keyword("output", OUTPUT, None),
        *(argument(parameter) for parameter in parameters),
        keyword("profile", PROFILE, None),
        keyword("suppress_below", SUPPRESS_BELOW, None),
        keyword("require_record", REQUIRE_RECORD, False),
    ]
    vars(export)["__signature__"] = Signature(arguments)
    return export


def _document(standard: Standard, profile: str, found: list[Record]) -> dict[str, object]:
    subjects = "left out" if profile == "auditor" else "keyed references, where a watcher knew them"
    return {
        "profile": profile,
        "standard": SCHEMA_VERSION[standard],
        "suppressed": "nothing: these are records, one by one, and no counts",
        "subjects": subjects,
        "left_out": LEFT_OUT[standard],
        "records": found,
    }


def _write(standard: Standard, profile: str, found: list[Record], output: Path | None) -> None:
    def write(stream: TextIO) -> None:
        json.dump(_document(standard, profile, found), stream, indent=2, ensure_ascii=False)
        stream.write("\n")

    show_text(write, output)


@contextmanager
def _whole_folder(output: Path | None) -> Iterator[Path]:
    """A new folder, there whole or not at all."""
    if output is None:
        raise UsageError("parquet_needs_output", "Parquet goes to a folder: name it with --output")
    if output.exists():
        raise UsageError("output_exists", f"{output} is there already; name a new folder")
    draft = output.with_name(f".{output.name}.{os.getpid()}")
    with naming_output(output):
        try:
            draft.mkdir()
            yield draft
            draft.rename(output)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
