"""``receipts status``: what the home holds and how far it has come, whatever part is missing."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Final, TextIO

import typer
from rich.console import Console
from rich.table import Table

from elicitation_receipts.checks import Checks, Trouble
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.home import Home
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.schemas.errors import ReceiptsError
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.settings import option

app = typer.Typer(add_completion=False)

#: Wider than any line: nothing is cut in a pipe.
_UNBOUNDED: Final = 1_000_000


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"


@app.command()
def status(
    context: typer.Context,
    form: Annotated[Format, typer.Option("--format", help="A table, or JSON.")] = Format.TABLE,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Only say what is wrong, for a probe: exit code 1 for lag, rejects, stuck "
            "shipping or a full disk.",
        ),
    ] = False,
    max_age: Annotated[
        float, typer.Option(min=0, help="Seconds a receipt may wait, for --check.")
    ] = 300.0,
    min_free: Annotated[
        int, typer.Option(min=0, help="MiB the home's disk must have left, for --check.")
    ] = 100,
    kafka: Annotated[str | None, option("kafka")] = None,
    kafka_topic: Annotated[str | None, option("kafka_topic")] = None,
) -> None:
    """Show the streams, what is not shipped, what landed, breaks, rejects and open questions."""
    invocation: Invocation = context.obj
    home = invocation.home(create=False)
    state = look(home)
    if check and not state.errors:
        settings = invocation.load_settings({"kafka": kafka, "kafka_topic": kafka_topic}).settings
        checks = Checks(home, settings, max_age, min_free * 2**20)
        _tell(list(checks.run(state.warehouse)), form)
        return
    if form is Format.JSON:
        json.dump(state.as_json(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(state, sys.stdout)
    if state.errors:
        raise typer.Exit(ReceiptsError.exit_code)


def _tell(troubles: list[Trouble], form: Format) -> None:
    if form is Format.JSON:
        json.dump({"troubles": [asdict(trouble) for trouble in troubles]}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        for trouble in troubles:
            typer.echo(f"{trouble.name}: {trouble.message}")
    if troubles:
        raise typer.Exit(1)


@dataclass(slots=True)
class State:
    """What a look found. A part that is not there (yet) is None; one that is unfit is an error."""

    home: str
    streams: list[dict[str, Any]] | None = None
    open_questions: int | None = None
    warehouse: dict[str, Any] | None = None
    errors: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "home": self.home,
            "streams": self.streams,
            "open_questions": self.open_questions,
            "warehouse": self.warehouse,
            "errors": self.errors,
        }


def look(home: Home) -> State:
    """Read spool and warehouse; neither is made or changed."""
    state = State(str(home.path))
    for part, look_at in (
        (home.warehouse, _look_at_warehouse),  # first: the streams say how far they landed
        (home.spool, _look_at_spool),
    ):
        if part.exists():
            try:
                look_at(home, state)
            except ReceiptsError as error:
                state.errors.append(str(error))
    return state


def _look_at_spool(home: Home, state: State) -> None:
    landed = (state.warehouse or {}).get("landed_sequences", {})
    with Spool.open(home.path, create=False) as spool:
        state.streams = [
            {
                "tenant": stream.tenant,
                "stream_id": str(stream.stream_id),
                "opened_at": _time(datetime.fromtimestamp(stream.opened_at / 1e6, UTC)),
                "last_sequence": stream.next_sequence - 1,
                "unshipped": stream.next_sequence - stream.shipped_next,
                "landed_sequence": landed.get(str(stream.stream_id)),
            }
            for stream in spool.streams()
        ]
        state.open_questions = len(spool.open_questions())


def _look_at_warehouse(home: Home, state: State) -> None:
    with Warehouse(home.warehouse).read() as database:

        def rows(query: str) -> list[tuple[Any, ...]]:
            return database.execute(query).fetchall()

        streams = rows("SELECT stream_id, count(*), max(sequence) FROM receipts GROUP BY stream_id")
        breaks = rows("SELECT kind, count(*) FROM breaks WHERE healed_at IS NULL GROUP BY kind")
        rejects = rows("SELECT reason, count(*) FROM rejects GROUP BY reason")
        positions = rows(
            "SELECT source, partition, next_offset, updated_at FROM positions ORDER BY ALL"
        )
    state.warehouse = {
        "receipts": sum(count for _, count, _ in streams),
        "landed_sequences": {str(stream): sequence for stream, _, sequence in streams},
        "breaks": dict(breaks),
        "rejects": dict(rejects),
        "positions": [
            {
                "source": source,
                "partition": partition,
                "next_offset": offset,
                "updated_at": _time(at.replace(tzinfo=UTC)),
            }
            for source, partition, offset, at in positions
        ],
    }


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def _print(state: State, stream: TextIO) -> None:
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _UNBOUNDED
    console.print(f"home            {state.home}")
    console.print(f"open questions  {_or_none(state.open_questions)}")
    warehouse = state.warehouse
    console.print(f"landed          {_or_none(warehouse and warehouse['receipts'])}")
    console.print(f"breaks          {_or_none(warehouse and _by_name(warehouse['breaks']))}")
    console.print(f"rejects         {_or_none(warehouse and _by_name(warehouse['rejects']))}")
    _print_rows(
        console,
        state.streams or [],
        tenant="tenant",
        stream_id="stream",
        last_sequence="last",
        unshipped="unshipped",
        landed_sequence="landed",
    )
    _print_rows(
        console,
        warehouse["positions"] if warehouse else [],
        source="landed from",
        partition="partition",
        next_offset="next offset",
    )
    for error in state.errors:
        typer.echo(f"receipts: {error}", err=True)


def _print_rows(console: Console, rows: list[dict[str, Any]], **columns: str) -> None:
    """A table of the named values, each under its heading."""
    if not rows:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, heading in columns.items():
        is_text = isinstance(rows[0][name], str)
        table.add_column(heading, justify="left" if is_text else "right", overflow="fold")
    for row in rows:
        table.add_row(*("-" if row[name] is None else str(row[name]) for name in columns))
    console.print()
    console.print(table)


def _or_none(value: object) -> str:
    return "none yet" if value is None else str(value)


def _by_name(counts: dict[str, int]) -> str:
    listed = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{sum(counts.values())}" + (f" ({listed})" if listed else "")
