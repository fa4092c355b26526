"""Look-up: which receipts are of this very answer, for who holds the tenant's key."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.schemas.digest import canonical, payload_mac
from elicitation_receipts.schemas.keys import Key

_SHOWN: Final = {
    "receipt_id": "VARCHAR",
    "stream_id": "VARCHAR",
    "sequence": "BIGINT",
    "occurred_at": "VARCHAR",
    "elicitation_id": "VARCHAR",
    "server_name": "VARCHAR",
    "tool": "VARCHAR",
    "outcome": "VARCHAR",
}
_ANSWERS: Final = """
    SELECT
        payload_digest_key_id, payload_digest_nonce, payload_digest_value,
        receipt_id, stream_id, sequence,
        strftime(occurred_at, '%Y-%m-%dT%H:%M:%S.%fZ'), elicitation_id::VARCHAR,
        server_name, tool, outcome
    FROM receipts
    WHERE tenant = $tenant AND payload_digest_value IS NOT NULL
    ORDER BY stream_id, sequence
"""
_BATCH: Final = 10_000


@dataclass(frozen=True, slots=True)
class Found:
    """What a look-up found.

    ``hits``            the receipts whose digest is of that answer, one row each
    ``checked``         how many digests could be compared
    ``unconfirmable``   how many could not: their key was destroyed
    ``unknown_key``     how many could not: their key is not here
    """

    hits: Result
    checked: int
    unconfirmable: int
    unknown_key: int


def look_up(
    database: duckdb.DuckDBPyConnection,
    tenant: str,
    keys: Mapping[str, Key],
    destroyed: frozenset[str],
    contents: Sequence[Any],
    progress: Callable[[int, int], None] | None = None,
) -> Found:
    """Compare every digest of a tenant with ``contents``: the ways one answer can be meant.

    ``keys``: the tenant's payload keys by id; ``destroyed``: ids of those that are gone. A
    receipt counts once, whichever of ``contents`` it is of. Raises :class:`DigestError`.
    """
    forms = [canonical(content) for content in contents]
    [(total,)] = database.execute(
        "SELECT count(*) FROM receipts WHERE tenant = ? AND payload_digest_value IS NOT NULL",
        [tenant],
    ).fetchall()
    rows = []
    checked = unconfirmable = unknown_key = 0
    answers = database.execute(_ANSWERS, {"tenant": tenant})
    while batch := answers.fetchmany(_BATCH):
        for key_id, nonce, value, receipt_id, stream_id, *rest in batch:
            key = keys.get(key_id)
            if key is None:
                unconfirmable += key_id in destroyed
                unknown_key += key_id not in destroyed
                continue
            checked += 1
            if any(
                hmac.compare_digest(
                    payload_mac(key, tenant, stream_id, receipt_id, nonce, form), value
                )
                for form in forms
            ):
                rows.append((str(receipt_id), str(stream_id), *rest))
        if progress is not None:
            progress(done := checked + unconfirmable + unknown_key, total - done)
    hits = Result(tuple(_SHOWN), tuple(_SHOWN.values()), tuple(rows))
    return Found(hits, checked, unconfirmable, unknown_key)
