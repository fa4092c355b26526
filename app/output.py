"""Output: shows a command's table, on the terminal or in a file."""

from __future__ import annotations

import sys
from pathlib import Path

from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.queries.render import Format, render, save


def show(result: Result, form: Format, output: Path | None) -> None:
    """Print the result, or write it to ``output``."""
    if output is None:
        render(result, form, sys.stdout)
    else:
        save(result, form, output)
