"""Puts beside each policy that landed what it says, where somebody has kept it."""

from __future__ import annotations

from collections.abc import Callable

import duckdb

#: The canonical JSON (RFC 8785) of the policy with a digest; None: nobody has it here.
DocumentOf = Callable[[bytes], bytes | None]


def add_documents(database: duckdb.DuckDBPyConnection, document_of: DocumentOf) -> int:
    """Fill in the documents that are missing and can be found; returns how many."""
    missing = database.execute(
        "SELECT policy_digest FROM policies WHERE document IS NULL"
    ).fetchall()
    documents = [(document_of(digest), digest) for (digest,) in missing]
    found = [(text.decode(), digest) for text, digest in documents if text is not None]
    for row in found:
        database.execute("UPDATE policies SET document = ? WHERE policy_digest = ?", row)
    return len(found)
