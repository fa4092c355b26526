"""Output: shows what a command has found, on the terminal or in a file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.queries.render import Format, render, save, save_text


def show(result: Result, form: Format, output: Path | None) -> None:
    """Print the result, or write it to ``output``."""
    if output is None:
        render(result, form, sys.stdout)
    else:
        save(result, form, output)


def show_text(write: Callable[[TextIO], None], output: Path | None) -> None:
    """The same for any text."""
    if output is None:
        write(sys.stdout)
    else:
        save_text(write, output)
