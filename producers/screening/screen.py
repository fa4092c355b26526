"""Screens a question: what a policy says about it before a person sees it.

Everything here is linear in the question's size, which is bounded: a larger one is not
read, and has ``oversized_message``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from elicitation_receipts.producers.policy import BUILT_IN, Policy
from elicitation_receipts.producers.policy.words import DataClass, Effect
from elicitation_receipts.producers.screening.field import may_ask, texts_of
from elicitation_receipts.producers.screening.form import (
    asks_for,
    form_findings,
    operation_findings,
    shows_address,
)
from elicitation_receipts.producers.screening.urls import address_findings
from elicitation_receipts.producers.wire.question import Question, read_question
from elicitation_receipts.schemas.vocabulary import Decision, FindingName, Mode, Presentation

#: Characters of a form's texts and names that are read: some hundred times an ordinary form.
MAX_CHARACTERS: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class Context:
    """What is known of the occasion on which a question is put.

    ``revision``  the protocol's, such as ``2025-11-25``; None: the newest
    ``method``, ``name``  of the originating request: ``tools/call`` and the tool, say
    ``mode``      the policy's word where it is not the question's own: ``task_input``
    ``declared``  the modes the client has declared; None: nobody knows
    """

    revision: str | None = None
    method: str | None = None
    name: str | None = None
    mode: Mode | None = None
    declared: frozenset[Mode] | None = None


@dataclass(frozen=True, slots=True)
class Screened:
    """What screening found. Holds nothing of the question.

    ``decision``  allow, warn or block: the strongest effect any finding has in the policy
    ``findings``  without those the policy has switched off
    ``blocking``  those of them for which it is blocked
    ``asks_for``  the classes of data the question asks a person for
    """

    decision: Decision
    findings: tuple[FindingName, ...]
    blocking: tuple[FindingName, ...]
    asks_for: frozenset[DataClass]


def screen(
    question: Mapping[str, Any], policy: Policy = BUILT_IN, context: Context | None = None
) -> Screened:
    """Screen the parameters of an ``elicitation/create``, also before they are sent.

    Any JSON is read: what is no question at all has ``malformed_message``.
    """
    occasion = context or Context()
    read = read_question(question, occasion.revision)
    found = list(read.findings)
    if occasion.declared is not None and read.mode not in {*occasion.declared, Mode.UNKNOWN}:
        found.append(FindingName.MODE_NOT_DECLARED)
    return screen_question(read, found, policy, occasion)


def screen_question(
    question: Question, findings: Iterable[FindingName], policy: Policy, context: Context
) -> Screened:
    """Screen a question that was read. ``findings``: what was found about it before."""
    found = list(findings)
    rules = policy.rules_for(context.method, context.name)
    mode = context.mode or question.mode
    if mode is not Mode.UNKNOWN and mode not in rules.modes:
        found.append(FindingName.MODE_NOT_ALLOWED)
    classes = set(rules.data_classes)
    if question.presentation is Presentation.URL:
        if question.url is not None:
            found += address_findings(question.url, policy.url.allowed_origins)
        classes.clear()  # a URL is where they belong
    else:
        found += form_findings(question, policy.form)
        found += operation_findings(question, rules)
        texts = [question.message, *texts_of(question.schema, hidden=True)]
        if sum(map(len, texts)) > MAX_CHARACTERS:
            found.append(FindingName.OVERSIZED_MESSAGE)
        else:
            # Looked at closely only where one quick look finds anything at all.
            classes |= asks_for(question) if may_ask(texts) else set()
            if shows_address(question):
                found.append(FindingName.URL_IN_TEXT)
    prohibited = classes.intersection(policy.prohibited_classes)
    if any(data_class.is_secret for data_class in prohibited):
        found.append(FindingName.SECRET_FIELD)
    if any(not data_class.is_secret for data_class in prohibited):
        found.append(FindingName.DATA_CLASS_PROHIBITED)
    effects = {name: policy.effect_of(name) for name in found}
    kept = tuple(name for name, effect in effects.items() if effect is not Effect.OFF)
    blocking = tuple(name for name in kept if effects[name] is Effect.BLOCK)
    decision = Decision.BLOCK if blocking else Decision.WARN if kept else Decision.ALLOW
    return Screened(decision, kept, blocking, frozenset(classes))
