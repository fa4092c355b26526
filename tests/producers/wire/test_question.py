"""What is wrong with a question itself: a finding on its ``requested`` receipt."""

from __future__ import annotations

from typing import Any

import pytest
from conversation import (
    BRANCH,
    FIRST,
    MODERN,
    SECOND,
    Conversation,
    call,
    findings,
    form_params,
    interim,
    question,
    url_params,
)
from policies import policy_with

from elicitation_receipts.producers.policy import BUILT_IN, Policy
from elicitation_receipts.producers.wire.question import read_question
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Mode, Presentation


def put(params: object, revision: str = SECOND, policy: Policy = BUILT_IN) -> Receipt:
    """The receipt of a question with ``params``, put by the carrier of its revision."""
    talk = Conversation(revision, policy=policy)
    talk.client(call(1))
    if revision == MODERN:
        talk.server(interim(1, {"k": params}))
    else:
        talk.server(question(7, params))
    return talk.receipts[0]


def found(params: object, revision: str = SECOND, policy: Policy = BUILT_IN) -> set[str]:
    return set(findings(put(params, revision, policy)))


def field(schema: Any, name: str = "branch") -> dict[str, Any]:
    """A form with one field."""
    if isinstance(schema, dict):
        schema = {"title": "A field", **schema}
    return form_params(properties={name: schema})


# Mode


@pytest.mark.parametrize("revision", [FIRST, SECOND, MODERN])
def test_absent_mode_is_form(revision: str) -> None:
    params = form_params()
    del params["mode"]
    receipt = put(params, revision)
    assert receipt.mode is Mode.FORM
    assert findings(receipt) == set()


@pytest.mark.parametrize("revision", [FIRST, SECOND, MODERN])
def test_absent_mode_is_form_even_if_an_address_stands_there(revision: str) -> None:
    params = {**form_params(), "url": "https://pay.example/", "elicitationId": "pay"}
    del params["mode"]
    receipt = put(params, revision)
    assert receipt.mode is Mode.FORM
    assert receipt.url_origin is None
    assert findings(receipt) == {"mixed_mode_members"}


def test_an_address_with_a_schema() -> None:
    params = {**url_params(), "requestedSchema": form_params()["requestedSchema"]}
    receipt = put(params)
    assert receipt.mode is Mode.URL
    assert findings(receipt) == {"mixed_mode_members"}


@pytest.mark.parametrize("mode", ["voice", "FORM", "", None, 5, ["form"], {}])
def test_a_mode_the_protocol_does_not_know(mode: object) -> None:
    receipt = put({**form_params(), "mode": mode})
    assert receipt.mode is Mode.UNKNOWN
    assert receipt.presentation is Presentation.UNKNOWN
    assert findings(receipt) == {"unknown_mode"}


# Members


@pytest.mark.parametrize("message", [..., None, 5, ["?"]])
def test_missing_message(message: object) -> None:
    params = {**form_params(), "message": message}
    if message is ...:
        del params["message"]
    assert found(params) == {"missing_message"}


def test_missing_message_of_an_address() -> None:
    params = url_params()
    del params["message"]
    assert found(params) == {"missing_message"}


@pytest.mark.parametrize("schema", [..., None, "object", []])
def test_missing_requested_schema(schema: object) -> None:
    params = {**form_params(), "requestedSchema": schema}
    if schema is ...:
        del params["requestedSchema"]
    assert found(params) == {"missing_requested_schema"}


def test_the_second_revision_asks_for_an_elicitation_id() -> None:
    assert found(url_params(None), SECOND) == {"missing_elicitation_id"}
    assert found(url_params(None), MODERN) == set()


@pytest.mark.parametrize("params", [None, 5, "form", [], [{"message": "?"}]])
def test_params_that_are_no_object(params: object) -> None:
    receipt = put(params)
    assert findings(receipt) == {"malformed_message"}
    assert receipt.mode is Mode.FORM


def test_a_question_nested_too_deeply_is_recorded_as_malformed() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = {"deeper": deep}
    assert found(form_params(properties={"branch": deep})) == {"malformed_message"}


@pytest.mark.parametrize("url", [..., None, 5, "https://[::1", ""])
def test_an_address_that_is_none(url: object) -> None:
    params = {**url_params(), "url": url}
    if url is ...:
        del params["url"]
    assert found(params) <= {"malformed_message", "url_scheme"}
    assert found(params) != set()


@pytest.mark.parametrize(
    "raw",
    [
        '{"message":"a","message":"b","requestedSchema":{"type":"object","properties":{"b":{"type":"string","title":"B"}}}}',
        '{"message":"a","requestedSchema":{"type":"object","properties":{"b":{"type":"string","title":"B","title":"C"}}}}',
    ],
)
def test_a_member_that_stands_twice(raw: str) -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(f'{{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{raw}}}')
    assert talk.story == ["requested open [duplicate_member]"]


def test_a_member_of_the_request_that_stands_twice() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(
        '{"id":7,"id":7,"method":"elicitation/create","params":{"message":"a","requestedSchema":'
        '{"type":"object","properties":{"b":{"type":"string","title":"B"}}}}}'
    )
    assert talk.story == ["requested open [duplicate_member]"]


