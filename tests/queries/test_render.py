"""Rendering: what each format gives back when it is read again."""

from __future__ import annotations

import csv
import io
import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.queries.catalogue import Result
from elicitation_receipts.queries.render import Format, render, save
from elicitation_receipts.schemas.errors import ReportError, UsageError

COLUMNS = ("server", "day", "put", "round", "rate")
TYPES = ("VARCHAR", "DATE", "BIGINT", "INTEGER", "DOUBLE")
RESULT = Result(
    COLUMNS,
    TYPES,
    (
        ("files[bold]", date(2026, 11, 30), 12, 1, 2 / 3),
        ('a,"b"', None, 0, 2, None),
        (None, date(2026, 12, 1), 2**40, 3, 1e-06),
    ),
)
EMPTY = Result(COLUMNS, TYPES, ())


def text(result: Result, form: Format) -> str:
    stream = io.StringIO()
    render(result, form, stream)
    return stream.getvalue()


def objects(result: Result) -> list[dict[str, Any]]:
    return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


#: A receipt's strings hold no control characters.
cells = st.tuples(
    st.none() | st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])),
    st.none() | st.dates(),
    st.none() | st.integers(0, 2**62),
    st.none() | st.integers(0, 2**31 - 1),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
)


@given(st.lists(cells))
def test_json_has_an_object_for_each_row(rows: list[Any]) -> None:
    result = Result(COLUMNS, TYPES, tuple(rows))
    expected = [row | {"day": row["day"] and row["day"].isoformat()} for row in objects(result)]
    assert json.loads(text(result, Format.JSON)) == {"rows": expected}


@given(st.lists(cells))
def test_csv_has_a_header_and_empty_cells(rows: list[Any]) -> None:
    result = Result(COLUMNS, TYPES, tuple(rows))
    read = list(csv.reader(io.StringIO(text(result, Format.CSV), newline="")))
    assert tuple(read[0]) == COLUMNS
    assert read[1:] == [["" if cell is None else str(cell) for cell in row] for row in rows]


@pytest.mark.parametrize("result", [RESULT, EMPTY])
def test_parquet_keeps_values_and_types(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "it's $1.parquet"
    save(result, Format.PARQUET, path)
    table = pyarrow.parquet.read_table(path)
    assert table.to_pylist() == objects(result)
    types = ["string", "date32[day]", "int64", "int32", "double"]
    assert [str(field.type) for field in table.schema] == types


def test_parquet_to_a_stream_is_refused_by_name() -> None:
    with pytest.raises(UsageError) as caught:
        text(RESULT, Format.PARQUET)
    assert caught.value.reason == "parquet_needs_output"


def test_a_table_in_a_pipe_is_plain_and_whole() -> None:
    long = "x" * 500
    result = Result(
        ("name", *map(str, range(30))), ("VARCHAR", *["BIGINT"] * 30), ((long, *range(30)),)
    )
    shown = text(result, Format.TABLE)
    assert "\x1b" not in shown
    assert [line.split() for line in shown.splitlines() if "x" in line] == [
        [long, *map(str, range(30))]
    ]


def test_a_table_takes_no_cell_for_markup() -> None:
    shown = text(RESULT, Format.TABLE)
    assert "files[bold]" in shown
    assert "0.666667" in shown
    assert "1e-06" in shown


def test_an_empty_table_still_names_its_columns() -> None:
    assert text(EMPTY, Format.TABLE).split()[: len(COLUMNS)] == list(COLUMNS)


@pytest.mark.parametrize(("width", "tall"), [("200", False), ("20", True)])
def test_a_row_wider_than_the_terminal_stands_upright(
    width: str, tall: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setenv("TERM", "xterm")
    shown = text(RESULT, Format.TABLE)
    assert "\x1b[1m" in shown, "colour on a terminal"
    assert (len([line for line in shown.splitlines() if "rate" in line]) == 3) is tall


@pytest.mark.parametrize("form", Format)
def test_a_file_replaces_the_older_one_whole(form: Format, tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_text("older", encoding="utf-8")
    save(RESULT, form, path)
    assert path.read_bytes() not in (b"", b"older")
    if form is not Format.PARQUET:
        assert path.read_text(encoding="utf-8") == text(RESULT, form)
    assert list(tmp_path.iterdir()) == [path], "nothing half written stays"


@pytest.mark.parametrize("form", Format)
def test_where_it_cannot_be_written_nothing_changes(form: Format, tmp_path: Path) -> None:
    with pytest.raises(ReportError) as caught:
        save(RESULT, form, tmp_path / "nowhere" / "report")
    assert (caught.value.reason, caught.value.exit_code) == ("output_unwritable", 3)
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(ReportError, match="output_unwritable"):
        save(RESULT, form, folder)
    assert list(tmp_path.iterdir()) == [folder]
