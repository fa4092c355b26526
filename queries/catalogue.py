"""The catalogue: reads each question from its SQL file, and asks it of a database.

A question's head comment is its documentation and its interface::

    -- title: How questions ended
    -- answers: What the figures say, which may go on
    --   in indented lines.
    -- rates: completion_rate, other_rate of put
    -- quantiles: of count
    -- pooled: origin by put
    -- withheld: landed
    -- takes: none
    -- parameter: as_of time Take ages at this time.

It ends at the first line that is none of these. ``picked.sql``, which every question starts
from, is no question itself: it restricts and splits, and declares the parameters that all
questions take, but those that say ``takes: none``. Values reach SQL as variables, set with
bound parameters; no text from a user ever becomes SQL.

``rates``, ``quantiles``, ``pooled`` and ``withheld`` say what suppression has to know
(``suppress``): what a share is of, how many a quantile is taken of, of a table with a row for each
of some names, which columns name the row and which counts it, and what is for the house alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from importlib import resources
from typing import Any, Final

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

#: So many names of one dimension stand for themselves, those with the most questions; the rest
#: is one row, OTHER. No identifier looks like it.
MOST_NAMES: Final = 1000
OTHER: Final = "(other)"

_PICKED: Final = "picked"
_KEYS: Final = (
    "title",
    "answers",
    "rates",
    "quantiles",
    "pooled",
    "withheld",
    "takes",
    "parameter",
)
_COLUMNS: Final = {
    "server": "server_name",
    "client": "client_name",
    "flow": "flow",
    "tool": "tool",
    "policy_version": "policy_version",
}
_ONLY_REPLAY: Final = """
    SELECT count(*) > 0 AND bool_and(vantage IS NOT DISTINCT FROM 'replay')
    FROM elicitations
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A canned question. ``parameters`` in the order in which they are declared.

    ``rates``      what each share is a share of
    ``quantiles``  the column that counts what quantiles are taken of
    ``pooled``     the columns that name a row, and the one that counts it
    ``withheld``   columns that never leave the house
    ``picks``      it asks of ``picked``, elicitation by elicitation
    """

    name: str
    title: str
    answers: str
    parameters: tuple[Parameter, ...]
    sql: str
    rates: Mapping[str, str] = field(default_factory=dict)
    quantiles: str | None = None
    pooled: tuple[tuple[str, ...], str] | None = None
    withheld: tuple[str, ...] = ()
    picks: bool = True


@dataclass(frozen=True, slots=True)
class Result:
    """What a question gave. ``types`` are DuckDB's names; ``notes`` are sentences to show.

    Where a figure is suppressed, text stands in a column of numbers (``suppress``).

    ``head`` says how the figures came about, a name and a value each: it stands in the head of
    every output.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    head: Mapping[str, str] = field(default_factory=dict)


class Catalogue:
    """The canned questions by name."""

    def __init__(self) -> None:
        files = {
            entry.name.removesuffix(".sql"): entry.read_text(encoding="utf-8")
            for entry in resources.files(__package__).iterdir()
            if entry.name.endswith(".sql")
        }
        self._picked = files.pop(_PICKED)
        shared = tuple(
            Parameter.declared(text) for key, text in _entries(self._picked) if key == "parameter"
        )
        self.questions: Final = {name: parse(name, files[name], shared) for name in sorted(files)}

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
        by = self.pick(connection, name, values)
        result = self.ask(connection, name, by)
        head = {"profile": "operator"} | circumstances(connection, values or {})
        return replace(result, notes=tuple(notes(connection, values or {})), head=head)

    def pick(
        self,
        connection: duckdb.DuckDBPyConnection,
        name: str,
        values: Mapping[str, Value] | None = None,
    ) -> list[str]:
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
            set_variable(connection, parameter.name, given.get(parameter.name))
        set_variable(connection, "kept", _kept(connection, by, given))
        connection.execute(self._picked)
        return by

    def ask(self, connection: duckdb.DuckDBPyConnection, name: str, by: Sequence[str]) -> Result:
        """The question's answer from what was picked."""
        answer = connection.execute(self.questions[name].sql)
        columns = [(column[0], str(column[1])) for column in answer.description]
        return Result(*_arrange(columns, answer.fetchall(), by))


