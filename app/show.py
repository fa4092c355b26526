"""``receipts show``: the life of one elicitation as a timeline, with its evidence."""

from __future__ import annotations

from typing import Annotated

import typer

from elicitation_receipts.acting import record_reading
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.filters import FORMAT, OUTPUT, REQUIRE_RECORD
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.output import show as put_out
from elicitation_receipts.queries.render import Format
from elicitation_receipts.queries.timeline import timeline
from elicitation_receipts.schemas.vocabulary import Event

app = typer.Typer(add_completion=False)


@app.command()
def show(
    context: typer.Context,
    elicitation: Annotated[
        str, typer.Argument(help="The id of the elicitation, or how it begins (8 characters).")
    ],
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
    require_record: REQUIRE_RECORD = False,
) -> None:
    """Tell the life of one elicitation: each receipt, when, by whom, and where it is sealed.

    `chain` says whether the receipt is linked to the one before it as it landed; that nobody has
    altered the chain since is `receipts verify`'s to say. Nothing here is suppressed.
    """
    invocation: Invocation = context.obj
    with Warehouse(invocation.database).read() as database:
        result = timeline(database, elicitation)
    record_reading(invocation, Event.REPORTED, "show", len(result.rows), require=require_record)
    put_out(result, form, output)
