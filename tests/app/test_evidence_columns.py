"""Rows verified column by column: the same report as one by one, whatever was done to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import duckdb
import pytest
from full_receipt import full_receipt
from streams import ListSource, chain, seal

from elicitation_receipts import evidence_sources
from elicitation_receipts.consumers.landing import Lander, Warehouse
from elicitation_receipts.consumers.rows import columns
from elicitation_receipts.evidence.report import Report
from elicitation_receipts.evidence.store import Evidence
from elicitation_receipts.evidence.verify import Question, verify
from elicitation_receipts.evidence_sources import TableReceipts, open_source
from elicitation_receipts.schemas.keys import Key

#: One row's is emptied, another has what is in the other stream's.
CHANGE = """
UPDATE receipts SET {0} = CASE sequence
    WHEN 3 THEN NULL WHEN 5 THEN (SELECT {0} FROM receipts WHERE rowid = 14) ELSE {0} END
"""
HASH = "SELECT bit_xor(hash(receipts)) FROM receipts"
DEEDS = (
    "SELECT 1",
    "DELETE FROM receipts WHERE sequence = 0",
    "DELETE FROM receipts WHERE sequence IN (4, 5)",
    "INSERT INTO receipts FROM receipts WHERE sequence = 2",
    "UPDATE receipts SET leaf_hash = NULL WHERE sequence = 4",
    "UPDATE receipts SET fingerprint = 'other' WHERE sequence = 4",
    "UPDATE receipts SET sequence = 9 - sequence",
    "UPDATE receipts SET sequence = NULL WHERE sequence = 0",
)


def report(database: duckdb.DuckDBPyConnection) -> Report:
    return verify(TableReceipts(database), Question(evidence=Evidence()))


def one_by_one(database: duckdb.DuckDBPyConnection) -> Report:
    """As where numpy and pyarrow are not installed."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(evidence_sources, "has_columns", lambda: False)
        return report(database)


"""
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Two streams, and a table that takes anything."""
    source, stream_id = ListSource(), uuid4()
    source.add_sealed(*seal(full_receipt(stream_id, "default") for _ in range(8)), *chain(8))
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    assert Lander(warehouse, source, Key(b"k" * 32)).land().landed == 16
    with warehouse.open() as opened:
        opened.execute("CREATE TABLE free AS FROM receipts")
        opened.execute("DROP VIEW IF EXISTS elicitations_derived")
        opened.execute("DROP TABLE receipts")
        opened.execute("ALTER TABLE free RENAME TO receipts")
        opened.execute("CREATE TABLE kept AS FROM receipts")
        yield opened


def said(report: Report) -> tuple[object, ...]:
    """All of it; in which order the streams were read is not."""
    return (
        report.answers,
        sorted(map(repr, report.findings)),
        sorted(map(repr, report.windows)),
        report.unlisted,
    )


def agree(database: duckdb.DuckDBPyConnection) -> Report:
    columnwise = report(database)
    assert said(columnwise) == said(one_by_one(database))
    return columnwise


def test_both_ways_say_the_same_of_any_changed_field(
    database: duckdb.DuckDBPyConnection,
) -> None:
    for column in columns():
        database.execute("CREATE OR REPLACE TABLE receipts AS FROM kept")
        [(before,)] = database.execute(HASH).fetchall()
        database.execute(CHANGE.format(column))
        [(after,)] = database.execute(HASH).fetchall()
        assert bool(agree(database).findings) == (before != after), column


@pytest.mark.parametrize("deed", DEEDS)
def test_both_ways_say_the_same_of_any_deed(database: duckdb.DuckDBPyConnection, deed: str) -> None:
    database.execute(deed)
    assert bool(agree(database).findings) == (deed != DEEDS[0])


def test_a_time_that_python_does_not_know_is_found_both_ways(
    database: duckdb.DuckDBPyConnection,
) -> None:
    database.execute("UPDATE receipts SET occurred_at = 'infinity' WHERE sequence = 4")
    [(field, kind), _] = [(each.field, each.kind) for each in report(database).findings]
    assert (field, kind) == ("occurred_at", "wrong_type")
    assert len(one_by_one(database).findings) == 2


def test_a_parquet_file_of_other_types_is_read_row_by_row(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = tmp_path / "receipts.parquet"
    database.execute(
        "COPY (SELECT * REPLACE (occurred_at::TIMESTAMP_NS AS occurred_at) FROM receipts)"
        f" TO '{path}' (FORMAT parquet)"
    )
    with open_source(path) as source:
        assert not verify(source, Question(evidence=Evidence())).findings