def circumstances(
    connection: duckdb.DuckDBPyConnection, values: Mapping[str, Value]
) -> dict[str, str]:
    """For the head: the period asked for, and when the newest receipt landed.

    Receipts may come late, and the figures of a day that is over are then corrected: they are
    those of this moment.
    """
    [(landed,)] = connection.execute("SELECT max(landed_at) FROM receipts").fetchall()
    since, until = values.get("since"), values.get("until")
    return {
        "period": f"{_moment(since) or 'the first receipt'} to {_moment(until) or 'the newest'}",
        "as_of": _moment(landed) or "nothing has landed",
    }


def ask_rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    """The answer to a SQL file of ours, each row by its columns' names."""
    answer = connection.execute(sql)
    columns = [column[0] for column in answer.description]
    return [dict(zip(columns, row, strict=True)) for row in answer.fetchall()]


def set_variable(connection: duckdb.DuckDBPyConnection, name: str, value: object) -> None:
    """Set a variable of the SQL files. ``name`` is one of theirs, never a user's text."""
    connection.execute(f'SET VARIABLE "{name}" = $value', {"value": value})


def parse(name: str, sql: str, shared: tuple[Parameter, ...] = ()) -> Question:
    """Read a question's file; ValueError names the entry of the head that is not as it must be.

    ``shared``: the parameters that questions of ``picked`` take beside their own.
    """
    entries = list(_entries(sql))
    keys = [key for key, _ in entries]
    ordered = sorted(keys, key=lambda key: _KEYS.index(key) if key in _KEYS else len(_KEYS))
    if keys[:2] != ["title", "answers"] or keys != ordered or set(keys) - set(_KEYS):
        raise ValueError(f"{name}.sql: the head has {', '.join(_KEYS)}, in this order, not {keys}")
    texts = dict(entries)
    own = tuple(Parameter.declared(text) for key, text in entries if key == "parameter")
    rates, _, whole = texts.get("rates", "").partition(" of ")
    names, _, count = texts.get("pooled", "").partition(" by ")
    picks = texts.get("takes") != "none"
    return Question(
        name,
        texts["title"],
        texts["answers"],
        (*shared, *own) if picks else own,
        sql,
        dict.fromkeys(_listed(rates), whole),
        texts["quantiles"].removeprefix("of ") if "quantiles" in texts else None,
        (_listed(names), count) if names else None,
        _listed(texts.get("withheld", "")),
        picks,
    )


def _listed(names: str) -> tuple[str, ...]:
    return tuple(name for name in names.split(", ") if name)


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


def _kept(
    connection: duckdb.DuckDBPyConnection, by: Sequence[str], given: Mapping[str, Value]
) -> Value:
    """The names that stand for themselves, as `tool=deploy`; None where all of them do.

    Whoever asks for a name (``given``) is told of it, however few its questions are.
    """
    kept: list[str] = []
    bounded = False
    for dimension in by:
        if (column := _COLUMNS.get(dimension)) is None:
            continue
        rows = connection.execute(
            f"SELECT {column} AS name FROM elicitations WHERE name IS NOT NULL "  # noqa: S608
            f"GROUP BY name ORDER BY count(*) DESC, name LIMIT {MOST_NAMES + 1}"
        ).fetchall()
        bounded = bounded or len(rows) > MOST_NAMES
        asked_for = given.get(dimension)
        names = [name for (name,) in rows[:MOST_NAMES]]
        names += asked_for if isinstance(asked_for, list) else []
        kept += [f"{dimension}={name}" for name in names]
    return kept if bounded else None


def _moment(value: object) -> str | None:
    if not isinstance(value, datetime):
        return None
    return f"{utc(value).isoformat(timespec='seconds')}Z"


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
