"""``receipts retention``: seal the days that are over, and drop what is old enough."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import typer

from elicitation_receipts.acting import operators, retention_lock
from elicitation_receipts.filters import FORMAT, OUTPUT
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.output import show
from elicitation_receipts.progress import progress_bar
from elicitation_receipts.queries.catalogue import Cell, Result
from elicitation_receipts.queries.render import Format
from elicitation_receipts.retaining import Retention, Segment, State

app = typer.Typer(
    help="Keep receipts as long as the setting `retention` says, and no longer.",
    no_args_is_help=True,
    add_completion=False,
)

_COLUMNS: Final = {
    "tenant": "VARCHAR",
    "stream_id": "VARCHAR",
    "first": "BIGINT",
    "last": "BIGINT",
    "receipts": "BIGINT",
    "state": "VARCHAR",
    "expires": "VARCHAR",
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@app.command()
def seal(context: typer.Context) -> None:
    """Seal every day that is over, of every stream, and sign a checkpoint over the seals.

    Only what is sealed can be dropped. Run it daily.
    """
    invocation: Invocation = context.obj
    with operators(invocation) as acting:
        home = invocation.home(create=False)
        settings = invocation.load_settings().settings
        with retention_lock(home):
            seals = Retention(home, settings, acting).seal(datetime.now(UTC))
    streams = len({one.stream_id for one in seals})
    typer.echo(
        f"sealed {len(seals)} segments of {streams} streams, {sum(one.count for one in seals)} "
        "receipts"
    )


@app.command()
def apply(context: typer.Context) -> None:
    """Drop every sealed segment in which all receipts are past the age of their class.

    Their bytes go from database and spool; the seal stays, and `verify` says `expired with
    seal`. Held tenants stay, and so does what has not landed or been shipped. Run it again
    after a crash: it goes on where it was.
    """
    invocation: Invocation = context.obj
    with operators(invocation) as acting:
        home = invocation.home(create=False)
        settings = invocation.load_settings().settings
        with retention_lock(home), progress_bar("looking") as progress:
            retention = Retention(home, settings, acting, progress)
            now = datetime.now(UTC)
            seals = retention.apply(now)
            left = retention.segments(now)
    typer.echo(f"dropped {len(seals)} segments, {sum(one.count for one in seals)} receipts")
    for state, why in (
        (State.HELD, "are under a hold"),
        (State.OPEN, "have a question without an end"),
        (State.WAITING, "have not landed or been shipped"),
    ):
        if count := sum(one.state is state for one in left):
            typer.echo(f"note: {count} segments are old enough and stay: they {why}", err=True)
    if settings.retention is None:
        typer.echo("hint: no ages are set, so all is kept; see `receipts settings`", err=True)


@app.command("list")
def list_(context: typer.Context, form: FORMAT = Format.TABLE, output: OUTPUT = None) -> None:
    """List the sealed segments: kept, due, held, open, waiting or dropped, and until when."""
    invocation: Invocation = context.obj
    with operators(invocation) as acting:
        home = invocation.home(create=False)
        settings = invocation.load_settings().settings
        with progress_bar("looking") as progress:
            segments = Retention(home, settings, acting, progress).segments(datetime.now(UTC))
    rows = tuple(_row(segment) for segment in segments)
    show(Result(tuple(_COLUMNS), tuple(_COLUMNS.values()), rows), form, output)


def _row(segment: Segment) -> tuple[Cell, ...]:
    seal = segment.seal
    expires = None
    if segment.expires_at is not None:
        moment = _EPOCH + timedelta(microseconds=segment.expires_at)
        expires = moment.isoformat(timespec="seconds").removesuffix("+00:00") + "Z"
    return (
        segment.tenant,
        str(seal.stream_id),
        seal.first,
        seal.last,
        seal.count,
        segment.state.value,
        expires,
    )
