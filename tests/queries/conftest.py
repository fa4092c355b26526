"""A database of hand-made lives, and the questions asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lives import Lives

from elicitation_receipts.queries.catalogue import Catalogue

Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="session")
def all_lives() -> Iterator[Lives]:
    lives = Lives.in_memory()
    with lives.connection:
        yield lives


@pytest.fixture
def lives(all_lives: Lives) -> Lives:
    """An empty database to live in."""
    all_lives.clear()
    return all_lives


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return Catalogue()


@pytest.fixture
def ask(lives: Lives, catalogue: Catalogue) -> Ask:
    """Ask a question by name, its parameters as keywords; rows as dictionaries."""

    def ask(name: str, **values: Any) -> list[dict[str, Any]]:
        result = catalogue.run(lives.connection, name, values)
        return [dict(zip(result.columns, row, strict=True)) for row in result.rows]

    return ask
