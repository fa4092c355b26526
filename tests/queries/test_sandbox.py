"""The sandbox: one SELECT over the views, and nothing else whatever it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from lives import Lives, answered, requested

from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.queries.sandbox import Limits, ask
from elicitation_receipts.schemas.errors import ReceiptsError
from elicitation_receipts.schemas.vocabulary import Outcome

QUICK = Limits(seconds=1, megabytes=100, rows=1000)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    with warehouse.open() as opened:
        Lives(opened).add(requested(), answered(Outcome.ACCEPTED), server_name="files")
    with warehouse.read() as opened:
        yield opened


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT state, server_name FROM elicitations",
        "WITH one AS (FROM elicitations) SELECT state, server_name FROM one -- and a remark",
        "FROM elicitations SELECT state, server_name;",
    ],
)
def test_a_select_is_answered(sql: str, database: duckdb.DuckDBPyConnection) -> None:
    result = ask(database, sql, QUICK)
    assert (result.columns, result.rows) == (("state", "server_name"), (("accepted", "files"),))
    assert "never suppressed" in result.head["suppressed"]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("", "query_not_one_select"),
        ("SELECT 1; SELECT 2", "query_not_one_select"),
        ("DELETE FROM receipts", "query_not_one_select"),
        ("COPY receipts TO 'out.csv'", "query_not_one_select"),
        ("ATTACH 'other.db'", "query_not_one_select"),
        ("INSTALL httpfs", "query_not_one_select"),
        ("SET enable_external_access = true", "query_not_one_select"),
        ("SELECT * FROM read_text('/etc/hostname')", "query_refused"),
        ("SELECT * FROM read_csv('https://example.org/a.csv')", "query_refused"),
        ("SELECT * FROM glob('/*')", "query_refused"),
        ("SELECT * FROM '/etc/hostname'", "query_refused"),
        ("SELECT * FROM query('DROP TABLE receipts')", "query_refused"),
        ("SELECT nothing FROM elicitations", "query_refused"),
        ("SELECT CAST(server_name AS INTEGER) FROM elicitations", "query_refused"),
        ("SELECT count(*) FROM range(1000000000) a, range(1000000) b", "query_timeout"),
        ("SELECT list(range) FROM range(1000000000)", "query_memory"),
        ("SELECT * FROM range(1001)", "query_rows"),
    ],
)
def test_all_else_is_refused_by_name(
    sql: str, reason: str, database: duckdb.DuckDBPyConnection
) -> None:
    with pytest.raises(ReceiptsError) as refused:
        ask(database, sql, QUICK)
    assert refused.value.reason == reason


def test_a_refusal_repeats_no_value(database: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(ReceiptsError) as refused:
        ask(database, "SELECT error(server_name) FROM elicitations", QUICK)
    assert "files" not in str(refused.value)
