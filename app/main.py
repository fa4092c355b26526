"""``receipts``: the command line. It knows every part and joins them; no part knows another."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from elicitation_receipts import __doc__ as summary
from elicitation_receipts import __version__
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.schemas.errors import ReceiptsError

DEBUG_VARIABLE: Final = "RECEIPTS_DEBUG"
_INTERNAL_ERROR: Final = 3
_INTERRUPTED: Final = 130
#: Whoever read our output has gone (`| head`): no check said no. As a shell shows SIGPIPE.
_UNHEARD: Final = 141


def _app_of(module: str, name: str = "app") -> Callable[[], typer.Typer]:
    def load() -> typer.Typer:
        loaded: typer.Typer = getattr(import_module(f"elicitation_receipts.{module}"), name)
        return loaded

    return load


def _of_catalogue(module: str) -> Callable[[], typer.Typer]:
    def load() -> typer.Typer:
        from elicitation_receipts.queries.catalogue import Catalogue

        made: typer.Typer = import_module(f"elicitation_receipts.{module}").group(Catalogue())
        return made

    return load


#: Each command and what loads it, in the order of the help.
_COMMANDS: Final[dict[str, Callable[[], typer.Typer]]] = {
    "demo": _app_of("demo.command"),
    "tap": _app_of("tap"),
    "proxy": _app_of("proxy"),
    "wrap": _app_of("wrap"),
    "unwrap": _app_of("wrap", "unwrap_app"),
    "replay": _app_of("replay"),
    "ship": _app_of("ship"),
    "land": _app_of("land"),
    "report": _of_catalogue("report"),
    "show": _app_of("show"),
    "query": _app_of("query"),
    "policy": _app_of("policy.command"),
    "export": _of_catalogue("export"),
    "canary": _of_catalogue("canary"),
    "keys": _app_of("keys"),
    "lookup": _app_of("lookup"),
    "retention": _app_of("retention"),
    "hold": _app_of("hold"),
    "checkpoint": _app_of("checkpoint"),
    "verify": _app_of("verify"),
    "gate": _of_catalogue("gate"),
    "prove": _app_of("prove"),
    "bundle": _app_of("bundle"),
    "metrics": _app_of("metrics"),
    "status": _app_of("status"),
    "schema": _app_of("schema"),
    "settings": _app_of("show_settings"),
}


class _LazyGroup(TyperGroup):
    """Imports a command when it is asked for: a tap starts without DuckDB, Kafka and tables."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command = typer.main.get_command(_COMMANDS[cmd_name]())
        command.name = cmd_name
        return command

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, SystemExit) as error:
            # Rich makes a SystemExit of it.
            met = error.__context__ if isinstance(error, SystemExit) else error
            if not isinstance(met, BrokenPipeError):
                raise
            # What is still to be printed goes nowhere, also at the end of the process.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise typer.Exit(_UNHEARD) from None


app = typer.Typer(
    name="receipts",
    cls=_LazyGroup,
    help=summary,
    no_args_is_help=True,
    # Tracebacks with the values of local variables would print traffic.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"receipts {__version__}")
        raise typer.Exit


@app.callback()
def receipts(
    context: typer.Context,
    home: Annotated[
        Path | None,
        typer.Option(
            help="Directory of spool, database, keys and settings. [RECEIPTS_HOME; "
            "default: where the platform keeps a user's data]",
            show_default=False,
        ),
    ] = None,
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    context.obj = Invocation.of(home)


def run() -> NoReturn:
    """The entry point. Exit codes: 0 done, 1 a check said no, 2 usage, 3 a named error.

    No traceback reaches a user, and no message of an unforeseen error: either may hold
    what passed through.
    """
    debug = os.environ.get(DEBUG_VARIABLE) == "1"
    _open_standard_streams()
    _set_up_logging(debug)
    try:
        app(prog_name="receipts")
    except ReceiptsError as error:
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError):
            _fail(
                f"system_error: {error.strerror or type(error).__name__}; check the disk and "
                f"where the output goes ({DEBUG_VARIABLE}=1 shows where)",
                _INTERNAL_ERROR,
            )
        _fail(
            f"internal_error: {type(error).__name__}; this is a defect, please report it "
            f"({DEBUG_VARIABLE}=1 shows where, and may show what passed through)",
            _INTERNAL_ERROR,
        )
    sys.exit(0)


def _open_standard_streams() -> None:
    """Open what we were started without on nothing; else a file of ours would take its number."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            lowest_free = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(lowest_free, True)
    # Python has None for those; at least what is printed needs something to go to.
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)


def _set_up_logging(debug: bool) -> None:
    """Libraries log the trouble we name, in their own words, with tracebacks: not to the user."""
    if debug:
        logging.basicConfig(level=logging.INFO)
    else:
        logging.getLogger().addHandler(logging.NullHandler())


def _fail(text: str, exit_code: int) -> NoReturn:
    one_line = " ".join(text.split())
    typer.echo(f"receipts: {one_line}", err=True)
    sys.exit(exit_code)


if __name__ == "__main__":
    run()
