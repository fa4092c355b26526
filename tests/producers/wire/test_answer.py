"""How an answer is judged: what was sent counts, not what a lenient server makes of it."""

from __future__ import annotations

from typing import Any

import pytest
from conversation import (
    BRANCH,
    CANCELLED,
    DECLINED,
    Conversation,
    accepted,
    answer,
    call,
    failures,
    findings,
    form_params,
    question,
    url_params,
)

from elicitation_receipts.schemas.receipt import Receipt

A = {"title": "A"}
OBJECT = {"type": "object"}


def given(params: Any, result: Any) -> Receipt:
    """The receipt of ``result`` in answer to a question with ``params``."""
    talk = Conversation()
    talk.client(call(1))
    talk.server(question(7, params))
    talk.wait(seconds=5)
    talk.client(answer(7, result))
    return talk.last


def field(schema: dict[str, Any]) -> dict[str, Any]:
    return form_params(properties={"a": {**A, **schema}})


# Valid


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, ""),
        ({"type": "string", "minLength": 2}, "ab"),
        ({"type": "string", "maxLength": 2}, "éü"),
        ({"type": "string", "pattern": "^[0-9]{4}$"}, "1234"),
        ({"type": "string", "format": "email"}, "a@b.example"),
        ({"type": "string", "format": "uri"}, "https://a.example"),
        ({"type": "string", "format": "date"}, "2026-11-30"),
        ({"type": "string", "format": "date-time"}, "2026-11-30T12:00:00Z"),
        ({"type": "string", "format": "int32"}, "unknown formats are annotations"),
        ({"type": "number"}, 3.5),
        ({"type": "number", "minimum": 0.5}, 0.5),
        ({"type": "integer"}, 3),
        ({"type": "integer"}, 3.0),
        ({"type": "boolean"}, False),
        ({"type": "string", "enum": ["a", "b"]}, "b"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, "a"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, ["b", "a"]),
        ({"type": "object", "properties": {}}, {"nested": {"as": "asked"}}),
        ({"type": "null"}, None),
    ],
)
def test_valid_content(schema: dict[str, Any], value: object) -> None:
    receipt = given(field(schema), accepted({"a": value}))
    assert receipt.outcome is not None
    assert receipt.outcome.value == "accepted"
    assert findings(receipt) == set()
    assert failures(receipt) == []


# Not valid: the field and the failing keyword, never the value


@pytest.mark.parametrize(
    ("schema", "value", "keyword"),
    [
        ({"type": "boolean"}, "yes", "type"),
        ({"type": "boolean"}, 1, "type"),
        ({"type": "integer"}, "3", "type"),
        ({"type": "integer"}, 3.5, "type"),
        ({"type": "integer"}, True, "type"),
        ({"type": "string"}, None, "type"),
        ({"type": "string"}, ["a"], "type"),
        ({"type": "string", "minLength": 2}, "a", "minLength"),
        ({"type": "string", "maxLength": 2}, "abc", "maxLength"),
        ({"type": "string", "pattern": "^[0-9]{4}$"}, "12345", "pattern"),
        ({"type": "string", "format": "email"}, "nobody", "format"),
        ({"type": "string", "format": "uri"}, "no address", "format"),
        ({"type": "string", "format": "date"}, "30.11.2026", "format"),
        ({"type": "string", "format": "date-time"}, "yesterday", "format"),
        ({"type": "number", "minimum": 1}, 0.5, "minimum"),
        ({"type": "number", "maximum": 1}, 1.5, "maximum"),
        ({"type": "number", "exclusiveMinimum": 1}, 1, "exclusiveMinimum"),
        ({"type": "number", "multipleOf": 2}, 3, "multipleOf"),
        ({"type": "string", "enum": ["a", "b"]}, "c", "enum"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, "b", "oneOf"),
        ({"const": "a"}, "b", "const"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 5, "anyOf"),
        ({"not": {"type": "string"}}, "a", "not"),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, ["b"], "enum"),
        ({"type": "array", "items": {"type": "string"}}, [5], "type"),
        ({"type": "array", "minItems": 1, "items": {"type": "string"}}, [], "minItems"),
        ({"type": "array", "maxItems": 1, "items": {"type": "string"}}, ["a", "b"], "maxItems"),
        (
            {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
            ["a", "a"],
            "uniqueItems",
        ),
        ({"type": "object", "required": ["b"]}, {}, "required"),
        ({"type": "object", "additionalProperties": False}, {"b": 1}, "additionalProperties"),
    ],
)
def test_content_that_is_not_valid(schema: dict[str, Any], value: object, keyword: str) -> None:
    receipt = given(field(schema), accepted({"a": value}))
    assert receipt.outcome is not None
    assert receipt.outcome.value == "invalid"
    assert findings(receipt) == {"accept_schema_mismatch"}
    assert failures(receipt) == [("a", keyword)]


