"""A receipt as a row: the columns the schema asks for, and the same bytes out of them again."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
import sample
from hypothesis import HealthCheck, given, settings
from streams import any_receipt

from elicitation_receipts.consumers.rows import columns, receipt_from_row, row_from_receipt
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.codec import encode, schema_text
from elicitation_receipts.schemas.receipt import Receipt

LANDING = {
    "leaf_hash": ("BLOB", False),
    "fingerprint": ("BLOB", False),
    "source": ("VARCHAR", False),
    "landed_at": ("TIMESTAMP", False),
}


def expected_columns(schema: Any) -> dict[str, tuple[str, bool]]:
    """Name → type and whether it may be NULL, by the mapping rules, straight from the schema."""
    named: dict[str, Any] = {}

    def walk(type_: Any, name: str, optional: bool) -> dict[str, tuple[str, bool]]:
        if isinstance(type_, list):
            return walk(type_[1], name, True)
        type_ = named.get(type_, type_) if isinstance(type_, str) else type_
        if isinstance(type_, dict) and type_["type"] == "record":
            named[type_["name"]] = type_
            found = {}
            for field in type_["fields"]:
                inner = f"{name}_{field['name']}" if name else field["name"]
                found |= walk(field["type"], inner, optional)
            return found
        return {name: (sql(type_), optional)}

    def sql(type_: Any) -> str:
        type_ = named.get(type_, type_) if isinstance(type_, str) else type_
        match type_:
            case [_, inner]:
                return sql(inner)
            case "int" | "long":
                return {"int": "INTEGER", "long": "BIGINT"}[type_]
            case {"logicalType": "timestamp-micros"}:
                return "TIMESTAMP"
            case {"type": "array", "items": items}:
                return f"{sql(items)}[]"
        if type_["type"] in ("fixed", "enum", "record"):
            named[type_["name"]] = type_
        match type_["type"]:
            case "string" | "enum":
                return "VARCHAR"
            case "fixed":
                return "UUID" if type_["name"] == "Uuid" else "BLOB"
            case "record":
                members = [f'"{field["name"]}" {sql(field["type"])}' for field in type_["fields"]]
                return f"STRUCT({', '.join(members)})"
        raise AssertionError(type_)

    return walk(schema, "", False)


def test_the_table_has_the_columns_of_the_schema(warehouse: Warehouse) -> None:
    expected = expected_columns(json.loads(schema_text()))
    assert columns() == tuple(expected)
    with warehouse.open() as database:
        described = database.execute(
            "SELECT column_name, data_type, is_nullable FROM duckdb_columns()"
            " WHERE table_name = 'receipts' ORDER BY column_index"
        ).fetchall()
        # Only the database knows how it spells a type.
        types = {
            sql: database.execute(f"SELECT typeof(CAST(NULL AS {sql}))").fetchone()[0]  # type: ignore[index]
            for sql, _ in expected.values()
        }
    expected = {name: (types[sql], optional) for name, (sql, optional) in expected.items()}
    assert {name: (type_, optional) for name, type_, optional in described} == expected | LANDING
    assert [name for name, _, _ in described] == [*expected, *LANDING]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(receipt=any_receipt())
def test_a_row_makes_the_same_receipt(receipt: Receipt) -> None:
    row = row_from_receipt(receipt)
    assert len(row) == len(columns())
    assert receipt_from_row(row) == receipt
    assert encode(receipt_from_row(row)) == encode(receipt)


def changed_row(**changes: Any) -> list[Any]:
    row = row_from_receipt(sample.receipt(uuid4()))
    return [changes.get(name, value) for name, value in zip(columns(), row, strict=True)]


@pytest.mark.parametrize(
    "row",
    [
        [None] * len(columns()),
        changed_row()[1:],
        [*changed_row(), None],
        changed_row(event="invented"),
        changed_row(occurred_at="yesterday"),
        changed_row(correlation_refs=[{"kind": "task_id"}]),
    ],
)
def test_what_landing_never_writes_is_refused(row: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"columns|another type|empty|invented"):
        receipt_from_row(row)
