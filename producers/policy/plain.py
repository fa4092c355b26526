"""Between a policy's classes and plain JSON: one field a key, one way there and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints


def to_plain(value: Any) -> Any:
    """``value`` as JSON has it: dataclasses and mappings as objects, tuples as arrays."""
    match value:
        case StrEnum():
            return value.value
        case date():
            return value.isoformat()
        case tuple():
            return [to_plain(part) for part in value]
        case Mapping():
            return {to_plain(key): to_plain(part) for key, part in value.items()}
    if is_dataclass(value):
        return {
            field.name: to_plain(part)
            for field in fields(value)
            # None by default says no more than the key's absence.
            if (part := getattr(value, field.name)) is not None or field.default is not None
        }
    return value


def from_plain(kind: Any, value: Any) -> Any:
    """The value of type ``kind`` that ``to_plain`` makes ``value`` of. Checks nothing itself.

    Raises KeyError, TypeError and ValueError for what is none.
    """
    if get_origin(kind) is UnionType:
        if value is None:
            return None
        (kind,) = (other for other in get_args(kind) if other is not NoneType)
    if is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        return kind(**{name: from_plain(hints[name], part) for name, part in value.items()})
    arguments = get_args(kind)
    if get_origin(kind) is tuple:
        return tuple(from_plain(arguments[0], part) for part in value)
    if get_origin(kind) is Mapping:
        of_key, of_part = arguments
        return {from_plain(of_key, key): from_plain(of_part, part) for key, part in value.items()}
    return date.fromisoformat(value) if kind is date else kind(value)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
