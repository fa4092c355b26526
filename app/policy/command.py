"""The command group ``receipts policy``."""

from __future__ import annotations

import typer

from elicitation_receipts.policy.check import check_command
from elicitation_receipts.policy.decide import decide_command
from elicitation_receipts.policy.diff import diff_command
from elicitation_receipts.policy.fixtures import fixtures_command
from elicitation_receipts.policy.show import lint_command, show_command

app = typer.Typer(
    help="Show, try, test and compare policies. Contacts nothing, follows no address.",
    no_args_is_help=True,
    add_completion=False,
)
app.command("decide")(decide_command)
app.command("check")(check_command)
app.command("show")(show_command)
app.command("diff")(diff_command)
app.command("lint")(lint_command)
app.command("test")(fixtures_command)
