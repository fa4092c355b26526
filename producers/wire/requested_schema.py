"""The schema a form is asked with: is it in the protocol's subset, is an answer valid against it.

Both schema and answer come from the wire, so nothing here may run away: no
reference leaves the schema, ``pattern`` runs in an engine of linear time, and a
schema that refers to itself too often counts as unusable. Errors are reduced to
(property, keyword): a validator's own words repeat the value.

Sources: MCP 2025-06-18, 2025-11-25 and 2026-07-28, "Elicitation", requested
schema; JSON Schema 2020-12.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, Final

import re2
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry

from elicitation_receipts.schemas.vocabulary import Keyword

#: Reference steps one validation may take; ordinary forms need none.
MAX_REFERENCES: Final = 1_000

#: The four formats the protocol names; others are annotations, as JSON Schema says.
_FORMATS: Final = FormatChecker(formats=("email", "uri", "date", "date-time"))
_KEYWORDS: Final = {keyword.value: keyword for keyword in Keyword}

#: Reference steps left to the validation that runs in this thread.
_steps: Final = threading.local()


class UnusableSchemaError(Exception):
    """No answer can be judged against this schema. Holds nothing of it."""


def is_in_subset(schema: object, revision: str | None) -> bool:
    """Whether ``requestedSchema`` satisfies the published schema of its revision.

    Members the published schema does not describe (a root ``title``, ``pattern``
    on a string) are tolerated, as its open objects do.
    """
    name = "2025-06-18" if revision == "2025-06-18" else "2025-11-25"
    try:
        return bool(_subset_validator(name).is_valid(schema))
    except RecursionError:
        return False


@cache
def _subset_validator(name: str) -> Draft202012Validator:
    source = resources.files(__package__).joinpath("requested_schema.json").read_text("utf-8")
    definitions = json.loads(source)["$defs"]
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions})


def failures(schema: dict[str, Any], content: object) -> list[tuple[str | None, Keyword]]:
    """Which property of ``content`` fails which keyword of ``schema``; empty if it is valid.

    The property is None where the object as a whole fails. Raises
    :class:`UnusableSchemaError` where the schema cannot be applied at all.
    """
    validator = _AnswerValidator(schema, format_checker=_FORMATS, registry=Registry())
    _steps.left = MAX_REFERENCES
    found: list[tuple[str | None, Keyword]] = []
    try:
        for error in validator.iter_errors(content):
            found.extend(_reduce(error, content))
    except Exception:  # noqa: BLE001  whatever a hostile schema provokes, its text must not travel
        raise UnusableSchemaError from None
    return list(dict.fromkeys(found))


def _reduce(error: ValidationError, content: object) -> Iterator[tuple[str | None, Keyword]]:
    keyword = _KEYWORDS.get(str(error.validator), Keyword.OTHER)
    if error.path:
        yield str(error.path[0]), keyword
    elif keyword is Keyword.REQUIRED and isinstance(content, dict):
        # jsonschema names the missing property in its message only.
        for name in error.validator_value:
            if name not in content:
                yield str(name), keyword
    else:
        yield None, keyword


def _bounded(keyword: str) -> Any:
    """A reference as jsonschema follows it, with a bound on the steps of one validation."""

    def follow(
        validator: Any, ref: object, instance: object, schema: object
    ) -> Iterator[ValidationError]:
        _steps.left -= 1
        if _steps.left < 0:
            raise UnusableSchemaError
        yield from Draft202012Validator.VALIDATORS[keyword](validator, ref, instance, schema) or ()

    return follow


def _pattern(
    _validator: Any, pattern: str, instance: object, _schema: object
) -> Iterator[ValidationError]:
    if not isinstance(instance, str):
        return
    try:
        matches = _compiled(pattern).search(instance) is not None
    except re2.error:
        return  # look-around or back-references: not checked rather than run without a bound
    if not matches:
        yield ValidationError("pattern")


@cache
def _quiet() -> Any:
    options = re2.Options()
    options.log_errors = False  # RE2 would print the pattern to stderr
    return options


def _compiled(pattern: str) -> Any:
    return re2.compile(pattern, _quiet())


_AnswerValidator: Final[Any] = extend(
    Draft202012Validator,
    {"$ref": _bounded("$ref"), "$dynamicRef": _bounded("$dynamicRef"), "pattern": _pattern},
)
