"""Partitions: a folder of Parquet files by day, for tools that read a table so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import duckdb

from elicitation_receipts.queries.catalogue import Catalogue, Question
from elicitation_receipts.queries.parameter import Value
from elicitation_receipts.queries.publish import Publication
from elicitation_receipts.queries.render import Format, save

#: The view that the operator's export is of.
VIEW: Final = "elicitations"


def published_by_day(
    catalogue: Catalogue,
    connection: duckdb.DuckDBPyConnection,
    values: Mapping[str, Value],
    k: int,
    folder: Path,
) -> int:
    """Each report of elicitations, split by day and suppressed as one set; the rows written.

    ``folder/REPORT/day=YYYY-MM-DD/data.parquet``, the day in the path alone.
    """
    publication = Publication(catalogue, connection, {**values, "by": ["day"]}, k)
    written = 0
    for name, question in catalogue.questions.items():
        if question.picks:
            written += _by_day(publication, question, folder / name)
    return written


def elicitations_by_day(
    catalogue: Catalogue,
    connection: duckdb.DuckDBPyConnection,
    values: Mapping[str, Value],
    folder: Path,
) -> int:
    """Every elicitation that is picked, a row each, nothing suppressed; the rows written."""
    catalogue.pick(connection, "completion", values)
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE exported AS
        SELECT * FROM {VIEW} WHERE elicitation_id IN (SELECT elicitation_id FROM picked)
        """  # noqa: S608  (a name of ours)
    )
    connection.execute(
        "COPY exported TO $folder (FORMAT parquet, PARTITION_BY (day))",
        {"folder": str(folder / VIEW)},
    )
    [(count,)] = connection.execute("SELECT count(*) FROM exported").fetchall()
    return int(count)


def _by_day(publication: Publication, question: Question, folder: Path) -> int:
    result = publication.ask(question.name)
    for day in sorted({str(row[0]) for row in result.rows}):
        place = folder / f"day={day}"
        place.mkdir(parents=True)
        rows = tuple(row[1:] for row in result.rows if str(row[0]) == day)
        one = replace(result, columns=result.columns[1:], types=result.types[1:], rows=rows)
        save(one, Format.PARQUET, place / "data.parquet")
    return len(result.rows)