# Schema

TITLED = {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}
MULTI = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "default": ["a"]}
TITLED_MULTI = {
    "type": "array",
    "minItems": 1,
    "items": {"anyOf": [{"const": "a", "title": "A"}]},
}

EVERYWHERE = [
    {"type": "string"},
    {"type": "string", "minLength": 1, "maxLength": 10, "description": "d"},
    {"type": "string", "format": "email"},
    {"type": "string", "format": "uri"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "date-time"},
    {"type": "string", "pattern": "^a"},
    {"type": "number", "minimum": 0.5, "maximum": 1.5},
    {"type": "integer", "minimum": 1},
    {"type": "boolean", "default": True},
    {"type": "string", "enum": ["a", "b"]},
    {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
]
SINCE_THE_SECOND = [
    {"type": "string", "default": "x"},
    {"type": "number", "default": 0.5},
    TITLED,
    MULTI,
    TITLED_MULTI,
]
NOWHERE = [
    {"type": "object", "properties": {}},
    {"type": "array", "items": {"type": "string"}},
    {"type": "array", "items": {"enum": ["a"]}},
    {"type": "string", "format": "int32"},
    {"type": "string", "format": "ipv4"},
    {"type": "string", "minLength": "1"},
    {"type": "boolean", "default": "yes"},
    {"type": ["string", "null"]},
    {"type": "null"},
    {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    {"$ref": "#/$defs/a"},
    {"const": "a"},
    {},
    {"type": "string", "title": 5},
    "string",
    True,
    None,
]


@pytest.mark.parametrize("revision", [FIRST, SECOND, MODERN])
@pytest.mark.parametrize("schema", EVERYWHERE)
def test_a_field_of_the_protocols_subset(schema: dict[str, Any], revision: str) -> None:
    assert found(field(schema), revision) == set()


@pytest.mark.parametrize("revision", [SECOND, MODERN])
@pytest.mark.parametrize("schema", SINCE_THE_SECOND)
def test_a_field_of_the_second_revisions_subset(schema: dict[str, Any], revision: str) -> None:
    assert found(field(schema), revision) == set()


@pytest.mark.parametrize("schema", [MULTI, TITLED_MULTI])
def test_the_first_revision_has_no_multiple_choice(schema: dict[str, Any]) -> None:
    assert found(field(schema), FIRST) == {"schema_off_subset"}


@pytest.mark.parametrize("revision", [FIRST, SECOND, MODERN])
@pytest.mark.parametrize("schema", NOWHERE)
def test_a_field_outside_the_subset(schema: object, revision: str) -> None:
    assert "schema_off_subset" in found(field(schema), revision)


@pytest.mark.parametrize("revision", [FIRST, SECOND, MODERN])
def test_what_is_tolerated_at_the_root(revision: str) -> None:
    params = form_params()
    params["requestedSchema"] |= {
        "title": "Deploy",
        "description": "Where to",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    }
    assert found(params, revision) == set()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "properties": BRANCH},
        {"properties": BRANCH},
        {"type": "object"},
        {"type": "object", "properties": []},
        {"type": "object", "properties": BRANCH, "required": "branch"},
        {"type": "object", "properties": BRANCH, "required": [1]},
    ],
)
def test_a_root_outside_the_subset(schema: dict[str, Any]) -> None:
    assert "schema_off_subset" in found({**form_params(), "requestedSchema": schema})


@pytest.mark.parametrize("revision", [FIRST, SECOND, MODERN])
def test_empty_properties(revision: str) -> None:
    assert found(form_params(properties={}), revision) == {"empty_schema"}


# A person's trouble


@pytest.mark.parametrize(("count", "many"), [(10, False), (11, True)])
def test_too_many_fields(count: int, many: bool) -> None:
    properties = {f"field{n}": {"type": "string", "title": "F"} for n in range(count)}
    assert ("too_many_fields" in found(form_params(properties=properties))) is many


@pytest.mark.parametrize(
    ("schema", "over"),
    [
        ({"type": "string", "maxLength": 1_000}, False),
        ({"type": "string", "maxLength": 1_001}, True),
        ({"type": "string", "enum": [str(n) for n in range(100)]}, False),
        ({"type": "string", "enum": [str(n) for n in range(101)]}, True),
        (
            {"type": "string", "oneOf": [{"const": str(n), "title": "T"} for n in range(101)]},
            True,
        ),
        (
            {"type": "array", "items": {"type": "string", "enum": [str(n) for n in range(101)]}},
            True,
        ),
        (
            {
                "type": "array",
                "items": {"anyOf": [{"const": str(n), "title": "T"} for n in range(101)]},
            },
            True,
        ),
    ],
)
def test_value_limit(schema: dict[str, Any], over: bool) -> None:
    assert found(field(schema)) == ({"value_limit"} if over else set())


