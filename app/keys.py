"""``receipts keys``: list, rotate and destroy the keys behind the digests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from elicitation_receipts.acting import all_acts, confirm, operators, retention_lock
from elicitation_receipts.evidence.holds import standing_holds
from elicitation_receipts.evidence.signing import SigningKeys
from elicitation_receipts.filters import FORMAT, OUTPUT
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.keyring import open_keyring
from elicitation_receipts.output import show
from elicitation_receipts.producers.presence import present
from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.queries.render import Format
from elicitation_receipts.schemas.errors import KeyringError, ReceiptsError
from elicitation_receipts.schemas.keys import KeyState
from elicitation_receipts.schemas.vocabulary import Event
from elicitation_receipts.settings import option

app = typer.Typer(
    help="The keys behind the digests: list, rotate, destroy.",
    no_args_is_help=True,
    add_completion=False,
)

_COLUMNS = ("tenant", "purpose", "epoch", "key_id", "state")
_TYPES = ("VARCHAR", "VARCHAR", "INTEGER", "VARCHAR", "VARCHAR")


@app.command("list")
def list_(
    context: typer.Context,
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
) -> None:
    """List every key that was used here, by its id; never a key."""
    invocation: Invocation = context.obj
    keyring = open_keyring(
        invocation.home(create=False), invocation.load_settings().settings, create=False
    )
    rows = tuple(
        (entry.tenant, entry.purpose, entry.number, entry.key_id, entry.state.value)
        for entry in keyring.entries()
    )
    show(Result(_COLUMNS, _TYPES, rows), form, output)


@app.command("export-public")
def export_public(context: typer.Context) -> None:
    """Print the public keys that checkpoints and seals are signed with, for `verify --keys`.

    Pin what you got from somebody you trust: a key that comes with the evidence proves nothing.
    """
    invocation: Invocation = context.obj
    for key in SigningKeys.open(invocation.home(create=True).signing_keys, create=True).public():
        typer.echo(str(key))


@app.command()
def rotate(
    context: typer.Context,
    tenant: Annotated[str | None, option("tenant")] = None,
    signing: Annotated[
        bool, typer.Option("--signing", help="The key that signs checkpoints and seals instead.")
    ] = False,
) -> None:
    """Begin a new epoch: answers are digested with a new key from each watcher's next start on.

    Earlier answers can still be looked up. The key for equal questions stays.
    """
    invocation: Invocation = context.obj
    if signing:
        _rotate_signing(invocation)
        return
    name = invocation.load_settings({"tenant": tenant}).settings.tenant
    with operators(invocation) as acting:
        before, after = acting.keyring.rotate(name)
        acting.record(Event.KEY_ROTATED, name, count=1, key_id_from=before.id, key_id_to=after.id)
    typer.echo(f"{name}: {before.id} → {after.id}; watchers take it up when they next start")


@app.command()
def destroy(
    context: typer.Context,
    tenant: Annotated[str | None, option("tenant")] = None,
    epoch: Annotated[
        int | None, typer.Option(help="Only this epoch's key, as `receipts keys list` numbers it.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Destroy a tenant's keys for good: the erasure of what its digests could confirm.

    Receipts, chains and reports stay; a look-up says `unconfirmable`. Nothing brings it back.
    Not for a tenant under a hold, nor while a watcher of it runs.
    """
    invocation: Invocation = context.obj
    name = invocation.load_settings({"tenant": tenant}).settings.tenant
    what = "all keys" if epoch is None else f"the payload key of epoch {epoch}"
    if not yes:
        confirm(f"Destroy {what} of {name} for good?")
    home = invocation.home(create=True)
    with operators(invocation) as acting, retention_lock(home):
        if acting.target(name) in {hold.target for hold in standing_holds(all_acts(acting, home))}:
            raise ReceiptsError(
                "tenant_held", f"{name} is under a hold; `receipts hold list` shows which"
            )
        if name in present(home.path):
            raise KeyringError(
                "key_in_use", f"a watcher of {name} is running and holds its keys; stop it first"
            )
        acting.keyring.destroy(name, epoch)
        # One that a crash kept from being recorded is recorded now.
        recorded = {
            act.act.key_id_from
            for act in acting.acts()
            if act.act and act.event is Event.KEY_DESTROYED
        }
        gone = [
            entry.key_id
            for entry in acting.keyring.entries(name)
            if entry.state is KeyState.DESTROYED and entry.key_id not in recorded
        ]
        for key_id in gone:
            acting.record(Event.KEY_DESTROYED, name, count=1, key_id_from=key_id)
    typer.echo(f"{name}: destroyed {', '.join(gone)}")


def _rotate_signing(invocation: Invocation) -> None:
    """The old signing key names the new one in a note, and is gone."""
    with operators(invocation) as acting:
        keys = SigningKeys.open(invocation.home(create=True).signing_keys, create=True)
        rotation = keys.rotate(datetime.now(UTC))
        acting.record(Event.KEY_ROTATED, "signing", count=1)
    typer.echo(f"signing: {rotation.old.id.hex()} → {rotation.new.id.hex()}")
