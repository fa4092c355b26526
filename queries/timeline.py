"""The life of one elicitation: every receipt of it in order, and where each is sealed."""

from __future__ import annotations

from typing import Final

import duckdb

from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.schemas.errors import UsageError

HEAD: Final = {
    "profile": "operator",
    "suppressed": "nothing: the life of one elicitation is never suppressed",
}
#: So many of the id's digits tell it, if they tell one alone.
SHORTEST: Final = 8

_FOUND: Final = """
    SELECT DISTINCT CAST(elicitation_id AS VARCHAR) AS id FROM receipts
    WHERE starts_with(CAST(elicitation_id AS VARCHAR), $beginning) LIMIT 2
"""
_TIMELINE: Final = """
    SELECT
        occurred_at AS time,
        since_previous_us / 1e6 AS after_seconds,
        clock,
        event,
        round,
        outcome,
        decided_by,
        coalesce(proof, operation_result) AS shown_by,
        decision,
        policy_version AS policy,
        validation_answered || ' of ' || validation_requested
            || if(len(validation_failed) > 0,
                  ', ' || (len(validation_failed) + validation_failed_more) || ' failed', '')
            AS fields,
        array_to_string([finding.name for finding in findings], ' ') AS findings,
        CAST(receipts.stream_id AS VARCHAR) AS stream,
        sequence,
        lower(hex(leaf_hash)) AS leaf_hash,
        coalesce((
            SELECT string_agg(kind, ' ' ORDER BY kind) FROM breaks
            WHERE breaks.stream_id = receipts.stream_id AND breaks.sequence = receipts.sequence
                AND healed_at IS NULL
        ), 'linked') AS chain
    FROM receipts
    WHERE elicitation_id = CAST($id AS UUID)
    ORDER BY receipts.stream_id, sequence
"""
_ORIGIN: Final = """
    SELECT elicitation_id, operation_id, tenant, server_name, server_version, client_name,
        client_version, protocol_version, operation_method, tool, flow, environment, mode, carrier,
        url_origin, policy_id, state, vantage, fidelity
    FROM elicitations WHERE elicitation_id = CAST($id AS UUID)
"""


def timeline(connection: duckdb.DuckDBPyConnection, beginning: str) -> Result:
    """One row a receipt; in the head, what is the same for all.

    ``beginning``: of the elicitation's id, eight characters at least. Raises
    :class:`UsageError`: ``elicitation_ambiguous``, ``elicitation_unknown``.
    """
    wanted = beginning.lower()
    if len(wanted) < SHORTEST:
        raise UsageError("elicitation_ambiguous", f"give at least {SHORTEST} characters of the id")
    found = connection.execute(_FOUND, {"beginning": wanted}).fetchall()
    if len(found) != 1:
        raise UsageError(
            "elicitation_ambiguous" if found else "elicitation_unknown",
            "several elicitations begin so; give more of the id"
            if found
            else "no elicitation that landed has this id; `receipts query` can list them",
        )
    [(id_,)] = found
    origin = connection.execute(_ORIGIN, {"id": id_})
    names = [column[0] for column in origin.description]
    [values] = origin.fetchall()
    stated = {name: str(value) for name, value in zip(names, values, strict=True) if value}
    answer = connection.execute(_TIMELINE, {"id": id_})
    columns, types = zip(*((each[0], str(each[1])) for each in answer.description), strict=True)
    return Result(columns, types, tuple(answer.fetchall()), head=HEAD | stated)
