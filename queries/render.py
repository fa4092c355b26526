"""Rendering: a result as a table for people, JSON, CSV or Parquet for programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Final, TextIO

import duckdb
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from elicitation_receipts.queries.catalogue import Cell, Result
from elicitation_receipts.schemas.errors import ReportError, UsageError
from elicitation_receipts.schemas.whole_file import whole_file

#: Wider than any table: in a pipe or a file no cell is ever cut or wrapped.
_UNBOUNDED: Final = 1_000_000


class Format(StrEnum):
    """``json`` is an object: what stands in the head, and ``rows``, an object each. ``csv`` has
    the head in lines that begin with ``#``, then the columns' names; empty cells are NULL.
    ``parquet`` has the head as metadata of the file.
    """

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


def render(result: Result, form: Format, stream: TextIO) -> None:
    """Write the result as text. Parquet is binary and needs a file: UsageError."""
    if form is Format.PARQUET:
        raise UsageError("parquet_needs_output", "Parquet goes to a file: name it with --output")
    _WRITERS[form](result, stream)


def save(result: Result, form: Format, path: Path) -> None:
    """Write the result to a file that is there whole or not at all; it replaces an older one."""
    if form is Format.PARQUET:
        with naming_output(path), whole_file(path) as place:
            _parquet(result, place)
    else:
        save_text(lambda stream: render(result, form, stream), path)


def save_text(write: Callable[[TextIO], None], path: Path) -> None:
    """The same for any text: UTF-8, its line ends as they are written."""
    with (
        naming_output(path),
        whole_file(path) as place,
        place.open("w", encoding="utf-8", newline="") as stream,
    ):
        write(stream)


@contextmanager
def naming_output(path: Path) -> Iterator[None]:
    """Name what keeps ``path`` from being written: ReportError ``output_unwritable``."""
    try:
        yield
    except (OSError, duckdb.IOException) as error:
        raise ReportError(
            "output_unwritable", f"cannot write {path}: check that its folder is there and yours"
        ) from error


def _table(result: Result, stream: TextIO) -> None:
    console = Console(file=stream, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _UNBOUNDED
    for name, value in result.head.items():
        console.print(f"{name.replace('_', ' ')}: {value}", style="dim")
    wide = _wide(result)
    unbounded = console.options.update(width=_UNBOUNDED)
    if console.measure(wide, options=unbounded).maximum <= console.width:
        console.print(wide)
    else:
        console.print(*_upright(result, console.width), sep="")


def _wide(result: Result) -> Table:
    """One line a row."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name, kind in zip(result.columns, result.types, strict=True):
        table.add_column(name, justify="right" if _is_figure(kind) else "left", no_wrap=True)
    for row in result.rows:
        table.add_row(*map(_cell, row))
    return table


def _upright(result: Result, width: int) -> Iterator[Table]:
    """One line a column, as many rows beside each other as fit: for rows wider than a terminal."""
    gap = 3
    cells = [[_cell(value) for value in row] for row in result.rows]
    widest = max((len(cell) for row in cells for cell in row), default=0)
    names = max(map(len, result.columns))
    abreast = max(1, (width - names) // (widest + gap))
    for start in range(0, len(cells) or 1, abreast):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False)
        table.add_column(style="bold", no_wrap=True)
        for _ in cells[start : start + abreast]:
            table.add_column(justify="right", overflow="fold")
        for name, *row in zip(result.columns, *cells[start : start + abreast], strict=True):
            table.add_row(name, *row)
        yield table


def _is_figure(kind: str) -> bool:
    return kind in ("BIGINT", "INTEGER", "DOUBLE")


def _cell(value: Cell) -> Text:
    if value is None:
        return Text("-", style="dim")
    return Text(f"{value:.6g}" if isinstance(value, float) else str(value))


def document(result: Result) -> dict[str, object]:
    """What JSON has for the result: its head, and its rows by name."""
    rows = [
        {name: _plain(cell) for name, cell in zip(result.columns, row, strict=True)}
        for row in result.rows
    ]
    return {**result.head, "rows": rows}


def _json(result: Result, stream: TextIO) -> None:
    json.dump(document(result), stream, indent=2, ensure_ascii=False, allow_nan=False, default=str)
    stream.write("\n")


def _plain(value: Cell) -> object:
    """As JSON has it: times in ISO 8601, bytes in hexadecimal."""
    if isinstance(value, date):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else value


def _csv(result: Result, stream: TextIO) -> None:
    stream.writelines(f"# {name}: {value}\n" for name, value in result.head.items())
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(result.columns)
    writer.writerows(result.rows)


def _parquet(result: Result, path: Path) -> None:
    # A column in which a figure is suppressed is text, all of it.
    texts = {at for row in result.rows for at, cell in enumerate(row) if isinstance(cell, str)}
    types = ["VARCHAR" if at in texts else kind for at, kind in enumerate(result.types)]
    columns = ", ".join(
        f'"{name}" {kind}' for name, kind in zip(result.columns, types, strict=True)
    )
    rows = [
        [str(cell) if at in texts and cell is not None else cell for at, cell in enumerate(row)]
        for row in result.rows
    ]
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE report ({columns})")
        with connection.appender("report") as appender:
            appender.append_rows(rows)
        metadata = ", ".join(f"'{name}': '{_quoted(value)}'" for name, value in result.head.items())
        kept = f", KV_METADATA {{{metadata}}}" if metadata else ""
        connection.execute(f"COPY report TO $path (FORMAT parquet{kept})", {"path": str(path)})


def _quoted(text: str) -> str:
    return text.replace("'", "''")


_WRITERS: Final[Mapping[Format, Callable[[Result, TextIO], None]]] = {
    Format.TABLE: _table,
    Format.JSON: _json,
    Format.CSV: _csv,
}
