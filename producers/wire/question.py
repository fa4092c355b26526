"""Reads the parameters of one ``elicitation/create``: what is asked, and what is wrong with it.

Sources: MCP 2025-06-18 and 2025-11-25 "Elicitation"; 2026-07-28 "Multi round-trip
requests", whose embedded requests have the same parameters.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlsplit

from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.producers.policy.words import RequiredText
from elicitation_receipts.producers.wire.message import (
    as_object,
    is_too_deep,
    repeats_anywhere,
    walk,
)
from elicitation_receipts.producers.wire.requested_schema import is_in_subset
from elicitation_receipts.schemas.vocabulary import FindingName, Mode, Presentation

#: A clickable address in a text.
_ADDRESS: Final = re.compile(r"\bhttps?://|\bwww\.", re.IGNORECASE)

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

    @property
    def properties(self) -> list[str]:
        """The names of the requested properties, in the order sent."""
        return list(as_object(as_object(self.schema).get("properties")))

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


def read_question(params: object, revision: str | None, policy: Policy) -> Question:
    """Read ``params`` of an ``elicitation/create``. Any JSON is read; defects become findings."""
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
    found = dict.fromkeys(_findings(question, members, revision, policy))
    if not readable:
        found = {FindingName.MALFORMED_MESSAGE: None}
    return replace(question, findings=tuple(found))


def _mode(value: object, *, absent: bool) -> Mode:
    if absent or value == "form":
        return Mode.FORM
    return Mode.URL if value == "url" else Mode.UNKNOWN


def _findings(
    question: Question, members: dict[str, Any], revision: str | None, policy: Policy
) -> Iterator[FindingName]:
    if not isinstance(members.get("message"), str):
        yield FindingName.MISSING_MESSAGE
    if repeats_anywhere(members):
        yield FindingName.DUPLICATE_MEMBER
    match question.mode:
        case Mode.FORM:
            if "url" in members or "elicitationId" in members:
                yield FindingName.MIXED_MODE_MEMBERS
            yield from _form_findings(question, revision, policy)
        case Mode.URL:
            if "requestedSchema" in members:
                yield FindingName.MIXED_MODE_MEMBERS
            if question.elicitation_id is None and revision == "2025-11-25":
                yield FindingName.MISSING_ELICITATION_ID
            yield from _address_findings(question.url)
        case _:
            yield FindingName.UNKNOWN_MODE


def _form_findings(
    question: Question, revision: str | None, policy: Policy
) -> Iterator[FindingName]:
    if question.schema is None:
        yield FindingName.MISSING_REQUESTED_SCHEMA
    elif question.schema.get("properties") == {}:
        yield FindingName.EMPTY_SCHEMA
    elif not is_in_subset(question.schema, revision):
        yield FindingName.SCHEMA_OFF_SUBSET
    fields = [as_object(field) for field in _fields(question.schema)]
    if len(fields) > policy.form.max_fields:
        yield FindingName.TOO_MANY_FIELDS
    if any(_lacks_text(field, policy.form.required_text) for field in fields):
        yield FindingName.MISSING_DESCRIPTION
    if any(_exceeds(field, policy) for field in fields):
        yield FindingName.VALUE_LIMIT
    texts = (part for part in walk([question.message, *fields]) if isinstance(part, str))
    if any(_ADDRESS.search(text) for text in texts):
        yield FindingName.URL_IN_TEXT


def _fields(schema: dict[str, Any] | None) -> list[object]:
    return list(as_object(as_object(schema).get("properties")).values())


def _lacks_text(field: dict[str, Any], required: RequiredText) -> bool:
    has_title, has_description = "title" in field, "description" in field
    match required:
        case RequiredText.NONE:
            return False
        case RequiredText.EITHER:
            return not (has_title or has_description)
        case RequiredText.BOTH:
            return not (has_title and has_description)
    return required.value not in field


def _exceeds(field: dict[str, Any], policy: Policy) -> bool:
    longest = field.get("maxLength")
    if isinstance(longest, int | float) and longest > policy.form.max_length:
        return True
    items = as_object(field.get("items"))
    choices = (field.get("enum"), field.get("oneOf"), items.get("enum"), items.get("anyOf"))
    return any(
        isinstance(choice, list) and len(choice) > policy.form.max_options for choice in choices
    )


def _address_findings(url: str | None) -> Iterator[FindingName]:
    if url is None:
        yield FindingName.MALFORMED_MESSAGE
        return
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:  # e.g. an unclosed bracket: no address at all
        yield FindingName.MALFORMED_MESSAGE
        return
    if parts.scheme not in ("http", "https"):
        yield FindingName.URL_SCHEME
        return
    if parts.scheme == "http":
        yield FindingName.URL_NOT_HTTPS
    if "@" in parts.netloc:
        yield FindingName.URL_USERINFO
    if not host.isascii() or any(label.startswith("xn--") for label in host.split(".")):
        yield FindingName.URL_PUNYCODE
    if _is_address(host):
        yield FindingName.URL_IP_LITERAL


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
