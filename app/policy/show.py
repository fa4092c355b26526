"""``receipts policy show`` and ``lint``: a policy as it holds, and what stands out in it."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Final

import typer
import yaml

from elicitation_receipts.filters import FORMAT, OUTPUT
from elicitation_receipts.output import show
from elicitation_receipts.policy.common import head_of, policy_of
from elicitation_receipts.producers.policy.lint import lint
from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.queries.render import Format

_FILE = Annotated[
    str | None,
    typer.Argument(help="A policy file; without: the policy of the settings.", metavar="[FILE]"),
]
_COLUMNS: Final = ("path", "remark", "says")


class ShowFormat(StrEnum):
    YAML = "yaml"
    JSON = "json"


def show_command(
    context: typer.Context,
    file: _FILE = None,
    form: Annotated[
        ShowFormat,
        typer.Option("--format", help="yaml; or json: the canonical bytes the digest is of."),
    ] = ShowFormat.YAML,
    digest: Annotated[
        bool, typer.Option("--digest", help="Print the SHA-256 of the canonical form alone.")
    ] = False,
) -> None:
    """Print a policy whole: with all it takes from those it extends, and its digest."""
    policy = policy_of(context, file)
    if digest:
        typer.echo(policy.digest.hex())
    elif form is ShowFormat.JSON:
        typer.echo(policy.canonical.decode(), nl=False)
    else:
        typer.echo(f"# digest {policy.digest.hex()}")
        typer.echo(yaml.safe_dump(policy.document, sort_keys=False, allow_unicode=True), nl=False)


def lint_command(
    context: typer.Context,
    file: _FILE = None,
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
) -> None:
    """Say what stands out in a valid policy: unreachable rules, no limit, nothing enforced.

    What is wrong with a file is an error with line and path (exit code 3). This contacts
    nothing and follows no address.

    Exit codes: 0 nothing stands out, 1 something does.
    """
    policy = policy_of(context, file)
    remarks = list(lint(policy, datetime.now(UTC).date()))
    rows = tuple((remark.path, remark.name, remark.says) for remark in remarks)
    result = Result(_COLUMNS, ("VARCHAR",) * len(_COLUMNS), rows, head=head_of(policy))
    show(result, form, output)
    raise typer.Exit(1 if remarks else 0)
