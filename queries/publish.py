"""Publication: a set of reports for outside the house, under one k, one period and one filter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import Final

import duckdb

from elicitation_receipts.queries.catalogue import (
    OTHER,
    Catalogue,
    Cell,
    Question,
    Result,
    circumstances,
    notes,
    set_variable,
)
from elicitation_receipts.queries.parameter import DIMENSIONS, Value, utc
from elicitation_receipts.queries.suppress import (
    BEYOND,
    WITHHELD,
    Figure,
    Named,
    pool,
    quantile,
    rate,
)
from elicitation_receipts.schemas.errors import UsageError

#: Cells under this are hidden unless a setting says otherwise: what public health agencies use.
K: Final = 11
GUARANTEE: Final = (
    "no number under k can be worked out from this set of reports, with these filters and whole "
    "days (UTC); what other sets, queries or people say is not covered"
)
#: Any question of ``picked``: they all pick alike.
_ANY: Final = "completion"

_DIMENSIONS: Final = ", ".join(DIMENSIONS)
# A subject has another reference under each key, so those of one key alone are counted.
_SIZES: Final = f"""
    WITH known AS (
        SELECT elicitation_id, any_value(subject_ref_key_id) AS key_id,
            any_value(subject_ref_value) AS subject
        FROM receipts WHERE subject_ref_value IS NOT NULL GROUP BY elicitation_id
    ),
    sized AS (
        SELECT {_DIMENSIONS}, cell, key_id, count(*) AS elicitations,
            count(DISTINCT subject) AS subjects, count(*) - count(subject) AS unknown
        FROM picked LEFT JOIN known USING (elicitation_id)
        GROUP BY ALL
    )
    SELECT {_DIMENSIONS}, cell, sum(elicitations)::BIGINT AS elicitations,
        max(subjects) AS subjects, sum(unknown)::BIGINT AS unknown
    FROM sized GROUP BY ALL ORDER BY ALL
"""  # noqa: S608  (names of ours)
_SAME_CELL: Final = " AND ".join(
    f"small.{name} IS NOT DISTINCT FROM picked.{name}" for name in (*DIMENSIONS, "cell")
)
_LEFT_OUT: Final = -2
_NO_SMALL: Final = f"""
    CREATE OR REPLACE TEMP TABLE small AS
    SELECT {_DIMENSIONS}, cell, 0::BIGINT AS place FROM picked LIMIT 0
"""  # noqa: S608
_FREEZE: Final = f"""
    CREATE OR REPLACE TEMP TABLE frozen AS
    SELECT picked.*, small.place FROM picked LEFT JOIN small ON {_SAME_CELL}
    WHERE place IS DISTINCT FROM {_LEFT_OUT};
    CREATE OR REPLACE TEMP VIEW picked AS
    SELECT * EXCLUDE (place) REPLACE (
        CASE WHEN getvariable('by_place')::BOOLEAN THEN CAST(place AS VARCHAR) END AS $spare
    )
    FROM frozen;
