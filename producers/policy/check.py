"""What a policy file must be: valid by its JSON Schema, and without contradiction.

A refusal names file, line, path and reason, and for an unknown word the nearest known one.
Words of the file are repeated only where they are safe identifiers: it may be another file.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cache
from importlib import resources
from typing import Any, Final

import re2
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

from elicitation_receipts.producers.policy.document import URL_RULES, Operation, Policy, compiled
from elicitation_receipts.producers.policy.tree import Node, Path
from elicitation_receipts.producers.policy.words import ABOUT_QUESTIONS, Effect, Match
from elicitation_receipts.schemas import identifiers
from elicitation_receipts.schemas.errors import PolicyError
from elicitation_receipts.schemas.vocabulary import Mode

#: The JSON Schemas of a policy file and of a fixture.
POLICY_SCHEMA: Final = "policy.schema.json"
FIXTURE_SCHEMA: Final = "fixture.schema.json"

#: What the schema's formats ask for, in words.
_FORMATS: Final = {
    "identifier": "a name: a letter, then letters, digits and _.:/-, at most 64, no six digits "
    "in a row and nothing that looks random",
    "version": "a version such as 3, 1.2.0 or 2026.11, in quotes",
    "date": "a day such as 2026-11-30",
    "url-origin": "an origin such as https://id.example:8443: scheme, host in A-labels, and a "
    "port that is not the scheme's own, without path",
}
_TYPES: Final = {
    "object": "a mapping",
    "array": "a list",
    "string": "text (a number goes in quotes)",
    "integer": "a whole number",
    "boolean": "true or false",
    "number": "a number",
    "null": "null",
}

# --- shape ----------------------------------------------------------------------------


def check_shape(tree: Node, schema: str = POLICY_SCHEMA) -> None:
    """Check one file by its JSON Schema. Raises :class:`PolicyError`."""
    errors = _validator(schema).iter_errors(tree.plain)
    # What stands first in the file is told first.
    first = min(
        (found for error in errors for found in _refusals(tree, error)),
        key=lambda refusal: refusal[0],
        default=None,
    )
    if first is not None:
        raise first[1]


@cache
def _validator(name: str) -> Any:
    formats = FormatChecker(formats=())
    formats.checks("identifier")(_unless_text(identifiers.is_identifier))
    formats.checks("version")(_unless_text(identifiers.is_version))
    formats.checks("url-origin")(_unless_text(_is_origin))
    formats.checks("date", raises=ValueError)(_unless_text(date.fromisoformat))
    schema = resources.files("elicitation_receipts.schemas").joinpath(name).read_text("utf-8")
    return Draft202012Validator(json.loads(schema), format_checker=formats)


def _unless_text(check: Any) -> Any:
    return lambda value: not isinstance(value, str) or check(value)


def _is_origin(text: str) -> bool:
    """As addresses are reduced to theirs; a host that is no name is no origin."""
    return "#" not in text and "//" in text and identifiers.origin_of(text, lambda _: "#") == text


def _refusals(tree: Node, error: ValidationError) -> Iterator[tuple[int, PolicyError]]:
    path: Path = tuple(error.absolute_path)
    for reason, where, message in _reasons(path, error):
        yield tree.at(where).line, tree.error(reason, where, message)


def _reasons(path: Path, error: ValidationError) -> Iterator[tuple[str, Path, str]]:
    rule, value = error.validator_value, error.instance
    match error.validator:
        case "additionalProperties":
            known = error.schema["properties"]
            for key in value:
                if key not in known:
                    yield "policy_unknown_key", (*path, key), unknown("key", key, known)
        case "enum" if "propertyNames" in error.absolute_schema_path:
            yield "policy_unknown_key", (*path, value), unknown("key", value, rule)
        case "enum":
            yield "policy_unknown_word", path, unknown("word", value, rule)
        case "required":
            for key in rule:
                if key not in value:
                    yield "policy_missing_key", path, f"{key} is missing"
        case "oneOf":
            words = ", ".join(case["required"][0] for case in rule)
            yield "policy_invalid", path, f"give exactly one of {words}"
        case "format":
            yield _FORMAT_REASONS.get(rule, "policy_invalid"), path, f"must be {_FORMATS[rule]}"
        case "type":
            kinds = [rule] if isinstance(rule, str) else rule
            yield "policy_invalid", path, "must be " + " or ".join(_TYPES[kind] for kind in kinds)
        case "uniqueItems":
            yield "policy_invalid", path, "the same is listed twice"
        case "minimum" | "minLength" | "minProperties":
            yield (
                "policy_invalid",
                path,
                f"must have at least {rule}"
                if isinstance(value, str | dict)
                else f"must be {rule} or more",
            )
        case _:  # maximum, maxLength, maxItems
            yield "policy_invalid", path, f"must not be more than {rule}"


_FORMAT_REASONS: Final = {"url-origin": "policy_origin_invalid"}


def unknown(kind: str, found: object, known: Iterable[object]) -> str:
    words = [word for word in known if isinstance(word, str)]
    shown = isinstance(found, str) and len(found) <= 40 and identifiers.is_identifier(found)
    name = f"unknown {kind} {found!r}" if shown else f"unknown {kind}"
    near = difflib.get_close_matches(str(found)[:64], words, n=1)
    if near:
        return f"{name}; did you mean {near[0]}?"
    return f"{name}; known: {', '.join(words[:20])}{', …' if len(words) > 20 else ''}"


# --- sense ----------------------------------------------------------------------------


def check_sense(policy: Policy, tree: Node) -> None:
    """Check a whole policy for rules that cannot both hold. Raises :class:`PolicyError`."""
    for path, message in _contradictions(policy):
        raise tree.error("policy_contradictory", path, message)


def check_patterns(tree: Node) -> None:
    """Check that each pattern of one file is an expression. Raises :class:`PolicyError`."""
    for place, item in enumerate(tree.plain.get("operations", [])):
        for key in ("tool", "prompt", "resource"):
            if key in item and item.get("match") == "regex" and not _is_regex(item[key]):
                raise tree.error(
                    "policy_regex_invalid",
                    ("operations", place, key),
                    "no regular expression of RE2: it takes linear time, and so has neither "
                    "look-around nor back-references",
                )


def _is_regex(pattern: str) -> bool:
    try:
        compiled(pattern, Match.REGEX)
    except re2.error:
        return False
    return True


def _contradictions(policy: Policy) -> Iterator[tuple[Path, str]]:
    for name, weight in policy.findings.items():
        path: Path = ("findings", name.value, "effect")
        if weight.effect is not None and name in URL_RULES:
            yield path, f"url.{URL_RULES[name]} decides this"
        elif weight.effect is not None and name not in ABOUT_QUESTIONS:
            yield path, "this is found when a question has been put: nothing can stop it"
    for place, origin in enumerate(policy.url.allowed_origins):
        path = ("url", "allowed_origins", place)
        host = origin.split("://")[1]
        if origin.startswith("http:") and policy.url.not_https is Effect.BLOCK:
            yield path, "http is allowed here and blocked by url.not_https"
        if "xn--" in host and policy.url.punycode is Effect.BLOCK:
            yield path, "this host is allowed here and blocked by url.punycode"
        if _is_ip(host) and policy.url.ip_literal is Effect.BLOCK:
            yield path, "this host is allowed here and blocked by url.ip_literal"
    for place, operation in enumerate(policy.operations):
        yield from _operation_contradictions(policy, operation, ("operations", place))


def _operation_contradictions(
    policy: Policy, operation: Operation, path: Path
) -> Iterator[tuple[Path, str]]:
    if Mode.URL in operation.modes or not operation.modes:
        return
    if operation.required_proof is not None and policy.defaults.required_proof is None:
        yield (
            (*path, "required_proof"),
            "only URL questions are proved, and modes has no url",
        )
    prohibited = set(policy.prohibited_classes) & set(operation.data_classes)
    for name in sorted(prohibited):
        yield (
            (*path, "data_classes"),
            f"no form may ask for {name.value} (prohibited_classes), and modes has no url",
        )


def _is_ip(host: str) -> bool:
    last = host.rsplit(":", 1)[0].rsplit(".", 1)[-1]
    return host.startswith("[") or last.isdigit()
