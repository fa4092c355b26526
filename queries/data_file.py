"""Data files: a user's rules in the place of the built-in ones, checked against their schema."""

from __future__ import annotations

import json
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from elicitation_receipts.schemas.errors import UsageError


def read_data_file(path: Path, schema: Traversable, what: str) -> dict[str, Any]:
    """The JSON object in a file of the user's.

    ``what``: its kind, which begins the UsageError's reason: ``…_unreadable``, ``…_invalid``.
    """
    try:
        given = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{what}_unreadable", f"cannot read {path} ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{what}_invalid", f"{path} is no JSON: {error}") from None
    validator = Draft202012Validator(
        json.loads(schema.read_text("utf-8")), format_checker=Draft202012Validator.FORMAT_CHECKER
    )
    wrong = best_match(validator.iter_errors(given))
    if wrong is not None:
        raise UsageError(f"{what}_invalid", f"{path}, at {wrong.json_path}: {wrong.message}")
    return dict(given)
