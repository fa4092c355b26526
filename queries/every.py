"""Every report at once, for one profile, and what else the database says of its own state."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from elicitation_receipts.queries.catalogue import Catalogue, Question, Result
from elicitation_receipts.queries.parameter import Value
from elicitation_receipts.queries.publish import Publication

#: The question whose parameters all reports of a set share.
SHARED = "completion"


def every(
    catalogue: Catalogue,
    connection: duckdb.DuckDBPyConnection,
    values: Mapping[str, Value],
    publish_below: int | None,
) -> dict[str, Result]:
    """Each question's answer. ``publish_below``: k for an auditor; None for the operator."""
    if publish_below is not None:
        publication = Publication(catalogue, connection, values, publish_below)
        return {name: publication.ask(name) for name in catalogue.questions}
    return {
        name: catalogue.run(connection, name, _taken(question, values))
        for name, question in catalogue.questions.items()
    }


def facts(
    connection: duckdb.DuckDBPyConnection, reports: Mapping[str, Result]
) -> dict[str, object]:
    """What stands at the head of a page: policy versions that judged, breaks, rejects."""
    policy = reports["policy"]
    places = [policy.columns.index(name) for name in ("policy", "version", "digest")]
    named = [[str(row[at]) for at in places if row[at]] for row in policy.rows]
    [(broken,)] = connection.execute(
        "SELECT count(*) FROM breaks WHERE healed_at IS NULL"
    ).fetchall()
    [(rejected,)] = connection.execute("SELECT count(*) FROM rejects").fetchall()
    return {
        "policies": [" ".join(one) for one in named if one],
        "broken": broken,
        "rejected": rejected,
    }


def _taken(question: Question, values: Mapping[str, Value]) -> dict[str, Value]:
    names = {parameter.name for parameter in question.parameters}
    return {name: value for name, value in values.items() if name in names}
