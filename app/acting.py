"""Acting: leaves a receipt of what an operator does, in the home's stream of operators' acts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from elicitation_receipts.home import Home
from elicitation_receipts.invocation import PRODUCER, Invocation
from elicitation_receipts.keyring import open_keyring
from elicitation_receipts.schemas.errors import ReceiptsError, UsageError
from elicitation_receipts.schemas.identifiers import OPERATORS
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.lock import FileLock
from elicitation_receipts.schemas.operators import Operators
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event


@contextmanager
def operators(invocation: Invocation) -> Iterator[Operators]:
    """What an act that must be recorded is written through; opened before the act is done."""
    settings = invocation.load_settings().settings
    home = invocation.home(create=True)
    keyring: Keyring = open_keyring(home, settings)
    with Spool.open(home.path, durability=settings.durability) as spool:
        yield Operators(spool, keyring, PRODUCER)


def all_acts(operators: Operators, home: Home) -> Iterator[Receipt]:
    """Every act this home knows of, from spool and database: some twice, in no order."""
    yield from operators.acts()
    if home.warehouse.exists():
        from elicitation_receipts.consumers.rows import columns, receipt_from_row
        from elicitation_receipts.consumers.warehouse import Warehouse

        with Warehouse(home.warehouse).read() as database:
            rows = database.execute(
                f"SELECT {', '.join(columns())} FROM receipts WHERE tenant = ?",  # noqa: S608
                [OPERATORS],
            ).fetchall()
        yield from (receipt_from_row(row) for row in rows)


@contextmanager
def retention_lock(home: Home) -> Iterator[None]:
    """Held while receipts or keys go, and while a hold is set: no hold comes too late."""
    with FileLock(home.path / "retention.lock"):
        yield


def record_reading(
    invocation: Invocation, event: Event, target: str, count: int, *, require: bool
) -> None:
    """Record that somebody read: who, what, how many rows. To be called before it is shown.

    Where it cannot be (a copy on a read-only disk) a line says so, or with ``require`` the
    error is raised: `not_recorded`.
    """
    try:
        with operators(invocation) as acting:
            acting.record(event, target, count)
    except ReceiptsError as error:
        if require:
            raise ReceiptsError(
                "not_recorded", f"--require-record, and this cannot be recorded ({error})"
            ) from error
        typer.echo(f"note: not recorded in the operators' stream ({error.reason})", err=True)


def confirm(question: str) -> None:
    """Ask before what cannot be undone; no ends the command (exit code 1).

    Raises ``confirmation_missing`` where nobody is there to be asked.
    """
    if not sys.stdin.isatty():
        raise UsageError("confirmation_missing", "nobody to ask here; give --yes to go ahead")
    typer.confirm(question, abort=True)
