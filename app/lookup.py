"""``receipts lookup``: was this the answer? For who holds the key; that they asked is recorded."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Final

import typer

from elicitation_receipts.acting import operators
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.filters import FORMAT, OUTPUT
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.output import show
from elicitation_receipts.progress import progress_bar
from elicitation_receipts.queries.lookup import Found, look_up
from elicitation_receipts.queries.render import Format
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.keys import KeyState
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event
from elicitation_receipts.settings import option

app = typer.Typer(add_completion=False)

_NO_HIT: Final = 1
_NOT_ENOUGH: Final = 4
#: How many receipts of each stream have landed, those that were dropped since included.
_ACCOUNTED: Final = """
    SELECT stream_id, sum(receipts) FROM (
        SELECT stream_id, count(*) AS receipts FROM receipts GROUP BY stream_id
        UNION ALL
        SELECT stream_id, sum(last_sequence - first_sequence + 1) FROM dropped_segments
        GROUP BY stream_id
    ) GROUP BY stream_id
"""
#: No answer that was watched is longer.
_LONGEST: Final = 64 * 1024 * 1024


@app.command()
def lookup(
    context: typer.Context,
    tenant: Annotated[str | None, option("tenant")] = None,
    field: Annotated[
        str | None,
        typer.Option(
            help="The answer had this one field, and standard input is its value as plain text.",
            show_default=False,
        ),
    ] = None,
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
) -> None:
    """Find the receipts of an answer: was this what was submitted?

    The answer comes on standard input, as the JSON object that was submitted, whole (or see
    --field). Nothing keeps it. That somebody asked, and how many receipts were found, is
    recorded before it is shown; where it cannot be recorded nothing is.

    Exit code 0: found. 1: every digest was compared and none is of this answer. 4: none found,
    and some could not be compared (key destroyed or not here, or receipts not landed).
    """
    invocation: Invocation = context.obj
    name = invocation.load_settings({"tenant": tenant}).settings.tenant
    contents = _contents(sys.stdin.buffer.read(_LONGEST + 1), field)
    database = invocation.database
    with operators(invocation) as acting, progress_bar("comparing") as progress:
        destroyed = frozenset(
            entry.key_id
            for entry in acting.keyring.entries(name)
            if entry.state is KeyState.DESTROYED
        )
        keys = acting.keyring.payload_keys(name)
        with Warehouse(database).read() as connection:
            found = look_up(connection, name, keys, destroyed, contents, progress)
            waiting = _not_landed(acting.spool, connection, name)
        acting.record(Event.LOOKED_UP, name, count=len(found.hits.rows))
    show(found.hits, form, output)
    _explain(found, waiting)
    if not found.hits.rows:
        incomplete = found.unconfirmable or found.unknown_key or waiting
        raise typer.Exit(_NOT_ENOUGH if incomplete else _NO_HIT)


def _contents(given: bytes, field: str | None) -> list[Any]:
    """The objects an answer may have been; never shown, never kept.

    Raises ``no_answer_given``, ``answer_too_long`` and ``answer_not_json``.
    """
    if not given.strip():
        raise UsageError("no_answer_given", "the answer is expected on standard input")
    if len(given) > _LONGEST:
        raise UsageError("answer_too_long", f"an answer has at most {_LONGEST} bytes")
    wrong = UsageError(
        "answer_not_json",
        "standard input must be the JSON object that was submitted, or give --field NAME "
        "and the plain value",
    )
    try:
        text = given.decode("utf-8")
        if field is None:
            content = json.loads(text)
            if not isinstance(content, dict):
                raise wrong
            return [content]
    except (ValueError, RecursionError):
        raise wrong from None
    text = text.removesuffix("\n").removesuffix("\r")
    values: list[Any] = [text]
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = text
    if not isinstance(parsed, str):  # 33 may have been a number, true a boolean
        values.append(parsed)
    return [{field: value} for value in values]


def _not_landed(spool: Spool, connection: Any, tenant: str) -> int:
    """How many receipts of a tenant stand in the spool and not in the database."""
    accounted = dict(connection.execute(_ACCOUNTED).fetchall())
    return sum(
        max(0, stream.next_sequence - accounted.get(stream.stream_id, 0))
        for stream in spool.streams()
        if stream.tenant == tenant
    )


def _explain(found: Found, waiting: int) -> None:
    notes = {
        "unconfirmable: their key was destroyed": found.unconfirmable,
        "not compared: their key is not here": found.unknown_key,
        "not compared: not landed yet, run `receipts land`": waiting,
    }
    typer.echo(f"found {len(found.hits.rows)} of {found.checked} compared", err=True)
    for why, count in notes.items():
        if count:
            typer.echo(f"note: {count} {why}", err=True)