def test_every_failed_field_is_named() -> None:
    params = form_params(
        properties={"a": {**A, "type": "integer"}, "b": {**A, "type": "boolean"}, "c": A},
        required=["c"],
    )
    receipt = given(params, accepted({"a": "1", "b": "no"}))
    assert sorted(failures(receipt)) == [("a", "type"), ("b", "type"), ("c", "required")]
    assert receipt.validation is not None
    assert (receipt.validation.requested, receipt.validation.required) == (3, 1)
    assert receipt.validation.answered == 2


def test_a_property_whose_name_is_not_safe_is_named_by_its_place() -> None:
    params = form_params(
        properties={"fine": A, "with blank": {**A, "type": "integer"}}, required=["with blank"]
    )
    assert failures(given(params, accepted({"with blank": "x"}))) == [("[1]", "type")]
    assert failures(given(params, accepted({}))) == [("[1]", "required")]


def test_more_failed_fields_than_a_receipt_lists_are_counted() -> None:
    names = [f"field{n}" for n in range(70)]
    params = form_params(properties=dict.fromkeys(names, A), required=names)
    receipt = given(params, accepted({}))
    assert receipt.validation is not None
    assert len(receipt.validation.failed) == 64
    assert receipt.validation.failed_more == 6


# No content


@pytest.mark.parametrize("result", [{"action": "accept"}, {"action": "accept", "content": None}])
def test_an_accept_without_content_is_judged_as_an_empty_object(result: dict[str, Any]) -> None:
    assert failures(given(form_params(required=["branch"]), result)) == [("branch", "required")]
    receipt = given(form_params(), result)
    assert receipt.outcome is not None
    assert receipt.outcome.value == "accepted"
    assert receipt.payload_digest is None


@pytest.mark.parametrize("content", ["main", 5, True, ["main"], []])
def test_content_that_is_no_object(content: object) -> None:
    receipt = given(form_params(), {"action": "accept", "content": content})
    assert receipt.outcome is not None
    assert receipt.outcome.value == "invalid"
    assert (None, "type") in failures(receipt)


@pytest.mark.parametrize(
    "schema",
    [
        None,
        "object",
        [],
        {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}},
        {"type": "object", "properties": {"a": {"$ref": "https://elsewhere.example/schema"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}},
        {"type": "object", "properties": {"a": {"type": "no type"}}},
        {"type": "object", "properties": {"a": {"minLength": "one"}}},
        {"type": "object", "properties": 5},
    ],
)
def test_with_no_usable_schema_an_accept_is_invalid_with_no_field_named(schema: object) -> None:
    receipt = given({"message": "?", "requestedSchema": schema}, accepted({"a": "x"}))
    assert receipt.outcome is not None
    assert receipt.outcome.value == "invalid"
    assert "accept_schema_mismatch" in findings(receipt)
    assert failures(receipt) == []


# Not asked


@pytest.mark.parametrize("value", ["x", 5, 0.5, True, ["x", "y"], []])
def test_a_value_nobody_asked_for_may_be_of_the_protocols_kinds(value: object) -> None:
    receipt = given(form_params(), accepted({"other": value}))
    assert receipt.outcome is not None
    assert receipt.outcome.value == "accepted"
    assert findings(receipt) == {"unasked_field"}


@pytest.mark.parametrize("value", [None, {}, {"a": 1}, [1], [["x"]], [None]])
def test_a_value_nobody_asked_for_of_another_kind(value: object) -> None:
    receipt = given(form_params(), accepted({"other": value}))
    assert receipt.outcome is not None
    assert receipt.outcome.value == "invalid"
    assert findings(receipt) == {"unasked_field", "accept_schema_mismatch"}
    assert failures(receipt) == [(None, "type")]


def test_a_schema_may_refuse_what_it_did_not_ask_for() -> None:
    params = form_params()
    params["requestedSchema"]["additionalProperties"] = False
    receipt = given(params, accepted({"other": "x"}))
    assert failures(receipt) == [(None, "additionalProperties")]


# Content where there should be none


@pytest.mark.parametrize("action", ["decline", "cancel"])
@pytest.mark.parametrize("params", [form_params(), url_params()], ids=["form", "url"])
@pytest.mark.parametrize("content", [{"branch": "main"}, "main", 5, 0, False, ["main"]])
def test_content_on_a_refusal(params: dict[str, Any], action: str, content: object) -> None:
    receipt = given(params, {"action": action, "content": content})
    assert receipt.action is not None
    assert receipt.action.value == action
    assert findings(receipt) == {"content_on_refusal"}


@pytest.mark.parametrize("result", [DECLINED, CANCELLED, accepted()])
@pytest.mark.parametrize("content", [None, {}, [], ""])
def test_null_and_empty_content_are_none(result: dict[str, Any], content: object) -> None:
    assert findings(given(url_params(), {**result, "content": content})) == set()


@pytest.mark.parametrize("content", [{"branch": "main"}, "main", 1, 0, False])
def test_content_on_the_answer_to_an_address(content: object) -> None:
    receipt = given(url_params(), {"action": "accept", "content": content})
    assert receipt.outcome is not None
    assert receipt.outcome.value == "consented"
    assert findings(receipt) == {"content_on_url_answer"}


