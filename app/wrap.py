"""``receipts wrap`` and ``unwrap``: put the tap before the servers of a client, take it away."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from elicitation_receipts.client_config import PROGRAM, Step, carry_out, plan_unwrap, plan_wrap
from elicitation_receipts.config_file import ConfigFile
from elicitation_receipts.home import home_path
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.schemas.errors import ReceiptsError, UsageError
from elicitation_receipts.settings import declarations, option

app = typer.Typer(add_completion=False)
unwrap_app = typer.Typer(add_completion=False)

_REFUSED: Final = 1

_Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="The client's configuration file.")]
_Servers = Annotated[
    list[str] | None,
    typer.Option("--server", metavar="NAME", help="Only this server; may be given again."),
]
_Yes = Annotated[bool, typer.Option("--yes", help="Change the file without asking.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, change nothing.")]


@app.command()
def wrap(
    context: typer.Context,
    config: _Config,
    servers: _Servers = None,
    tenant: Annotated[str | None, option("tenant")] = None,
    flow: Annotated[str | None, option("flow")] = None,
    yes: _Yes = False,
    dry_run: _DryRun = False,
) -> None:
    """Put the tap before each server in an MCP client's configuration file.

    Finds the servers under mcpServers (Claude Desktop, Cursor) or servers (VS Code), shows
    what would change and asks. Comments and layout stay; a copy is kept beside the file.
    """
    tap = tap_command(context.obj, {"tenant": tenant, "flow": flow})
    _change(config, lambda text: plan_wrap(text, tap), servers, ".before-wrap", yes, dry_run)


@unwrap_app.command()
def unwrap(
    config: _Config, servers: _Servers = None, yes: _Yes = False, dry_run: _DryRun = False
) -> None:
    """Take the tap away again from each server in an MCP client's configuration file.

    What else was changed in the file since stays. Shows what would change and asks.
    """
    _change(config, plan_unwrap, servers, ".before-unwrap", yes, dry_run)


def tap_command(invocation: Invocation, options: dict[str, str | None]) -> list[str]:
    """The words to put before a server's command, ``--`` included.

    A client starts servers with few of the variables of the shell we run in. So home and
    settings that were given here by option or variable are written out; what stands in
    ``receipts.toml`` the tap will read itself.
    """
    words = [_program()]
    if invocation.path != home_path(None, {}) or "XDG_DATA_HOME" in os.environ:
        words += ["--home", str(invocation.path)]
    words.append("tap")
    loaded = invocation.load_settings(options)
    for name in options:
        if loaded.sources[name] in ("option", "variable"):
            words += [declarations()[name].option, str(getattr(loaded.settings, name))]
    return [*words, "--"]


def _program() -> str:
    """The path of the ``receipts`` that runs; links stay, since an upgrade moves what they lead to.

    Absolute, because a client that was started from a desktop does not search a shell's PATH.
    """
    for path in (Path(sys.argv[0]).absolute(), Path(sysconfig.get_path("scripts"), PROGRAM)):
        if path.name == PROGRAM and path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise ReceiptsError(
        "program_not_found",
        "cannot tell where the program `receipts` is; start it as `receipts`, not through python",
    )


def _change(
    config: Path,
    plan: Callable[[str], list[Step]],
    servers: list[str] | None,
    copy_suffix: str,
    yes: bool,
    dry_run: bool,
) -> None:
    file = ConfigFile(config)
    steps = plan(file.text)
    chosen = _choose(steps, servers)
    changes = [step for step in chosen if step.edits]
    typer.echo(_printable(str(file.path)))
    width = max(len(step.server) for step in chosen)
    for step in chosen:
        typer.echo(_printable(f"line {step.line:<5} {step.server:{width}}  {step.note}"))
    count = f"{len(changes)} of {len(steps)} servers"
    if dry_run or not changes:
        typer.echo(f"nothing changed; would change {count}" if changes else "nothing to change")
        return
    if not yes and not _confirmed(f"Change {count}?"):
        typer.echo("nothing changed")
        raise typer.Exit(_REFUSED)
    copy = file.replace(carry_out(file.text, changes), copy_suffix)
    typer.echo(f"changed {count}; the file as it was: {_printable(str(copy))}")
    typer.echo("hint: restart the client; a server that runs stays as it was started", err=True)


def _choose(steps: list[Step], servers: list[str] | None) -> list[Step]:
    if not servers:
        return steps
    there = {step.server for step in steps}
    for server in servers:
        if server not in there:
            raise UsageError(
                "server_unknown",
                f"no server {_printable(server)!r}; there are: {_printable(', '.join(there))}",
            )
    return [step for step in steps if step.server in servers]


def _confirmed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            "confirmation_missing", "nobody to ask here; look at the change above, then give --yes"
        )
    return typer.confirm(question)


def _printable(text: str) -> str:
    """Names come with the file, perhaps from elsewhere: nothing in them commands a terminal."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
