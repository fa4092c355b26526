"""Reads the parameters of one ``elicitation/create``: what is asked, and what is wrong with it.

Sources: MCP 2025-06-18 and 2025-11-25 "Elicitation"; 2026-07-28 "Multi round-trip
requests", whose embedded requests have the same parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from elicitation_receipts.producers.wire.message import as_object, is_too_deep, repeats_anywhere
from elicitation_receipts.producers.wire.requested_schema import is_in_subset
from elicitation_receipts.schemas.vocabulary import FindingName, Mode, Presentation

#: Defects after which a -32602 blames the question, not the client's abilities.
_DEFECTS: Final = frozenset(
    {
        FindingName.MISSING_MESSAGE,
        FindingName.MISSING_REQUESTED_SCHEMA,
        FindingName.MISSING_ELICITATION_ID,
        FindingName.MALFORMED_MESSAGE,
    }
)


@dataclass(frozen=True, slots=True)
class Question:
    """One question as it was sent. Lives in memory only: it holds texts, a schema, an address."""

    mode: Mode
    presentation: Presentation
    message: str
    schema: dict[str, Any] | None
    url: str | None
    elicitation_id: str | None
    findings: tuple[FindingName, ...]
    #: False where an earlier watcher saw it, and only its mode and findings are left of it.
    is_known: bool = True
    #: Its defects could not be looked for, so it is recorded with nothing derived from it.
    fault: bool = False

    @property
    def properties(self) -> list[str]:
        """The names of the requested properties, in the order sent."""
        return list(as_object(as_object(self.schema).get("properties")))

    @property
    def fields(self) -> list[object]:
        """The schemas of the requested properties, in the order sent."""
        return list(as_object(as_object(self.schema).get("properties")).values())

    @property
    def required(self) -> list[str]:
        """The requested properties that ``required`` names."""
        names = as_object(self.schema).get("required")
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    @property
    def is_defective(self) -> bool:
        return not _DEFECTS.isdisjoint(self.findings)

    def forget(self) -> Question:
        """What is still told of a question that is over: not its texts, nor its schema."""
        return replace(self, message="", schema=None)

    @property
    def shape(self) -> tuple[Mode, frozenset[str]]:
        """What makes a reused key, or a question after an invalid answer, the same question."""
        return self.mode, frozenset(self.properties)


def read_question(params: object, revision: str | None) -> Question:
    """Read ``params`` of an ``elicitation/create``. Any JSON is read; defects become findings.

    Found are only the defects that no policy has to say anything about, see ``screening``.
    """
    readable = isinstance(params, dict) and not is_too_deep(params)
    members = as_object(params) if readable else {}
    mode = _mode(members.get("mode"), absent="mode" not in members)
    url = members.get("url")
    message = members.get("message")
    schema = members.get("requestedSchema")
    elicitation_id = members.get("elicitationId")
    question = Question(
        mode=mode,
        presentation=Presentation(mode.value),
        message=message if isinstance(message, str) else "",
        schema=schema if isinstance(schema, dict) else None,
        url=url if isinstance(url, str) else None,
        elicitation_id=elicitation_id if isinstance(elicitation_id, str) else None,
        findings=(),
    )
    if not readable:
        return replace(question, findings=(FindingName.MALFORMED_MESSAGE,))
    try:
        return replace(
            question, findings=tuple(dict.fromkeys(_findings(question, members, revision)))
        )
    except Exception:  # noqa: BLE001  (whatever it is, the question is recorded)
        return replace(question, fault=True)


def _mode(value: object, *, absent: bool) -> Mode:
    if absent or value == "form":
        return Mode.FORM
    return Mode.URL if value == "url" else Mode.UNKNOWN


def _findings(
    question: Question, members: dict[str, Any], revision: str | None
) -> Iterator[FindingName]:
    if not isinstance(members.get("message"), str):
        yield FindingName.MISSING_MESSAGE
    if repeats_anywhere(members):
        yield FindingName.DUPLICATE_MEMBER
    match question.mode:
        case Mode.FORM:
            if "url" in members or "elicitationId" in members:
                yield FindingName.MIXED_MODE_MEMBERS
            yield from _schema_findings(question.schema, revision)
        case Mode.URL:
            if "requestedSchema" in members:
                yield FindingName.MIXED_MODE_MEMBERS
            if question.elicitation_id is None and revision == "2025-11-25":
                yield FindingName.MISSING_ELICITATION_ID
            if question.url is None:
                yield FindingName.MALFORMED_MESSAGE
        case _:
            yield FindingName.UNKNOWN_MODE


def _schema_findings(schema: dict[str, Any] | None, revision: str | None) -> Iterator[FindingName]:
    if schema is None:
        yield FindingName.MISSING_REQUESTED_SCHEMA
    elif schema.get("properties") == {}:
        yield FindingName.EMPTY_SCHEMA
    elif not is_in_subset(schema, revision):
        yield FindingName.SCHEMA_OFF_SUBSET
