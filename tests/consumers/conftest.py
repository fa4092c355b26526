"""A warehouse of the test's own, and the key its lander digests rejects under."""

from __future__ import annotations

from pathlib import Path

import pytest

from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.keys import Key


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


@pytest.fixture
def lander_key() -> Key:
    return Key(b"k" * 32)
