"""``receipts gate``: may this combination of client, server and flow be promoted?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from inspect import Parameter as Argument
from inspect import Signature
from pathlib import Path
from typing import Annotated, Any, Final, TextIO

import typer

from elicitation_receipts.acting import record_reading
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.filters import OUTPUT, REQUIRE_RECORD, argument, keyword, read_filters
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.junit import Case, Outcome, write_junit
from elicitation_receipts.output import show, show_text
from elicitation_receipts.queries.catalogue import Catalogue, Result
from elicitation_receipts.queries.gates.ask import FILTERS_OF, ask
from elicitation_receipts.queries.gates.combination import Combination
from elicitation_receipts.queries.gates.judge import Judged, Verdict, judge
from elicitation_receipts.queries.gates.rules import load_attestations, load_rules
from elicitation_receipts.queries.render import Format
from elicitation_receipts.sarif import Alert, write_sarif
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.vocabulary import Event


class GateFormat(StrEnum):
    """What reports are written as, and what build servers read."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    JUNIT = "junit"
    SARIF = "sarif"


_FORMAT = Annotated[
    GateFormat,
    typer.Option("--format", help="A table for people; junit and sarif for build servers."),
]
_COLUMNS: Final = {
    "gate": "VARCHAR",
    "verdict": "VARCHAR",
    "reason": "VARCHAR",
    "receipts": "VARCHAR",
}
_HELP: Final = """Say which gates a combination of client, server and flow passes.

hard: no secret asked for in a form, no address opened by itself, no identity mixed up. protocol:
every question within a request and a mode the client declared. recovery: what was lost or late did
no harm. ux: a person can see what is asked, and refuse. accessibility and phishing: what somebody
attested (--evidence).

The verdict belongs to the latest combination of the client, server and flow with their versions,
protocol revision, capability manifest, policy and environment; where one of these changed and too
little was seen since, it is stale. No evidence is never a pass.

Exit codes: 0 every gate passes, 1 one fails, 4 one is stale or has no evidence.
"""


def group(catalogue: Catalogue) -> typer.Typer:
    """The command; its filters are those of a report."""
    app = typer.Typer(add_completion=False)
    filters = [item for item in catalogue.questions[FILTERS_OF].parameters if item.name != "by"]

    def command(
        context: typer.Context,
        require: list[str] | None,
        rules: Path | None,
        evidence: Path | None,
        environment: str | None,
        form: GateFormat,
        output: Path | None,
        require_record: bool,
        **given: Any,
    ) -> None:
        invocation: Invocation = context.obj
        loaded, attestations = load_rules(rules), load_attestations(evidence)
        required = _required(require, [rule.gate for rule in loaded])
        with Warehouse(invocation.database).read() as database:
            shown = ask(catalogue, database, read_filters(filters, given))
        combination = shown[0].combination
        is_other = environment is not None and environment != combination.environment
        changed = ["environment"] if is_other else []
        judged = [judge(rule, shown, attestations, changed) for rule in loaded]
        record_reading(invocation, Event.REPORTED, "gate", len(judged), require=require_record)
        _write(combination, judged, form, output)
        raise typer.Exit(_exit_code([item.verdict for item in judged if item.gate in required]))

    vars(command)["__signature__"] = Signature(
        [
            Argument("context", Argument.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
            _option("require", list[str] | None, "GATE", "Only these decide the exit code."),
            _option("rules", Path | None, "FILE", "Rules of the gates, as JSON."),
            _option("evidence", Path | None, "FILE", "What somebody attests, as JSON."),
            _option(
                "environment",
                str | None,
                "ID",
                "What is in use now: browser container, identity provider, OAuth set-up and data "
                "classification. Where the receipts name another, the verdict is stale.",
            ),
            *(argument(parameter) for parameter in filters),
            keyword("form", _FORMAT, GateFormat.TABLE),
            keyword("output", OUTPUT, None),
            keyword("require_record", REQUIRE_RECORD, False),
        ]
    )
    app.command("gate", help=_HELP)(command)
    return app


def _option(name: str, kind: Any, metavar: str, help_: str) -> Argument:
    return keyword(name, Annotated[kind, typer.Option(help=help_, metavar=metavar)], None)


def _required(asked: Sequence[str] | None, gates: Sequence[str]) -> Sequence[str]:
    names = [name.strip() for text in asked or () for name in text.split(",")]
    for name in names:
        if name not in gates:
            raise UsageError("unknown_gate", f"{name!r} is none of {', '.join(gates)}")
    return names or gates


def _exit_code(verdicts: Sequence[Verdict]) -> int:
    if Verdict.FAIL in verdicts:
        return 1
    return 0 if set(verdicts) == {Verdict.PASS} else 4


def _write(
    combination: Combination, judged: Sequence[Judged], form: GateFormat, output: Path | None
) -> None:
    writers: dict[GateFormat, Callable[[TextIO], None]] = {
        GateFormat.JUNIT: lambda stream: write_junit(
            "receipts gate", [_case(item) for item in judged], stream
        ),
        GateFormat.SARIF: lambda stream: write_sarif(
            [alert for item in judged for alert in _alerts(item)], stream
        ),
    }
    writer = writers.get(form)
    if writer is None:
        show(_result(combination, judged), Format(form.value), output)
    else:
        show_text(writer, output)


def _result(combination: Combination, judged: Sequence[Judged]) -> Result:
    rows = tuple(
        (item.gate, item.verdict.value, item.reason, " ".join(_receipts(item)) or None)
        for item in judged
    )
    return Result(tuple(_COLUMNS), tuple(_COLUMNS.values()), rows, head=combination.known)


def _receipts(item: Judged) -> list[str]:
    return list(dict.fromkeys(one for found in item.findings for one in found.receipts))


def _case(item: Judged) -> Case:
    outcome = {Verdict.PASS: Outcome.PASSED, Verdict.FAIL: Outcome.FAILED}
    return Case(item.gate, outcome.get(item.verdict, Outcome.SKIPPED), item.reason)


def _alerts(item: Judged) -> list[Alert]:
    if item.verdict is not Verdict.FAIL:
        return []
    return [
        Alert(found.name, found.severity, f"{found.count} receipts show it", found.receipts)
        for found in item.findings
    ] or [Alert(f"{item.gate}_gate", "error", item.reason)]
