"""The protocol's subset, checked as code: the verdict is that of JSON Schema."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from elicitation_receipts.producers.wire.requested_schema import is_in_subset

PUBLISHED = json.loads(
    resources.files("elicitation_receipts.producers.wire")
    .joinpath("requested_schema.json")
    .read_text("utf-8")
)["$defs"]
VALIDATORS = {
    name: Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": PUBLISHED})
    for name in ("2025-06-18", "2025-11-25")
}

VALUES: Any = st.one_of(
    st.sampled_from(["string", "object", "array", "number", "integer", "boolean", "null", "email"]),
    st.none(),
    st.booleans(),
    st.integers(-1, 2),
    st.floats(0, 1),
    st.text(max_size=2),
    st.lists(st.text(max_size=1) | st.integers(0, 1), max_size=2),
    st.lists(
        st.fixed_dictionaries({"const": st.just("a"), "title": st.sampled_from(["A", 1])}),
        max_size=2,
    ),
    st.fixed_dictionaries({"type": st.just("string"), "enum": st.sampled_from([["a"], [1], "a"])}),
)
MEMBERS = st.sampled_from(
    [
        "title",
        "description",
        "minLength",
        "maximum",
        "format",
        "enum",
        "enumNames",
        "default",
        "oneOf",
        "items",
        "minItems",
        "$ref",
        "x",
    ]
)
FIELDS = VALUES | st.builds(
    lambda kind, members: {"type": kind, **members},
    st.sampled_from(["string", "number", "integer", "boolean", "array", "null", 1]),
    st.dictionaries(MEMBERS, VALUES, max_size=3),
)
ROOTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["object", "object", "array"])},
    optional={
        "properties": st.dictionaries(st.text(max_size=2), FIELDS, max_size=2) | VALUES,
        "required": VALUES,
        "$schema": VALUES,
        "title": VALUES,
    },
)


@pytest.mark.parametrize("revision", VALIDATORS)
@given(schema=ROOTS | VALUES)
def test_the_same_verdict(revision: str, schema: object) -> None:
    assert is_in_subset(schema, revision) == VALIDATORS[revision].is_valid(schema)