"""  # noqa: S608

Key = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class _Roles:
    """What the columns of an answer are, by name: ``key`` (with the dimensions first), counts."""

    by: tuple[str, ...]
    key: tuple[str, ...]
    counts: tuple[str, ...]
    rates: Mapping[str, str]
    quantiles: tuple[str, ...]

    @classmethod
    def of(cls, question: Question, answer: Result, by: Sequence[str]) -> _Roles:
        if question.pooled:
            names, count = question.pooled
            return cls(tuple(by), (*by, *names), (count,), {}, ())
        typed = zip(answer.columns, answer.types, strict=True)
        key = [name for name, kind in typed if name in by or kind == "VARCHAR"]
        quantiles = [name for name in answer.columns if name.split("_")[0] in BEYOND]
        taken = {*key, *quantiles, *question.rates}
        counts = tuple(name for name in answer.columns if name not in taken)
        return cls(tuple(by), tuple(key), counts, question.rates, tuple(quantiles))


class Publication:
    """Reports that may be read together, each under the rules of ``suppress``.

    ``values``: what all of them are asked with. A period is widened to whole days, so that two
    publications cannot differ by an hour. ``connection`` may be read-only, and is ours alone.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        connection: duckdb.DuckDBPyConnection,
        values: Mapping[str, Value],
        k: int = K,
    ) -> None:
        self._catalogue = catalogue
        self._connection = connection
        self._values = {name: _whole_day(name, value) for name, value in values.items()}
        self._k = k
        self._by = tuple(catalogue.pick(connection, _ANY, self._values))
        spare = [name for name in DIMENSIONS if name not in self._by and name != "day"]
        if not spare:
            raise UsageError(
                "too_many_dimensions", "what is published is split by fewer than all dimensions"
            )
        #: A dimension nobody asks for: where counts are split by the places of small cells.
        self._spare = spare[0]
        sizes = connection.execute(_SIZES).fetchall()
        by_subject = bool(sizes) and not any(unknown for *_, unknown in sizes)
        self.unit = "distinct subjects" if by_subject else "elicitations"
        #: Of each group the small cells in the order of their places: how many are in each.
        self._small: dict[Key, list[int]] = defaultdict(list)
        groups: dict[Key, int] = defaultdict(int)
        rows: list[Key] = []
        for *dimensions, cell, elicitations, subjects, _ in sizes:
            group = tuple(dimensions)
            size = subjects if by_subject else elicitations
            groups[group] += size
            if size < k:
                rows.append((*group, cell, len(self._small[group])))
                self._small[group].append(elicitations)
        left_out = {group for group, size in groups.items() if size < k}
        self._left_out = len(left_out)
        self._freeze([(*row[:-1], _LEFT_OUT) if row[:-2] in left_out else row for row in rows])

    def _freeze(self, small: Sequence[Key]) -> None:
        """Pick once for all reports, and know of each elicitation in which small cell it is."""
        self._connection.execute(_NO_SMALL)
        if small:
            with self._connection.appender("small") as appender:
                appender.append_rows(small)
        self._connection.execute(_FREEZE.replace("$spare", self._spare))

    def ask(self, name: str, own: Mapping[str, Value] | None = None) -> Result:
        """The answer as it may be published. ``own``: parameters of this question alone."""
        question = self._catalogue.questions[name]
        given = {**self._values, **(own or {})}
        for parameter in question.parameters:
            if parameter.name not in self._values or not question.picks:
                set_variable(self._connection, parameter.name, given.get(parameter.name))
        by = self._by if question.picks else ()
        set_variable(self._connection, "by_place", False)
        whole = self._catalogue.ask(self._connection, name, by)
        roles = _Roles.of(question, whole, by)
        figures = self._count(question, roles, whole)
        columns = (*roles.key, *(each for each in whole.columns if each in _told(roles)))
        types = dict(zip(whole.columns, whole.types, strict=True))
        rows = list(self._rows(question, roles, whole, figures, columns))
        cells = [cell for row in rows for cell in row[len(roles.key) :]]
        withheld = sum(isinstance(cell, str) for cell in cells)
        return Result(
            columns,
            tuple(types[name] for name in columns),
            tuple(rows),
            tuple(notes(self._connection, self._values)),
            {
                "profile": "auditor",
                "suppressed": f"what tells of fewer than {self._k} {self.unit}: {withheld} of "
                f"{len(cells)} figures here; {self._left_out} groups left out",
                "guarantee": GUARANTEE,
                **circumstances(self._connection, self._values),
            },
        )

    def _count(self, question: Question, roles: _Roles, whole: Result) -> dict[Key, _Counts]:
        """Every figure of every row, in all, in no small cell, and in each small cell."""
        counted: dict[Key, _Counts] = defaultdict(_Counts)
        for row in _named(whole):
            key = tuple(row[name] for name in roles.key)
            for name in (*roles.counts, *roles.rates):
                count = _counted(row, name, roles.rates)
                counted[key].whole(name, count)
                if not question.picks:
                    counted[key].shown(name, count)
        if not question.picks:
            return counted
        sizes = {
            tuple(group[DIMENSIONS.index(name)] for name in roles.by): cells
            for group, cells in self._small.items()
        }
        set_variable(self._connection, "by_place", True)
        for row in _named(
            self._catalogue.ask(self._connection, question.name, (*roles.by, self._spare))
        ):
            key = tuple(row[name] for name in roles.key)
            place = row[self._spare]
            for name in (*roles.counts, *roles.rates):
                count = _counted(row, name, roles.rates)
                if place is None:
                    counted[key].shown(name, count)
                else:
                    size = sizes[key[: len(roles.by)]][int(str(place))]
                    counted[key].small(name, count, size)
        return counted

    def _rows(
        self,
        question: Question,
        roles: _Roles,
        whole: Result,
        figures: Mapping[Key, _Counts],
        columns: Sequence[str],
    ) -> Iterator[Key]:
        if question.pooled:
            yield from self._pooled(roles, figures)
            return
        for row in _named(whole):
            key = tuple(row[name] for name in roles.key)
            counts = figures[key]
            told: dict[str, Cell] = {}
            for name in roles.counts:
                hidden = name in question.withheld
                told[name] = WITHHELD if hidden else counts.figure(name).published(self._k)
            for name, of in roles.rates.items():
                told[name] = rate(counts.figure(name), counts.figure(of), row[name], self._k)
            for name in roles.quantiles:
                taken = counts.figure(str(question.quantiles))
                told[name] = quantile(name, row[name], taken, self._k)
            yield (*key, *(told[name] for name in columns[len(key) :]))

    def _pooled(self, roles: _Roles, figures: Mapping[Key, _Counts]) -> Iterator[Key]:
        split = len(roles.by)
        groups: dict[Key, list[Named]] = defaultdict(list)
        for key, counts in figures.items():
            groups[key[:split]].append(Named(key[split:], counts.figure(roles.counts[0])))
        other = (OTHER, *[None] * (len(roles.key) - split - 1))
        for group, rows in groups.items():
            for row in pool(rows, other, self._k):
                yield (*group, *row.names, row.count.published(self._k))


