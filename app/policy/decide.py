"""``receipts policy decide``: five answers in, a mode and the reasons out."""

from __future__ import annotations

import sys
from dataclasses import fields
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from elicitation_receipts.filters import FORMAT, OUTPUT
from elicitation_receipts.output import show
from elicitation_receipts.policy.common import (
    CLIENT_MODE,
    POLICY,
    PROMPT,
    RESOURCE,
    TOOL,
    declared_of,
    head_of,
    operation_of,
    policy_of,
)
from elicitation_receipts.producers.policy.answers import (
    Answers,
    Choice,
    Completion,
    Decided,
    Lifetime,
    Owner,
    Sensitivity,
    Validation,
)
from elicitation_receipts.producers.policy.decide import MODES, PROFILES, decide
from elicitation_receipts.producers.policy.words import DataClass
from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.queries.render import Format
from elicitation_receipts.schemas.vocabulary import Mode

_QUESTIONS: Final = {
    "owner": "Who owns the data?",
    "sensitivity": "Is it sensitive?",
    "validation": "Where can validation be authoritative?",
    "lifetime": "Is the operation already asynchronous?",
    "completion": "What proves completion?",
}
_COLUMNS: Final = ("mode", "verdict", "reasons", "best_for", "main_risk", "essential_bound")


def decide_command(
    context: typer.Context,
    owner: Annotated[Owner | None, typer.Option(help=_QUESTIONS["owner"])] = None,
    sensitivity: Annotated[Sensitivity | None, typer.Option(help=_QUESTIONS["sensitivity"])] = None,
    validation: Annotated[Validation | None, typer.Option(help=_QUESTIONS["validation"])] = None,
    lifetime: Annotated[Lifetime | None, typer.Option(help=_QUESTIONS["lifetime"])] = None,
    completion: Annotated[Completion | None, typer.Option(help=_QUESTIONS["completion"])] = None,
    known: Annotated[
        bool, typer.Option("--known", help="The system of record has the value already.")
    ] = False,
    consequential: Annotated[
        bool, typer.Option("--consequential", help="The answer approves an action that matters.")
    ] = False,
    data_class: Annotated[
        list[DataClass] | None, typer.Option(help="What is asked for; can be repeated.")
    ] = None,
    client_mode: CLIENT_MODE = None,
    tool: TOOL = None,
    prompt: PROMPT = None,
    resource: RESOURCE = None,
    policy: POLICY = None,
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
) -> None:
    """Say how to ask, from five answers: in a form, by URL, as task input, or not at all.

    What is left out is asked for on a terminal, else it is undefined, and then nothing is
    chosen. Shown are the reasons, and for every other mode what rejected it. This contacts
    nothing and follows no address; it proves nothing about a client or server.

    Exit codes: 0 there is something to do, 1 blocked.
    """
    loaded = policy_of(context, policy)
    method, name = operation_of(tool, prompt, resource)
    given: dict[str, StrEnum | None] = {
        "owner": owner,
        "sensitivity": sensitivity,
        "validation": validation,
        "lifetime": lifetime,
        "completion": completion,
    }
    answers = _answers(given)
    decided = decide(
        answers,
        loaded,
        method=method,
        name=name,
        known=known,
        consequential=consequential,
        data_classes=data_class or (),
        declared=declared_of(client_mode),
    )
    show(_result(decided, head_of(loaded)), form, output)
    raise typer.Exit(1 if decided.choice is Choice.BLOCKED else 0)


def _answers(given: dict[str, StrEnum | None]) -> Answers:
    if sys.stdin.isatty() and sys.stderr.isatty():
        for field in fields(Answers):
            if given[field.name] is None:
                given[field.name] = _ask(field.name, type(field.default))
    said: dict[str, Any] = {name: answer for name, answer in given.items() if answer is not None}
    return Answers(**said)


def _ask(name: str, words: Any) -> StrEnum:
    choices = [word.value for word in words]
    typer.echo(f"{_QUESTIONS[name]} ({', '.join(choices)})", err=True)
    while True:
        said = typer.prompt(name, default="undefined", err=True).strip()
        if said in choices:
            answer: StrEnum = words(said)
            return answer
        typer.echo("one of the words above, please", err=True)


def _result(decided: Decided, head: dict[str, str]) -> Result:
    bounds = ", ".join(
        f"{name} {'none' if value is None else str(value).lower()}"
        for name, value in decided.bounds.items()
    )
    stated = {
        "decision": decided.choice.value,
        "because": "; ".join(f"{reason.value}: {reason.says}" for reason in decided.reasons),
        **({"fallback": decided.fallback} if decided.fallback else {}),
        **({"bounds": bounds} if bounds else {}),
    }
    return Result(
        columns=_COLUMNS,
        types=("VARCHAR",) * len(_COLUMNS),
        rows=tuple(_row(mode, decided) for mode in MODES),
        head={**stated, **head},
    )


def _row(mode: Mode, decided: Decided) -> tuple[str, ...]:
    profile = PROFILES[mode]
    chosen = mode not in decided.rejected
    reasons = decided.reasons if chosen else decided.rejected[mode]
    return (
        mode.value,
        "chosen" if chosen else "rejected",
        " ".join(reasons),
        profile.best_for,
        profile.main_risk,
        profile.essential_bound,
    )
