"""``receipts hold``: keep a tenant's receipts and keys, whatever their age, for a case."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer

from elicitation_receipts.acting import all_acts, operators, retention_lock
from elicitation_receipts.evidence.holds import Hold, standing_holds
from elicitation_receipts.filters import FORMAT, OUTPUT
from elicitation_receipts.home import Home
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.output import show
from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.queries.render import Format
from elicitation_receipts.schemas.errors import ReceiptsError
from elicitation_receipts.schemas.operators import Operators
from elicitation_receipts.schemas.vocabulary import Event
from elicitation_receipts.settings import option

app = typer.Typer(
    help="Keep a tenant's receipts and keys for a case.",
    no_args_is_help=True,
    add_completion=False,
)

_COLUMNS: Final = {"tenant": "VARCHAR", "case_ref": "VARCHAR", "set_at": "VARCHAR"}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_Case = Annotated[
    str,
    typer.Option("--case", help="The case's name or number. Only a keyed reference to it is kept."),
]


@app.command("set")
def set_(
    context: typer.Context, case: _Case, tenant: Annotated[str | None, option("tenant")] = None
) -> None:
    """Hold a tenant for a case: nothing of it is dropped, no key of it destroyed, until lifted."""
    invocation: Invocation = context.obj
    name = invocation.load_settings({"tenant": tenant}).settings.tenant
    home = invocation.home(create=True)
    with operators(invocation) as acting, retention_lock(home):
        if name not in {one.tenant for one in acting.keyring.entries()}:
            raise ReceiptsError(
                "tenant_unknown", f"no receipt of a tenant {name} was written here; check its name"
            )
        if _find(acting, home, name, case) is not None:
            typer.echo(f"{name}: held for this case already")
            return
        acting.record(Event.HOLD_SET, name, count=0, case=case)
    typer.echo(f"{name}: held")


@app.command()
def lift(
    context: typer.Context, case: _Case, tenant: Annotated[str | None, option("tenant")] = None
) -> None:
    """Lift the hold of one case. Others of the same tenant stand."""
    invocation: Invocation = context.obj
    name = invocation.load_settings({"tenant": tenant}).settings.tenant
    home = invocation.home(create=True)
    with operators(invocation) as acting, retention_lock(home):
        if _find(acting, home, name, case) is None:
            raise ReceiptsError(
                "hold_unknown", f"{name} is not held for this case; see `receipts hold list`"
            )
        acting.record(Event.HOLD_LIFTED, name, count=0, case=case)
    typer.echo(f"{name}: the hold of this case is lifted")


@app.command("list")
def list_(
    context: typer.Context,
    case: Annotated[
        str | None, typer.Option("--case", help="Only those of this case.", show_default=False)
    ] = None,
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
) -> None:
    """List the holds that stand. A case is shown by its reference; ask with --case for one."""
    invocation: Invocation = context.obj
    home = invocation.home(create=True)
    with operators(invocation) as acting:
        wanted = None if case is None else acting.case_ref(case)
        rows = tuple(
            (hold.target, hold.case_ref.value.hex()[:12], _time(hold))
            for hold in standing_holds(all_acts(acting, home))
            if wanted in (None, hold.case_ref)
        )
    show(Result(tuple(_COLUMNS), tuple(_COLUMNS.values()), rows), form, output)


def _find(acting: Operators, home: Home, tenant: str, case: str) -> Hold | None:
    place = (acting.target(tenant), acting.case_ref(case))
    holds = standing_holds(all_acts(acting, home))
    return next((hold for hold in holds if (hold.target, hold.case_ref) == place), None)


def _time(hold: Hold) -> str:
    moment = _EPOCH + timedelta(microseconds=hold.set_at)
    return moment.isoformat(timespec="seconds").removesuffix("+00:00") + "Z"
