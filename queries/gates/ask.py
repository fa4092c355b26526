"""Asking a database what its combinations have shown."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any, Final

import duckdb

from elicitation_receipts.queries.catalogue import Catalogue, ask_rows, set_variable
from elicitation_receipts.queries.gates.combination import Combination
from elicitation_receipts.queries.gates.judge import Found, Shown
from elicitation_receipts.queries.parameter import Value
from elicitation_receipts.schemas.errors import NotEnoughError

#: The question whose filters the gates take: all take the same.
FILTERS_OF: Final = "completion"
#: So many earlier combinations are looked at, to say what has changed.
_EARLIER: Final = 20
_FILES: Final = resources.files(__package__)


def ask(
    catalogue: Catalogue, connection: duckdb.DuckDBPyConnection, values: Mapping[str, Value]
) -> list[Shown]:
    """What the latest combination has shown, then the earlier ones, the latest first.

    ``values`` as in :meth:`Catalogue.run`. Raises NotEnoughError ``nothing_to_judge``.
    """
    catalogue.pick(connection, FILTERS_OF, {**values, "by": ["flow"]})
    combinations = _rows(connection, "combinations")
    if not combinations:
        raise NotEnoughError(
            "nothing_to_judge",
            "no question of that server, client and flow has landed; check the names, or watch "
            "it for a while",
        )
    return [_shown(connection, row["combination"]) for row in combinations[: _EARLIER + 1]]


def _shown(connection: duckdb.DuckDBPyConnection, combination: Mapping[str, Any]) -> Shown:
    set_variable(connection, "combination", combination)
    [numbers] = _rows(connection, "evidence")
    found = [
        Found(**{**row, "receipts": tuple(row["receipts"])})
        for row in _rows(connection, "findings")
    ]
    return Shown(Combination(**combination), numbers, found)


def _rows(connection: duckdb.DuckDBPyConnection, name: str) -> list[dict[str, Any]]:
    return ask_rows(connection, _FILES.joinpath(f"{name}.sql").read_text("utf-8"))