def test_what_was_submitted_is_digested_wherever_it_stands() -> None:
    for params, result in (
        (form_params(), accepted({"branch": "main"})),
        (form_params(), {**DECLINED, "content": {"branch": "main"}}),
        (url_params(), accepted({"branch": "main"})),
    ):
        assert given(params, result).payload_digest is not None
    assert given(form_params(), DECLINED).payload_digest is None


# An unknown mode


def test_an_accept_in_an_unknown_mode_is_judged_as_a_form() -> None:
    params = {**form_params(required=["branch"]), "mode": "voice"}
    assert failures(given(params, accepted({}))) == [("branch", "required")]


# Schemas that would run away


def test_a_pattern_runs_in_linear_time() -> None:
    evil = field({"type": "string", "pattern": "^(a+)+$"})
    assert failures(given(evil, accepted({"a": "a" * 50_000 + "!"}))) == [("a", "pattern")]


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "(", "(x{1000}){1000}"])
def test_a_pattern_that_cannot_be_run_is_not_checked(pattern: str) -> None:
    receipt = given(field({"type": "string", "pattern": pattern}), accepted({"a": "zzz"}))
    assert failures(receipt) == []


def hostile(schema: dict[str, Any], content: Any) -> Receipt:
    receipt = given(
        {"message": "?", "requestedSchema": {**OBJECT, "properties": BRANCH, **schema}},
        accepted(content),
    )
    assert receipt.outcome is not None
    assert receipt.outcome.value in ("accepted", "invalid")
    return receipt


def test_patterns_of_property_names_run_in_linear_time() -> None:
    evil = {"patternProperties": {"^(a+)+$": {"type": "integer"}}}
    name = "a" * 5_000 + "!"
    assert failures(hostile(evil, {name: "x"})) == []
    assert failures(hostile({"patternProperties": {"^b": {"type": "integer"}}}, {"bb": "x"})) == [
        (None, "type")
    ]
    only_b = {"patternProperties": {"^b": {}}, "additionalProperties": False}
    assert failures(hostile({**only_b, "properties": {}}, {"bb": "x"})) == []
    assert failures(hostile({**only_b, "properties": {}}, {"cc": "x"})) == [
        (None, "additionalProperties")
    ]
    hostile({**evil, "additionalProperties": False}, {name: "x"})
    hostile({**evil, "unevaluatedProperties": False}, {name: "x"})


def doubling(depth: int, reference: str) -> dict[str, Any]:
    """Definitions each of which refers twice to the next: 2^depth steps."""
    definitions: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(1, depth):
        twice = {reference: f"#/$defs/d{level - 1}"}
        definitions[f"d{level}"] = {"allOf": [twice, twice]}
    return {
        "$defs": definitions,
        "properties": {"branch": {reference: f"#/$defs/d{depth - 1}"}},
    }


@pytest.mark.parametrize("reference", ["$ref", "$dynamicRef"])
def test_references_that_double(reference: str) -> None:
    receipt = hostile(doubling(60, reference), {"branch": "x"})
    assert findings(receipt) >= {"accept_schema_mismatch"}


def test_unevaluated_properties_that_double() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(9):
        schema = {"anyOf": [schema, schema], "unevaluatedProperties": False}
    hostile(schema, {"x": "y"})


def test_many_items_that_must_differ() -> None:
    params = {"properties": {"branch": {"uniqueItems": True}}}
    items = [item for n in range(20_000) for item in (n, str(n), [n])]
    assert failures(hostile(params, {"branch": items})) == []
    assert failures(hostile(params, {"branch": [*items, "7"]})) == [("branch", "uniqueItems")]


def test_items_that_differ_only_as_json_does() -> None:
    params = {"properties": {"branch": {"uniqueItems": True}}}
    assert failures(hostile(params, {"branch": [1, True, "1", [1], [True]]})) == []
    assert failures(hostile(params, {"branch": [1, 1.0]})) == [("branch", "uniqueItems")]
    assert failures(hostile(params, {"branch": [{"a": 1, "b": 2}, {"b": 2, "a": 1}]})) == [
        ("branch", "uniqueItems")
    ]


def test_many_items_against_many_choices() -> None:
    choices = [f"choice {n}" for n in range(10_000)]
    schema = {"properties": {"branch": {"items": {"enum": choices}}}}
    hostile(schema, {"branch": [f"other {n}" for n in range(10_000)]})


def test_ten_thousand_properties() -> None:
    properties = {f"field{n}": {"type": "string", "maxLength": 5} for n in range(10_000)}
    receipt = hostile({"properties": properties, "required": list(properties)}, {})
    assert receipt.validation is not None
    assert receipt.validation.failed_more == 10_000 - 64


def test_a_thousand_answers() -> None:
    properties = {f"field{n}": {"type": "string", "maxLength": 5} for n in range(1_000)}
    schema = {"properties": properties}
    assert failures(hostile(schema, dict.fromkeys(properties, "value"))) == []
    assert len(failures(hostile(schema, dict.fromkeys(properties, 5)))) == 64
    assert failures(hostile(schema, {f"other{n}": "x" for n in range(1_000)})) == []
