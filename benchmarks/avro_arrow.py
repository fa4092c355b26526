"""An Avro schema as Arrow has it, records as structs: what both peers make their tables of."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_TYPES = {"int": pa.int32(), "long": pa.int64(), "string": pa.string()}


def arrow_schema(schema: Any) -> pa.Schema:
    """The schema of rows that are a whole record each."""
    return pa.schema(list(_type(schema, {})))


def _type(schema: Any, named: dict[str, pa.DataType]) -> pa.DataType:
    match schema:
        case ["null", inner]:
            return _type(inner, named)
        case str() if schema in named:
            return named[schema]
        case str():
            return _TYPES[schema]
        case {"type": "array"}:
            return pa.list_(_type(schema["items"], named))
        case {"type": "record"}:
            parts = [(part["name"], _type(part["type"], named)) for part in schema["fields"]]
            named[schema["name"]] = pa.struct(parts)
        case {"type": "fixed"}:
            named[schema["name"]] = pa.binary(schema["size"])
        case {"type": "enum"}:
            named[schema["name"]] = pa.string()
        case {"logicalType": "timestamp-micros"}:
            return pa.timestamp("us", "UTC")
        case _:
            return _TYPES[schema["type"]]
    return named[schema["name"]]
