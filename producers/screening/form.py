"""A form: its limits, its texts, and what it asks a person for as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from elicitation_receipts.producers.policy.document import FormLimits, Rules
from elicitation_receipts.producers.policy.words import DataClass, RequiredText
from elicitation_receipts.producers.screening.field import Holds, fields_of, texts_of
from elicitation_receipts.producers.screening.lexicon import asked_for
from elicitation_receipts.producers.screening.urls import holds_address
from elicitation_receipts.producers.wire.message import as_object
from elicitation_receipts.producers.wire.question import Question
from elicitation_receipts.schemas.vocabulary import FindingName

#: A message of so few words names what is asked for, as a title does.
_MESSAGE_WORDS: Final = 3


def form_findings(question: Question, limits: FormLimits) -> Iterator[FindingName]:
    """Where a form is larger or less explained than the policy lets it be."""
    fields = [as_object(field) for field in question.fields]
    if len(fields) > limits.max_fields:
        yield FindingName.TOO_MANY_FIELDS
    if not all(_explains(field, limits.required_text) for field in fields):
        yield FindingName.MISSING_DESCRIPTION
    if any(_exceeds(field, limits) for field in fields):
        yield FindingName.VALUE_LIMIT


def operation_findings(question: Question, rules: Rules) -> Iterator[FindingName]:
    """Where a form asks what the operation it is put in must not ask by a form."""
    if not set(question.properties).isdisjoint(rules.known_fields):
        yield FindingName.NEEDLESS_QUESTION
    kinds = [as_object(field).get("type") for field in question.fields]
    if rules.consequential and ("boolean" in kinds or not kinds):
        yield FindingName.APPROVAL_AS_FIELD


def shows_address(question: Question) -> bool:
    """Whether a text of a form holds an address, which a client may turn into a link."""
    return holds_address("\n".join([question.message, *texts_of(question.schema)]))


def asks_for(question: Question) -> set[DataClass]:
    """The classes of data that a form asks a person for."""
    schema = as_object(question.schema)
    fields = list(fields_of(schema))
    found = set[DataClass]().union(*(field.asks_for for field in fields))
    holds = {field.holds for field in fields} or {Holds.TEXT}
    for text in (question.message, schema.get("title"), schema.get("description")):
        if isinstance(text, str):
            named = asked_for(text, _MESSAGE_WORDS)
            found |= {one for one in named if any(kind.can_hold(one) for kind in holds)}
    return found


def _explains(field: dict[str, Any], required: RequiredText) -> bool:
    title, description = "title" in field, "description" in field
    match required:
        case RequiredText.NONE:
            return True
        case RequiredText.EITHER:
            return title or description
        case RequiredText.TITLE:
            return title
        case RequiredText.DESCRIPTION:
            return description
        case RequiredText.BOTH:
            return title and description


def _exceeds(field: dict[str, Any], limits: FormLimits) -> bool:
    longest = field.get("maxLength")
    if isinstance(longest, int | float) and longest > limits.max_length:
        return True
    items = as_object(field.get("items"))
    choices = (field.get("enum"), field.get("oneOf"), items.get("enum"), items.get("anyOf"))
    return any(isinstance(choice, list) and len(choice) > limits.max_options for choice in choices)
