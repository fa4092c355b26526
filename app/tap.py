"""``receipts tap``: stand in front of a stdio MCP server and write receipts."""

from __future__ import annotations

from typing import Annotated

import typer

from elicitation_receipts.home import Home
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.keyring import hide_keys
from elicitation_receipts.producers.record import Recorded
from elicitation_receipts.producers.stdio.tap import Tap, end_like
from elicitation_receipts.schemas.vocabulary import Fidelity, Vantage
from elicitation_receipts.settings import Settings, option
from elicitation_receipts.watcher import open_watcher

app = typer.Typer(add_completion=False)


@app.command(context_settings={"allow_interspersed_args": False})
def tap(
    context: typer.Context,
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="The server, as you start it now.")
    ],
    tenant: Annotated[str | None, option("tenant")] = None,
    environment: Annotated[str | None, option("environment")] = None,
    flow: Annotated[str | None, option("flow")] = None,
    when_full: Annotated[str | None, option("when_full")] = None,
    block_timeout: Annotated[float | None, option("block_timeout")] = None,
    durability: Annotated[str | None, option("durability")] = None,
    policy: Annotated[str | None, option("policy")] = None,
    automatic_below_ms: Annotated[int | None, option("automatic_below_ms")] = None,
    question_meta: Annotated[str | None, option("question_meta")] = None,
    metrics: Annotated[
        bool,
        typer.Option("--metrics", help="Record OpenTelemetry metrics, exported as OTEL_* says."),
    ] = False,
) -> None:
    """Run an MCP server and keep receipts of what it asks people.

    Put `receipts tap --` before the command in the client's configuration. Every byte passes
    unchanged, both ways, but for questions with --question-meta policy or a policy that blocks
    them; standard error, signals and exit code are the server's own.
    """
    invocation: Invocation = context.obj
    settings = invocation.load_settings(
        {
            "tenant": tenant,
            "environment": environment,
            "flow": flow,
            "when_full": when_full,
            "block_timeout": block_timeout,
            "durability": durability,
            "policy": policy,
            "automatic_below_ms": automatic_below_ms,
            "question_meta": question_meta,
        }
    ).settings
    home = invocation.home(create=True)
    if not metrics:
        end_like(_watch(command, home, settings))
    # Only here: a tap that measures nothing starts sooner without OpenTelemetry.
    from elicitation_receipts.consumers.metrics import Metrics
    from elicitation_receipts.telemetry import export_metrics, flush_metrics

    export_metrics(stdout_is_free=False)
    returncode = _watch(command, home, settings, Metrics().sealed)
    flush_metrics()
    end_like(returncode)


def _watch(
    command: list[str],
    home: Home,
    settings: Settings,
    recorded: Recorded | None = None,
) -> int:
    """Run the command to its end and return what it returned, see :meth:`Tap.run`."""
    with open_watcher(home, settings, Vantage.STDIO, Fidelity.BYTES, _say, recorded) as watcher:
        hide_keys()
        return Tap(command, watcher).run()


def _say(text: str) -> None:
    typer.echo(f"receipts: {text}", err=True)
