"""``receipts settings``: every setting, its value, and where the value comes from."""

from __future__ import annotations

import typer

from elicitation_receipts.invocation import Invocation

app = typer.Typer(add_completion=False)


@app.command()
def settings(context: typer.Context) -> None:
    """Show every setting, its value and where it comes from: variable, receipts.toml or default.

    A variable is the setting's name in capitals behind RECEIPTS_; passwords are not shown.
    """
    invocation: Invocation = context.obj
    typer.echo(f"{'home':34}{invocation.path}")
    for declared, value, source in invocation.load_settings():
        shown = "-" if value is None else "***" if declared.secret else str(value)
        typer.echo(f"{declared.name:34}{shown:32}{source}")
