"""Reads the corpus of questions that screening is measured by, see ``questions/``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_FOLDER: Final = Path(__file__).parent / "questions"
_FIELD: Final = re.compile(r'(\S+)(?: "([^"]*)")?(?: ([^{]*?))?(?: (\{.*\}))?')


@dataclass(frozen=True, slots=True)
class Example:
    """``asks``: the class of data the question asks for, or ``none``."""

    asks: str
    language: str
    params: dict[str, Any]
    place: str


def read_corpus(name: str) -> list[Example]:
    """The questions of ``secret``, ``ordinary`` or ``held_out``."""
    return list(_examples(_FOLDER / f"{name}.txt"))


def _examples(file: Path) -> Iterator[Example]:
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        head, message, fields = line.split(" | ", 2)
        asks, language = head.split()
        properties = dict(_field(part) for part in fields.split(" ;; "))
        schema = {"type": "object", "properties": properties}
        params = {"mode": "form", "message": message, "requestedSchema": schema}
        yield Example(asks, language, params, f"{file.name}:{number}")


def _field(text: str) -> tuple[str, dict[str, Any]]:
    match = _FIELD.fullmatch(text)
    assert match is not None, text
    name, title, description, more = match.groups()
    schema: dict[str, Any] = {"type": "string"}
    if title is not None:
        schema["title"] = title
    if description:
        schema["description"] = description
    return name, schema | json.loads(more or "{}")
