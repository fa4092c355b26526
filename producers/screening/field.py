"""One field of a form: what can be typed into it, and what it asks a person for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from elicitation_receipts.producers.policy.words import DataClass
from elicitation_receipts.producers.screening.lexicon import (
    LABEL_WORDS,
    TITLE_WORDS,
    asked_for,
    mentions_any,
)
from elicitation_receipts.producers.screening.values import let_in_by, shaped_like

#: Members of a field that nobody is shown and that name no secret.
_NOT_SHOWN: Final = frozenset({"type", "pattern", "$ref", "$id", "$schema", "$comment"})
#: Where other schemas may stand in one, beside its properties.
_SUBSCHEMAS: Final = ("items", "allOf", "anyOf", "oneOf", "not", "if", "then", "else")
#: Bullets: how a client shows what nobody may read over a shoulder.
_BULLETS: Final = ("••", "●●", "∗∗", "****")


class Holds(Enum):
    """What can be typed into a field."""

    TEXT = auto()
    NUMBER = auto()
    DATE = auto()
    NOTHING = auto()  # it is chosen, ticked, or only holds other fields

    def can_hold(self, data_class: DataClass) -> bool:
        if self is Holds.NUMBER:
            return data_class in _NUMBERS
        if self is Holds.DATE:
            return data_class in (DataClass.DATE_OF_BIRTH, DataClass.PAYMENT_CARD)
        return self is Holds.TEXT


_NUMBERS: Final = frozenset(
    {
        DataClass.ONE_TIME_CODE,
        DataClass.PIN,
        DataClass.PAYMENT_CARD,
        DataClass.RECOVERY_CODE,
        DataClass.BANK_ACCOUNT,
        DataClass.GOVERNMENT_ID,
    }
)


@dataclass(frozen=True, slots=True)
class Field:
    """One property of a form, however deep."""

    name: str
    schema: Mapping[str, Any]

    @property
    def holds(self) -> Holds:
        return _holds(self.schema)

    @property
    def asks_for(self) -> set[DataClass]:
        """The classes of data it asks a person for, by its texts and by its shape."""
        schema, holds = self.schema, self.holds
        found: set[DataClass] = set()
        for label, label_words in self._labels():
            found |= asked_for(label, label_words) | (shaped_like(label) - {DataClass.PAYMENT_CARD})
            if any(bullets in label for bullets in _BULLETS):
                found.add(DataClass.PASSWORD)
        pattern = schema.get("pattern")
        if isinstance(pattern, str):
            found |= let_in_by(pattern)
        found = {data_class for data_class in found if holds.can_hold(data_class)}
        # A secret that is offered is given away, whatever the field can hold.
        offered = [schema.get(key) for key in ("default", "const", "enum", "examples", "oneOf")]
        return found.union(*map(shaped_like, texts_of(offered)))

    def _labels(self) -> Iterator[tuple[str, int]]:
        """What is shown with the field, and up to how many words that only names what it asks."""
        yield self.name, TITLE_WORDS
        for key, value in self.schema.items():
            if value is True:  # `writeOnly`, `x-secret`
                yield "password" if key == "writeOnly" else key, TITLE_WORDS
            elif isinstance(value, str) and key not in _NOT_SHOWN and key != "default":
                yield value, TITLE_WORDS if key == "title" else LABEL_WORDS


def fields_of(schema: Mapping[str, Any] | None) -> Iterator[Field]:
    """The properties of a form, and those of its properties where it nests against the rules."""
    waiting: list[object] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting.extend(part)
        if not isinstance(part, Mapping):
            continue
        properties = part.get("properties")
        for name, field in properties.items() if isinstance(properties, Mapping) else ():
            yield Field(name, field if isinstance(field, Mapping) else {})
            waiting.append(field)
        waiting.extend(part.get(key) for key in _SUBSCHEMAS)


def may_ask(texts: list[str]) -> bool:
    """One quick look: whether any of the texts of a form could make it ask for any class."""
    text = "\n".join(texts)
    return (
        "writeOnly" in text
        or any(bullets in text for bullets in _BULLETS)
        or bool(let_in_by(text))
        or bool(shaped_like(text))
        or mentions_any(texts)
    )


def texts_of(schema: object, *, hidden: bool = False) -> Iterator[str]:
    """Every string of a schema that a person may be shown, and every name in it.

    ``hidden``: and those that nobody is shown.
    """
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, Mapping):
            yield from part
            waiting.extend(value for key, value in part.items() if hidden or key not in _NOT_SHOWN)


def _holds(schema: Mapping[str, Any]) -> Holds:
    if isinstance(schema.get("enum"), list) or "const" in schema:
        return Holds.NOTHING
    for key in ("oneOf", "anyOf"):
        parts = schema.get(key)
        if isinstance(parts, list):
            kinds = [_holds(part) for part in parts if isinstance(part, Mapping)]
            return next((kind for kind in kinds if kind is not Holds.NOTHING), Holds.NOTHING)
    if schema.get("format") in ("date", "date-time"):
        return Holds.DATE
    match schema.get("type"):
        case "boolean" | "null" | "object":
            return Holds.NOTHING
        case "integer" | "number":
            return Holds.NUMBER
        case "array":
            items = schema.get("items")
            return _holds(items) if isinstance(items, Mapping) else Holds.TEXT
        case _:
            return Holds.NOTHING if schema.get("format") == "email" else Holds.TEXT
