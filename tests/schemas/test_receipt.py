"""The receipt type is the Avro record, and neither has room for free text."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest
from avro_schema import every_part, named_types, newest_schema
from make_receipt import make_receipt

from elicitation_receipts.schemas import receipt
from elicitation_receipts.schemas.identifiers import CONSTRAINTS

CLASSES = {
    name: value
    for name, value in vars(receipt).items()
    if is_dataclass(value) and isinstance(value, type)
}
RECORDS = {name: found for name, found in named_types().items() if found["type"] == "record"}
ALLOWED_TYPES = {"null", "int", "long", "string", "array", "record", "enum", "fixed"}


def test_every_record_of_the_schema_is_a_class_and_back() -> None:
    assert set(RECORDS) == set(CLASSES)


@pytest.mark.parametrize("name", CLASSES)
def test_fields_are_the_same_in_the_same_order(name: str) -> None:
    assert [field["name"] for field in RECORDS[name]["fields"]] == [
        field.name for field in fields(CLASSES[name])
    ]


@pytest.mark.parametrize("name", CLASSES)
def test_what_may_be_absent_is_the_same(name: str) -> None:
    for avro, field in zip(RECORDS[name]["fields"], fields(CLASSES[name]), strict=True):
        assert isinstance(avro["type"], list) == str(field.type).endswith(" | None"), field.name


def test_the_schema_uses_only_types_that_hold_no_free_text() -> None:
    for part in every_part(newest_schema()):
        kind = part.get("type")
        for used in kind if isinstance(kind, list) else [kind]:
            if isinstance(used, str):
                assert used in ALLOWED_TYPES or used in named_types(), used


def test_every_string_has_a_constraint() -> None:
    used = set()
    for part in every_part(newest_schema()):
        kind = part.get("type")
        if kind == "string":
            used.add(part.get("constraint"))
        assert part.get("items") != "string"
        assert not (isinstance(kind, list) and "string" in kind)
    assert used == set(CONSTRAINTS)


def test_an_absent_field_can_be_left_out_by_a_newer_writer() -> None:
    for record in RECORDS.values():
        for field in record["fields"]:
            if isinstance(field["type"], list):
                assert field["type"][0] == "null"
                assert field["default"] is None


def test_everything_is_explained() -> None:
    for record in RECORDS.values():
        assert record["doc"]
        for field in record["fields"]:
            assert re.search(r"[.!]$", field["doc"]), field["name"]


def test_a_receipt_does_not_change() -> None:
    made = make_receipt()
    with pytest.raises(FrozenInstanceError):
        made.round = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        make_receipt(answer="x")
