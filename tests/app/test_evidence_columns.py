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
from elicitation_receipts.evidence.source import Run
from elicitation_receipts.evidence.store import Evidence
from elicitation_receipts.evidence.verify import Question, verify
from elicitation_receipts.evidence_sources import TableReceipts, open_source
from elicitation_receipts.schemas.errors import EvidenceError
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


def written(database: duckdb.DuckDBPyConnection, path: Path, column: str, value: str) -> Path:
    """A Parquet file in which ``column`` is something else."""
    database.execute(
        f"COPY (SELECT * REPLACE ({value} AS {column}) FROM receipts) TO '{path}' (FORMAT parquet)"
    )
    return path


def read_both_ways(path: Path) -> Report:
    with open_source(path) as source:
        columnwise = verify(source, Question(evidence=Evidence()))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(evidence_sources, "has_columns", lambda: False)
        with open_source(path) as source:
            assert said(verify(source, Question(evidence=Evidence()))) == said(columnwise)
    return columnwise


def test_a_parquet_file_as_we_write_it_is_read_column_by_column(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = written(database, tmp_path / "receipts.parquet", "tool", "tool")
    with open_source(path) as source:
        assert [type(each) for each in source.items()] == [Run, Run]
    assert not read_both_ways(path).findings


def test_a_parquet_file_of_other_times_is_read_row_by_row(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = tmp_path / "receipts.parquet"
    written(database, path, "occurred_at", "occurred_at::TIMESTAMP_NS")
    assert not read_both_ways(path).findings


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("receipt_id", "BLOB"),
        ("previous_hash", "VARCHAR"),
        ("round", "VARCHAR"),
        ("policy_id", "BLOB"),
        ("findings", "VARCHAR"),
        ("correlation_refs", "INTEGER[]"),
        ("occurred_at", "VARCHAR"),
    ],
)
def test_a_column_of_another_type_is_found_both_ways(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, column: str, kind: str
) -> None:
    value = f"{column}::{kind}" if kind != "INTEGER[]" else "[1]"
    path = written(database, tmp_path / "receipts.parquet", column, value)
    assert {each.field for each in read_both_ways(path).findings} == {column}


@pytest.mark.parametrize("column", ["stream_id", "sequence", "leaf_hash", "fingerprint"])
def test_a_file_that_does_not_tell_where_receipts_belong_is_refused(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, column: str
) -> None:
    path = written(database, tmp_path / "receipts.parquet", column, f"{column}::VARCHAR")
    with pytest.raises(EvidenceError, match=column) as raised, open_source(path):
        pass
    assert raised.value.reason == "source_malformed"
