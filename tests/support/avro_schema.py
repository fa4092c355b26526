"""The newest schema file as JSON, and what it names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from elicitation_receipts.schemas.codec import schema_text


def newest_schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(schema_text())
    return schema


def every_part(schema: Any) -> Iterator[dict[str, Any]]:
    """Every JSON object of a schema: types and fields, at any depth."""
    if isinstance(schema, dict):
        yield schema
        for part in schema.values():
            yield from every_part(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from every_part(part)


def named_types() -> dict[str, dict[str, Any]]:
    """The records, enums and fixed of the newest schema, by name."""
    named = ("record", "enum", "fixed")
    return {part["name"]: part for part in every_part(newest_schema()) if part.get("type") in named}
