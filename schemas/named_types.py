"""The named types of an Avro schema (Avro 1.12 specification, "Names"), met while walking it."""

from __future__ import annotations

from typing import Any


class NamedTypes:
    """Each type that a schema defines with a name, from where it is defined on."""

    def __init__(self) -> None:
        self._types: dict[str, Any] = {}

    def resolve(self, schema: Any) -> Any:
        """The type itself, where ``schema`` (parsed JSON) is the name of one; else ``schema``."""
        if isinstance(schema, str):
            return self._types.get(schema, schema)
        if isinstance(schema, dict) and "name" in schema:
            self._types[schema["name"]] = schema
        return schema
