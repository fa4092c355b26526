"""The schema a form is asked with: is it in the protocol's subset, is an answer valid against it.

Both schema and answer come from the wire, so nothing here may run away: no
reference leaves the schema, patterns run in an engine of linear time, and a schema
that takes too many steps on an answer counts as unusable. Errors are reduced to
(property, keyword): a validator's own words repeat the value.

Sources: MCP 2025-06-18, 2025-11-25 and 2026-07-28, "Elicitation", requested
schema; JSON Schema 2020-12.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import resources
from typing import Any, Final

import re2
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry

from elicitation_receipts.producers.wire.message import walk
from elicitation_receipts.schemas.digest import canonical
from elicitation_receipts.schemas.vocabulary import Keyword

#: Steps one validation may take, about ten microseconds each: a keyword applied, a member
#: looked at, 64 characters of a value that fails. A form of 10,000 properties needs 50,000.
MAX_STEPS: Final = 250_000
#: Steps that following a reference counts for; ordinary forms have none.
_REFERENCE_STEPS: Final = 25

#: The four formats the protocol names; others are annotations, as JSON Schema says.
_FORMATS: Final = FormatChecker(formats=("email", "uri", "date", "date-time"))
_KEYWORDS: Final = {keyword.value: keyword for keyword in Keyword}

#: Steps left to the validation that runs in this thread.
_steps: Final = threading.local()

_Check = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]


class UnusableSchemaError(Exception):
    """No answer can be judged against this schema. Holds nothing of it."""


def is_in_subset(schema: object, revision: str | None) -> bool:
    """Whether ``requestedSchema`` satisfies the published schema of its revision.

    Members the published schema does not describe (a root ``title``, ``pattern``
    on a string) are tolerated, as its open objects do.
    """
    name = "2025-06-18" if revision == "2025-06-18" else "2025-11-25"
    try:
        _subset_check(name)(schema)
    except (ValueError, RecursionError):  # its refusals are ValueErrors
        return False
    return True


@cache
def _subset_check(name: str) -> Callable[[object], object]:
    """The published schema of a revision as code: each question is checked, before it goes on.

    It keeps to keywords that mean the same in draft 7, which ``fastjsonschema`` knows, and in
    2020-12; in particular, nothing stands beside a ``$ref``.
    """
    import fastjsonschema  # only here: a watcher starts without it

    source = resources.files(__package__).joinpath("requested_schema.json").read_text("utf-8")
    definitions = json.loads(source)["$defs"]
    check: Callable[[object], object] = fastjsonschema.compile(
        {"$ref": f"#/$defs/{name}", "$defs": definitions}, use_default=False
    )
    return check


def failures(schema: dict[str, Any], content: object) -> list[tuple[str | None, Keyword]]:
    """Which property of ``content`` fails which keyword of ``schema``; empty if it is valid.

    The property is None where the object as a whole fails. Raises
    :class:`UnusableSchemaError` where the schema cannot be applied at all.
    """
    validator = _AnswerValidator(schema, format_checker=_FORMATS, registry=Registry())
    _steps.left = MAX_STEPS
    try:
        found = [_reduce(error) for error in validator.iter_errors(content)]
    except Exception:  # noqa: BLE001  whatever a hostile schema provokes, its text must not travel
        raise UnusableSchemaError from None
    return list(dict.fromkeys(found))


def _reduce(error: ValidationError) -> tuple[str | None, Keyword]:
    name = str(error.path[0]) if error.path else None
    return name, _KEYWORDS.get(str(error.validator), Keyword.OTHER)


# Keywords as jsonschema checks them, where that cannot run away


def _additional_properties(
    validator: Any, allowed: Any, instance: Any, schema: dict[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    patterns = [_compiled(pattern) for pattern in schema.get("patternProperties", ())]
    _spend(len(patterns) * _weight(list(instance)))
    extras = [
        name
        for name in instance
        if name not in schema.get("properties", ())
        # A pattern that cannot be run may allow any name.
        and not any(pattern is None or pattern.search(name) for pattern in patterns)
    ]
    if isinstance(allowed, dict):
        for name in extras:
            yield from validator.descend(instance[name], allowed, path=name)
    elif extras and not allowed:
        yield ValidationError("additionalProperties")


def _pattern(
    _validator: Any, text: str, instance: object, _schema: object
) -> Iterator[ValidationError]:
    if not isinstance(instance, str):
        return
    pattern = _compiled(text)
    if pattern is not None and pattern.search(instance) is None:
        yield ValidationError("pattern")


def _pattern_properties(
    validator: Any, patterns: dict[str, Any], instance: Any, _schema: object
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    _spend(len(patterns) * _weight(list(instance)))
    for text, schema in patterns.items():
        pattern = _compiled(text)
        for name, value in instance.items():
            if pattern is not None and pattern.search(name):
                yield from validator.descend(value, schema, path=name, schema_path=text)


def _required(
    _validator: Any, names: Any, instance: Any, _schema: object
) -> Iterator[ValidationError]:
    if not isinstance(names, list):
        raise UnusableSchemaError
    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                yield ValidationError("required", path=(name,))


def _unevaluated_properties(
    validator: Any, allowed: Any, instance: Any, schema: dict[str, Any]
) -> Iterable[ValidationError]:
    _spend(_weight(schema))
    # What jsonschema looks up here it looks up with patterns of unlimited time.
    if any(isinstance(part, dict) and "patternProperties" in part for part in walk(schema)):
        raise UnusableSchemaError
    check = Draft202012Validator.VALIDATORS["unevaluatedProperties"]
    yield from check(validator, allowed, instance, schema) or ()


def _unique_items(
    _validator: Any, unique: Any, instance: Any, _schema: object
) -> Iterator[ValidationError]:
    if unique and isinstance(instance, list):
        _spend(_weight(instance))
        if len({_comparable(item) for item in instance}) < len(instance):
            yield ValidationError("uniqueItems")


def _comparable(item: object) -> object:
    """Equal for what JSON Schema calls equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(item, dict | list):
        return canonical(item)
    return isinstance(item, bool), item


