"""``receipts checkpoint``: sign how far every stream of the home has come."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from elicitation_receipts.checkpointing import Checkpointing
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.settings import option
from elicitation_receipts.stopping import stop_on_signal

app = typer.Typer(add_completion=False)


@app.command()
def checkpoint(
    context: typer.Context,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on signing, also while no receipt comes.")
    ] = False,
    checkpoint_every: Annotated[float | None, option("checkpoint_every")] = None,
    checkpoint_to: Annotated[str | None, option("checkpoint_to")] = None,
) -> None:
    """Sign a checkpoint of every stream and the registry of them all.

    What is behind the newest checkpoint of a stream can be cut off unnoticed; what is before
    it cannot. Give the notes away (--checkpoint-to): who holds the home can sign anything.
    """
    invocation: Invocation = context.obj
    settings = invocation.load_settings(
        {"checkpoint_every": checkpoint_every, "checkpoint_to": checkpoint_to}
    ).settings
    home = invocation.home(create=False)
    checkpointing = Checkpointing(home, settings)
    with stop_on_signal() as stop:
        signed = checkpointing.sign(datetime.now(UTC))
        while follow and not stop.wait(settings.checkpoint_every):
            signed = checkpointing.sign_or_say(datetime.now(UTC)) or signed
        if follow:
            signed = checkpointing.sign(datetime.now(UTC))
    streams = len(signed.registry.streams)
    typer.echo(f"signed {signed.receipts} receipts in {streams} streams, {signed.grown} grown")