def publish(
    catalogue: Catalogue,
    connection: duckdb.DuckDBPyConnection,
    question: Question,
    values: Mapping[str, Value],
    k: int = K,
) -> Result:
    """One report as it may be published, as a set of its own."""
    shared = {parameter.name for parameter in catalogue.questions[_ANY].parameters}
    common = {name: value for name, value in values.items() if name in shared}
    publication = Publication(catalogue, connection, common, k)
    return publication.ask(question.name, {key: values[key] for key in values.keys() - shared})


class _Counts:
    """The figures of one row, as they are counted part by part."""

    def __init__(self) -> None:
        self._figures: dict[str, Figure] = {}
        self._parts: dict[str, int] = defaultdict(int)

    def whole(self, name: str, count: int) -> None:
        """In all."""
        self._figures[name] = Figure(count)

    def shown(self, name: str, count: int) -> None:
        """In no small cell."""
        self._figures[name] = replace(self._figures[name], shown=count)
        self._parts[name] += count

    def small(self, name: str, count: int, size: int) -> None:
        """In one small cell, of ``size``."""
        figure = self._figures[name]
        self._parts[name] += count
        if count:
            bounded = figure.bounded and count <= size
            self._figures[name] = replace(figure, small=figure.small + 1, bounded=bounded)

    def figure(self, name: str) -> Figure:
        figure = self._figures[name]
        return replace(figure, is_sum=figure.whole == self._parts[name])


def _named(answer: Result) -> Iterator[dict[str, Cell]]:
    for row in answer.rows:
        yield dict(zip(answer.columns, row, strict=True))


def _counted(row: Mapping[str, Cell], name: str, rates: Mapping[str, str]) -> int:
    """A count; of a rate, the count it is the share of."""
    of = row[rates[name]] if name in rates else 1
    return round(float(str(row[name] or 0)) * int(str(of)))


def _told(roles: _Roles) -> set[str]:
    return {*roles.counts, *roles.rates, *roles.quantiles}


def _whole_day(name: str, value: Value) -> Value:
    if not isinstance(value, datetime):
        return value
    day = datetime.combine(utc(value).date(), time())
    return day if name == "since" or day == utc(value) else day + timedelta(days=1)