def _reference(keyword: str) -> _Check:
    def follow(validator: Any, ref: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        _spend(_REFERENCE_STEPS)
        yield from Draft202012Validator.VALIDATORS[keyword](validator, ref, instance, schema) or ()

    return follow


def _compiled(pattern: str) -> Any:
    """None for what linear time cannot do (look-around, back-references): it is not checked."""
    try:
        return re2.compile(pattern, _quiet())
    except re2.error:
        return None


@cache
def _quiet() -> Any:
    options = re2.Options()
    options.log_errors = False  # RE2 would print the pattern to stderr
    return options


# Counting steps


def _spend(steps: int) -> None:
    _steps.left -= steps
    if _steps.left < 0:
        raise UnusableSchemaError


def _weight(value: object) -> int:
    """How much there is of a value; what a validator takes to print it grows with that."""
    steps = 0
    for part in walk(value):
        texts = part if isinstance(part, dict) else (part,)
        steps += 1 + sum(len(text) // 64 for text in texts if isinstance(text, str))
    return steps


def _metered(check: _Check) -> _Check:
    """``check``, with a bound on the steps of one validation."""

    def follow(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        _spend(1 + (len(value) if isinstance(value, dict | list) else 0))
        for error in check(validator, value, instance, schema) or ():
            if not isinstance(error.validator, str):  # its own, not one from deeper down
                _spend(_weight(instance))  # the error's text repeats it
            yield error

    return follow


_OURS: Final[dict[str, _Check]] = {
    "$dynamicRef": _reference("$dynamicRef"),
    "$ref": _reference("$ref"),
    "additionalProperties": _additional_properties,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "required": _required,
    "unevaluatedProperties": _unevaluated_properties,
    "uniqueItems": _unique_items,
}
_AnswerValidator: Final[Any] = extend(
    Draft202012Validator,
    {
        keyword: _metered(_OURS.get(keyword, check))
        for keyword, check in Draft202012Validator.VALIDATORS.items()
    },
)