def test_the_numbers_are_the_policys() -> None:
    strict = policy_with("form", max_fields=0, max_length=5, max_options=1)
    assert found(field({"type": "string"}), policy=strict) == {"too_many_fields"}
    long = field({"type": "string", "maxLength": 6})
    assert found(long, policy=strict) == {"too_many_fields", "value_limit"}
    choice = field({"type": "string", "enum": ["a", "b"]})
    assert found(choice, policy=strict) == {"too_many_fields", "value_limit"}


def test_a_property_with_neither_title_nor_description() -> None:
    assert found(form_params(properties={"a": {"type": "string"}})) == {"missing_description"}
    described = {"a": {"type": "string", "description": "An a"}}
    assert found(form_params(properties=described)) == set()
    one_of_two = {**BRANCH, "a": {"type": "string"}}
    assert found(form_params(properties=one_of_two)) == {"missing_description"}


@pytest.mark.parametrize(
    "params",
    [
        form_params("Go to https://pay.example/start"),
        form_params("Go to HTTP://pay.example"),
        form_params("See www.pay.example"),
        field({"type": "string", "title": "See https://pay.example"}),
        field({"type": "string", "description": "(https://pay.example)"}),
        field({"type": "string", "default": "https://pay.example"}),
        field({"type": "string", "enum": ["https://pay.example", "none"]}),
    ],
)
def test_an_address_in_a_text_of_a_form(params: dict[str, Any]) -> None:
    assert found(params) == {"url_in_text"}


def test_an_ordinary_text_holds_no_address() -> None:
    assert found(form_params("Which of http/2, https or www do you mean?")) == set()


# Addresses


@pytest.mark.parametrize(
    ("url", "expected", "origin"),
    [
        ("https://pay.example/start?a=1#b", set(), "https://pay.example"),
        ("https://pay.example:8443/", set(), "https://pay.example:8443"),
        ("HTTPS://PAY.EXAMPLE/", set(), "https://pay.example"),
        ("http://pay.example/", {"url_not_https"}, "http://pay.example"),
        ("javascript:alert(1)", {"url_scheme"}, "javascript:"),
        ("ftp://pay.example/", {"url_scheme"}, "ftp:"),
        ("myapp://pay", {"url_scheme"}, "other:"),
        (
            "https://user:pass@pay.example/",
            {"url_userinfo", "credential_in_url"},
            "https://pay.example",
        ),
        ("https://user@pay.example/", {"url_userinfo"}, "https://pay.example"),
        ("https://xn--e1afmkfd.example/", {"url_punycode"}, "https://xn--e1afmkfd.example"),
        ("https://пример.example/", {"url_punycode"}, "https://xn--e1afmkfd.example"),
        ("https://192.0.2.1/", {"url_ip_literal"}, "https://192.0.2.1"),
        ("https://[2001:db8::1]/", {"url_ip_literal"}, "https://[2001:db8::1]"),
        (
            "http://a:b@192.0.2.1/",
            {"url_not_https", "url_userinfo", "url_ip_literal", "credential_in_url"},
            "http://192.0.2.1",
        ),
    ],
)
def test_an_address(url: str, expected: set[str], origin: str) -> None:
    receipt = put(url_params(url=url))
    assert findings(receipt) == expected
    assert receipt.url_origin == origin


def test_an_address_in_the_message_of_an_address_is_no_finding() -> None:
    assert found(url_params(message="Go to https://pay.example/start")) == set()


# What a question is known by


def digest(params: dict[str, Any], revision: str = SECOND) -> object:
    return put(params, revision).question_digest


def test_equal_questions_have_equal_digests_from_every_carrier() -> None:
    without_mode = form_params()
    del without_mode["mode"]
    assert digest(form_params()) == digest(without_mode)
    assert digest(form_params()) == digest(form_params(), MODERN)
    assert digest(url_params("a")) == digest(url_params(None), MODERN)


def test_root_extras_do_not_make_another_question() -> None:
    extra = form_params()
    extra["requestedSchema"]["title"] = "Deploy"
    assert digest(form_params()) == digest(extra)


@pytest.mark.parametrize(
    "other",
    [
        form_params("Another?"),
        form_params(required=["branch"]),
        form_params(properties={"tag": BRANCH["branch"]}),
        {**form_params(), "mode": "voice"},
        url_params(),
    ],
)
def test_other_questions_have_other_digests(other: dict[str, Any]) -> None:
    assert digest(form_params()) != digest(other)


def test_an_address_is_known_by_message_and_origin() -> None:
    assert digest(url_params(url="https://a.example/1")) == digest(
        url_params(url="https://a.example/2")
    )
    assert digest(url_params(url="https://a.example/")) != digest(
        url_params(url="https://b.example/")
    )


def test_a_question_without_a_canonical_form_is_recorded_with_nothing_derived() -> None:
    receipt = put(form_params("\ud800"))
    assert receipt.redaction_status.value == "failed"
    assert "redaction_failed" in findings(receipt)
    assert receipt.question_digest is None
    assert receipt.tool is None


def test_a_question_holds_what_an_answer_is_judged_by() -> None:
    asked = read_question(form_params(required=["branch", 5]), SECOND)  # type: ignore[list-item]
    assert asked.properties == ["branch"]
    assert asked.required == ["branch"]
    assert not asked.is_defective
