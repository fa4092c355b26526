"""`receipts`, run in this process: what it prints, what it logs, and how it ends."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest

from elicitation_receipts import main


@dataclass(frozen=True, slots=True)
class Ended:
    """``log``: what we and our libraries logged, down to the level DEBUG."""

    code: int
    out: str
    err: str
    log: str


def run_here(home: Path, *arguments: str) -> Ended:
    """Run a command; not for a tap, which ends its process as the server ends."""
    out, err, log = StringIO(), StringIO(), StringIO()
    with (
        patch.object(sys, "argv", ["receipts", "--home", str(home), *arguments]),
        redirect_stdout(out),
        redirect_stderr(err),
        _logged_to(log),
        pytest.raises(SystemExit) as exited,
    ):
        main.run()
    code = exited.value.code or 0
    assert isinstance(code, int)
    return Ended(code, out.getvalue(), err.getvalue(), log.getvalue())


@contextmanager
def _logged_to(stream: StringIO) -> Iterator[None]:
    root = logging.getLogger()
    before, handler = root.level, logging.StreamHandler(stream)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.setLevel(before)
        root.removeHandler(handler)
