"""Fixtures of the live tests: a tap command, and what it left in its spool."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool


@pytest.fixture(scope="session")
def tap() -> Callable[..., list[str]]:
    """The command that stands a tap with a home in front of a server's command."""

    def command(home: Path, *server: str) -> list[str]:
        module = "elicitation_receipts.main"
        return [sys.executable, "-m", module, "--home", str(home), "tap", "--", *server]

    return command


@pytest.fixture(scope="session")
def read_spool() -> Callable[[Path], list[Receipt]]:
    """The receipts about elicitations in a home's spool, in the order they were written."""

    def read(home: Path) -> list[Receipt]:
        with Spool.open(home, create=False) as spool:
            receipts = [decode(stored.message) for stored in spool.read(0, 10_000)]
        return [receipt for receipt in receipts if receipt.elicitation_id is not None]

    return read
