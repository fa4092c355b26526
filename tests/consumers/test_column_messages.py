"""Rows written to their messages column by column: the bytes that a row by itself gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_receipt import receipts

from elicitation_receipts.consumers.column_messages import messages_from_columns
from elicitation_receipts.consumers.row_message import RowError, message_from_row
from elicitation_receipts.consumers.rows import columns, row_from_receipt
from elicitation_receipts.consumers.warehouse import installed_migrations
from elicitation_receipts.schemas.codec import encode, fingerprint
from elicitation_receipts.schemas.receipt import Receipt

NAMES = ", ".join(columns())


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"arrow_lossless_conversion": "true"}) as database:
        database.execute(installed_migrations()[0].sql)
        database.execute(f"CREATE TABLE free AS SELECT {NAMES} FROM receipts")  # NULL anywhere
        yield database


def fill(database: duckdb.DuckDBPyConnection, batch: Sequence[Receipt]) -> None:
    database.execute("TRUNCATE free")
    with database.appender("free") as appender:
        appender.append_rows([row_from_receipt(receipt) for receipt in batch])


def written(database: duckdb.DuckDBPyConnection) -> list[bytes]:
    table = database.sql("FROM free").to_arrow_table().combine_chunks()
    return messages_from_columns(
        [column.combine_chunks() for column in table.columns], fingerprint(), b"before"
    )


batches = st.lists(receipts(), min_size=1, max_size=8)


@settings(max_examples=15)
@given(batches)
def test_the_messages_are_the_sealed_ones(
    database: duckdb.DuckDBPyConnection, batch: list[Receipt]
) -> None:
    fill(database, batch)
    assert written(database) == [b"before" + encode(receipt) for receipt in batch]


@settings(max_examples=25)
@given(batches, st.sampled_from(columns()), st.booleans())
def test_a_changed_row_never_looks_as_it_was_sealed(
    database: duckdb.DuckDBPyConnection, batch: list[Receipt], column: str, is_emptied: bool
) -> None:
    """Changed to nothing, or to what another row has there."""
    fill(database, batch)
    other = "NULL" if is_emptied else f"(SELECT {column} FROM free WHERE rowid = 0)"
    database.execute(f"UPDATE free SET {column} = {other}")
    rows = database.execute("FROM free ORDER BY rowid").fetchall()
    try:
        messages = written(database)
    except (TypeError, ValueError, LookupError, pa.ArrowException):
        return  # then rows are taken one by one
    for receipt, row, message in zip(batch, rows, messages, strict=True):
        try:
            assert message == b"before" + message_from_row(row, fingerprint())
        except RowError:
            assert message != b"before" + encode(receipt)


def test_a_schema_that_is_not_here_is_refused(database: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(KeyError):
        messages_from_columns([pa.array([1])], bytes(8))
