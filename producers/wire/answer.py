"""Judges one answer against its question: the outcome, the action, what failed.

What was sent is judged, not what a lenient peer makes of it.

Sources: MCP "Elicitation", response actions and ``ElicitResult``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from elicitation_receipts.producers.wire.message import as_object, is_too_deep, repeats
from elicitation_receipts.producers.wire.question import Question
from elicitation_receipts.producers.wire.requested_schema import UnusableSchemaError, failures
from elicitation_receipts.schemas.vocabulary import (
    Action,
    FindingName,
    Keyword,
    Mode,
    Outcome,
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an answer amounts to. ``content`` is what was submitted: memory only.

    ``fault``: the validator failed; the answer counts as one to a question without usable schema.
    """

    outcome: Outcome
    action: Action | None = None
    findings: tuple[FindingName, ...] = ()
    failed: tuple[tuple[str | None, Keyword], ...] = ()
    content: object = None
    fault: bool = False

    @property
    def answered(self) -> int:
        """How many properties the submitted object has."""
        return len(as_object(self.content))


def judge(question: Question, result: object) -> Judgement:
    """Judge ``result``: an ``ElicitResult`` if all is well, any JSON if not."""
    if not isinstance(result, dict) or is_too_deep(result):
        return Judgement(Outcome.MALFORMED, findings=(FindingName.MALFORMED_MESSAGE,))
    content = result.get("content")
    if repeats(result, "action", "content") or repeats(content):
        return Judgement(Outcome.MALFORMED, findings=(FindingName.DUPLICATE_MEMBER,))
    if "action" not in result:
        return Judgement(Outcome.MALFORMED, findings=(FindingName.MALFORMED_MESSAGE,))
    try:
        action = Action(result["action"])
    except ValueError:
        return Judgement(Outcome.MALFORMED, findings=(FindingName.UNKNOWN_ACTION,))
    if action is not Action.ACCEPT:
        outcome = Outcome.DECLINED if action is Action.DECLINE else Outcome.CANCELLED
        found = () if _is_empty(content) else (FindingName.CONTENT_ON_REFUSAL,)
        return Judgement(outcome, action, found, content=content)
    if question.mode is Mode.URL:
        found = () if _is_empty(content) else (FindingName.CONTENT_ON_URL_ANSWER,)
        return Judgement(Outcome.CONSENTED, action, found, content=content)
    return _judge_content(question, content)


def _is_empty(content: object) -> bool:
    return content is None or content in ({}, [], "")


def _judge_content(question: Question, content: object) -> Judgement:
    if not question.is_known:
        # What was asked for is not known any more: neither valid nor invalid can be said.
        return Judgement(Outcome.AMBIGUOUS, Action.ACCEPT, content=content)
    # An accept without content, or with null, is judged as an empty object.
    submitted = {} if content is None else content
    asked = set(question.properties)
    unasked = [name for name in as_object(submitted) if name not in asked]
    found = [FindingName.UNASKED_FIELD] if unasked else []
    if question.schema is None:
        found.append(FindingName.ACCEPT_SCHEMA_MISMATCH)
        return Judgement(Outcome.INVALID, Action.ACCEPT, tuple(found), content=content)
    try:
        failed = failures(question.schema, submitted)
    except Exception as error:  # noqa: BLE001  (whatever it is, the answer is recorded)
        found.append(FindingName.ACCEPT_SCHEMA_MISMATCH)
        fault = not isinstance(error, UnusableSchemaError)
        return Judgement(Outcome.INVALID, Action.ACCEPT, tuple(found), content=content, fault=fault)
    failed.extend(_odd_kinds(unasked, as_object(submitted)))
    if not isinstance(submitted, dict):
        failed.append((None, Keyword.TYPE))
    if not failed:
        return Judgement(Outcome.ACCEPTED, Action.ACCEPT, tuple(found), content=content)
    found.append(FindingName.ACCEPT_SCHEMA_MISMATCH)
    return Judgement(
        Outcome.INVALID,
        Action.ACCEPT,
        tuple(found),
        tuple(dict.fromkeys(failed)),
        content,
    )


def _odd_kinds(
    unasked: list[str], submitted: dict[str, Any]
) -> Iterator[tuple[str | None, Keyword]]:
    """Properties nobody described whose value is of no kind the protocol allows."""
    for name in unasked:
        value = submitted[name]
        is_strings = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not (isinstance(value, str | int | float | bool) or is_strings):
            yield None, Keyword.TYPE
