"""The catalogue: reads each question from its SQL file, and asks it of a database.

A question's head comment is its documentation and its interface::

    -- title: How questions ended
    -- answers: What the figures say, which may go on
    --   in indented lines.
    -- parameter: since time Only questions first put at this time or later.

It ends at the first line that is none of these. ``picked.sql``, which every question starts
from, is no question itself: it restricts and splits. Values reach both as variables, set with
bound parameters; no text from a user ever becomes SQL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from importlib import resources
from typing import Final

import duckdb

from elicitation_receipts.queries.parameter import (
    DIMENSIONS,
    Parameter,
    Value,
    check_dimensions,
    utc,
)
from elicitation_receipts.schemas.errors import UsageError

Cell = int | float | str | date | None

_PICKED: Final = "picked"
_ONLY_REPLAY: Final = """
    SELECT count(*) > 0 AND bool_and(vantage IS NOT DISTINCT FROM 'replay')
    FROM receipts WHERE elicitation_id IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A canned question. ``parameters`` in the order in which the file declares them."""

    name: str
    title: str
    answers: str
    parameters: tuple[Parameter, ...]
    sql: str


@dataclass(frozen=True, slots=True)
class Result:
    """What a question gave. ``types`` are DuckDB's names; ``notes`` are sentences to show."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


class Catalogue:
    """The canned questions by name."""

    def __init__(self) -> None:
        files = {
            entry.name.removesuffix(".sql"): entry.read_text(encoding="utf-8")
            for entry in resources.files(__package__).iterdir()
            if entry.name.endswith(".sql")
        }
        self._picked = files.pop(_PICKED)
        self.questions: Final = {name: parse(name, files[name]) for name in sorted(files)}

    def run(
        self,
        connection: duckdb.DuckDBPyConnection,
        name: str,
        values: Mapping[str, Value] | None = None,
    ) -> Result:
        """Ask the question of a database that holds the view ``elicitations``.

        ``values`` by the parameters' names (see ``parameter``); those left out restrict nothing.
        The connection may be read-only; its variables of these names are set anew.
        """
        question = self.questions[name]
        by = self.pick(connection, name, values)
        answer = connection.execute(question.sql)
        columns = [(column[0], str(column[1])) for column in answer.description]
        arranged = _arrange(columns, answer.fetchall(), by)
        return Result(*arranged, notes=tuple(notes(connection, values or {})))

    def pick(
        self,
        connection: duckdb.DuckDBPyConnection,
        name: str,
        values: Mapping[str, Value] | None = None,
    ) -> Sequence[str]:
        """Make the view ``picked`` as ``values`` restrict it; the dimensions they split it by.

        ``values`` are those of the question ``name``.
        """
        question = self.questions[name]
        given = {parameter: _bound(value) for parameter, value in (values or {}).items()}
        by = check_dimensions(given.get("by"))
        _check_period(given)
        if unknown := given.keys() - {parameter.name for parameter in question.parameters}:
            raise UsageError("unknown_parameter", f"{name} takes no {', '.join(sorted(unknown))}")
        for parameter in question.parameters:
            # The name is the file's own; the value is bound.
            set_variable(connection, parameter.name, given.get(parameter.name))
        connection.execute(self._picked)
        return by


def set_variable(connection: duckdb.DuckDBPyConnection, name: str, value: object) -> None:
    """Set a variable of the SQL files. ``name`` is one of theirs, never a user's text."""
    connection.execute(f'SET VARIABLE "{name}" = $value', {"value": value})


def parse(name: str, sql: str) -> Question:
    """Read a question's file; ValueError names the entry of the head that is not as it must be."""
    entries = list(_entries(sql))
    keys = [key for key, _ in entries]
    if keys[:2] != ["title", "answers"] or set(keys[2:]) - {"parameter"}:
        raise ValueError(f"{name}.sql: the head is title, answers, then parameters, not {keys}")
    parameters = tuple(Parameter.declared(text) for _, text in entries[2:])
    return Question(name, entries[0][1], entries[1][1], parameters, sql)


def _entries(sql: str) -> Iterator[tuple[str, str]]:
    """The ``-- key: text`` entries of the head, each joined with the lines that continue it."""
    entry: list[str] = []
    for line in sql.splitlines():
        if line.startswith("--   ") and entry:
            entry.append(line[5:])
            continue
        if entry:
            yield entry[0], " ".join(entry[1:])
        key, colon, text = line.removeprefix("-- ").partition(": ")
        if not (line.startswith("-- ") and colon):
            return
        entry = [key, text]


def _bound(value: Value) -> Value:
    """As the database compares it: times in UTC without a zone, an empty list as not given."""
    if isinstance(value, datetime):
        return utc(value)
    return value or None


def _check_period(values: Mapping[str, Value]) -> None:
    since, until = values.get("since"), values.get("until")
    if isinstance(since, datetime) and isinstance(until, datetime) and since >= until:
        raise UsageError("bad_time", "--since must be before --until")


def _arrange(
    columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Cell, ...]], by: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[Cell, ...], ...]]:
    """Keep of the dimensions those in ``by``, in its order, and sort by them; NULL comes last."""
    names = [name for name, _ in columns]
    figures = [place for place, name in enumerate(names) if name not in DIMENSIONS]
    dimensions = [names.index(name) for name in by]
    kept = dimensions + figures
    ordered = sorted(rows, key=lambda row: [(row[at] is None, row[at] or "") for at in dimensions])
    return (
        tuple(names[at] for at in kept),
        tuple(columns[at][1] for at in kept),
        tuple(tuple(row[at] for at in kept) for row in ordered),
    )


def notes(connection: duckdb.DuckDBPyConnection, values: Mapping[str, Value]) -> Iterator[str]:
    """What a reader of the figures must know of what was counted."""
    [(only_replay,)] = connection.execute(_ONLY_REPLAY).fetchall()
    if only_replay and not values.get("include_replay"):
        yield "there is nothing but replayed recordings here, so they are what is counted"
