"""Landing from the spool, beside a bare DuckDB insert of the same rows in the same batches."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import duckdb
from lives import receipts

from elicitation_receipts.consumers.landing import BATCH, Lander, Warehouse
from elicitation_receipts.consumers.source import SpoolSource
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.spool import Producer, Spool


class Landing:
    """A spool with ``count`` receipts, landed anew each time it is measured."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder = folder
        home = folder / "landing"
        home.mkdir(mode=0o700)
        self._keys = Keyring.open(home / "keys")
        self._spool = Spool.open(home, durability="process")
        stream = self._spool.stream_for("default", Producer("benchmark", "0.1.0"))
        source = receipts(stream, self._keys.tenant("default"))
        for _ in range(0, count, 1_000):
            self._spool.append(list(itertools.islice(source, 1_000)))
        self._count = sum(stream.next_sequence for stream in self._spool.streams())
        self._rows: dict[str, Any] = {}

    def ours(self) -> float:
        """Rows a second: decoded, checked, chained, positions kept."""
        warehouse = Warehouse(self._fresh("ours"))
        started = time.perf_counter()
        summary = Lander(warehouse, SpoolSource(self._spool), self._keys.lander()).land()
        assert summary.landed == self._count
        return self._count / (time.perf_counter() - started)

    def bare_rows(self) -> float:
        """Rows a second: DuckDB's appender, from ready Python tuples."""
        rows = self._ready()["rows"]
        with self._empty("rows") as database:
            started = time.perf_counter()
            for batch in _batched(rows):
                database.begin()
                with database.appender("receipts") as appender:
                    appender.append_rows(batch)
                database.commit()
            return self._count / (time.perf_counter() - started)

    def bare_arrow(self) -> float:
        """Rows a second: DuckDB's insert from ready Arrow, the limit of any way to land."""
        table = self._ready()["arrow"]
        with self._empty("arrow") as database:
            started = time.perf_counter()
            for start in range(0, self._count, BATCH):
                batch = table.slice(start, BATCH)
                database.register("batch", batch)
                database.execute("INSERT INTO receipts SELECT * FROM batch")
            return self._count / (time.perf_counter() - started)

    def _ready(self) -> dict[str, Any]:
        if not self._rows:
            with Warehouse(self._folder / "ours.duckdb").read() as database:
                self._rows["rows"] = database.execute("SELECT * FROM receipts").fetchall()
                self._rows["arrow"] = database.execute("SELECT * FROM receipts").to_arrow_table()
        return self._rows

    def _empty(self, name: str) -> duckdb.DuckDBPyConnection:
        path = self._fresh(name)
        with Warehouse(path).open():
            pass
        return duckdb.connect(path, config={"wal_autocheckpoint": "256MB"})

    def _fresh(self, name: str) -> Path:
        path = self._folder / f"{name}.duckdb"
        for file in (path, path.with_name(path.name + ".wal")):
            file.unlink(missing_ok=True)
        return path


def _batched(rows: list[Any]) -> list[list[Any]]:
    return [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]


def cases(folder: Path, count: int) -> dict[str, tuple[str, object]]:
    landing = Landing(folder, count)
    return {
        "landing_base_per_s": ("/s", landing.ours),
        "bare_appender_per_s": ("/s", landing.bare_rows),
        "bare_arrow_per_s": ("/s", landing.bare_arrow),
    }
