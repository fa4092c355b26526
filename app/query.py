"""``receipts query``: a user's own SQL over the same tables and views, locked in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from elicitation_receipts.acting import record_reading
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.filters import FORMAT, OUTPUT, REQUIRE_RECORD
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.output import show
from elicitation_receipts.progress import progress_bar
from elicitation_receipts.queries.render import Format
from elicitation_receipts.queries.sandbox import Limits, ask
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.vocabulary import Event

app = typer.Typer(add_completion=False)
_LIMITS = Limits()


@app.command()
def query(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file with one SELECT; - reads standard input.")],
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
    require_record: REQUIRE_RECORD = False,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds after which the query is stopped.")
    ] = _LIMITS.seconds,
    memory: Annotated[
        int, typer.Option(min=64, help="Megabytes of memory the query may take.")
    ] = _LIMITS.megabytes,
    rows: Annotated[int, typer.Option(min=1, help="Rows it may give.")] = _LIMITS.rows,
) -> None:
    """Ask one SELECT of your own: read-only, without files, network or extensions.

    The tables and views are those of the canned questions (`elicitations`, `receipts`, `breaks`,
    `rejects`, `positions`, `policies`). What it gives is NOT suppressed: it is for the operator's
    own eyes.
    """
    invocation: Invocation = context.obj
    limits = Limits(timeout, memory, rows)
    sql = _read(file)
    with Warehouse(invocation.database).read() as database, progress_bar("asking"):
        result = ask(database, sql, limits)
    record_reading(invocation, Event.REPORTED, "query", len(result.rows), require=require_record)
    show(result, form, output)


def _read(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageError("query_unreadable", f"cannot read {file} as UTF-8 text") from None
