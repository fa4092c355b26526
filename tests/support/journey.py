"""A journey: one home and the whole way of its receipts, with all that is said along it.

What our commands print is kept in ``said``, and what they and their libraries log, down to
the level DEBUG. `look` shows a search everything that came of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import duckdb
from command import run_here
from scripted_server import Step, play

from elicitation_receipts.leaks import LeakSearch
from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.queries.parameter import DIMENSIONS
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.kafka import KafkaSettings
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool

_LOUD = """
import logging
logging.basicConfig(level=logging.DEBUG)
from elicitation_receipts.main import run
run()
"""
#: `receipts` in a process of its own, with everything logged to standard error.
LOUD_RECEIPTS = [sys.executable, "-c", _LOUD]
FORMS = ("table", "json", "csv", "parquet")
_SPLIT = [part for dimension in DIMENSIONS for part in ("--by", dimension)]


class Journey:
    """``folder`` will hold the home and the reports; with ``kafka`` the way leads through it."""

    def __init__(self, folder: Path, kafka: KafkaSettings | None = None) -> None:
        self.home = folder / "home"
        self.said: dict[str, str] = {}
        self._script = folder / "script"
        self._reports = folder / "reports"
        self._reports.mkdir()
        self._kafka = kafka
        self._numbers = count()

    def watch(self, steps: list[Step]) -> None:
        """One connection, through a tap. Of the tap only its standard error is ours."""
        tap = [*LOUD_RECEIPTS, "--home", str(self.home), "tap", "--automatic-below-ms", "0", "--"]
        self._hear("tap, standard error", play(tap, self._script, steps).decode())

    def go_on(self, forms: Sequence[str] = FORMS) -> None:
        """From the spool to every report, in each of ``forms``."""
        if self._kafka is not None:
            self.run("ship", *self._address)
        self.run("land", *self._address)
        for name, question in Catalogue().questions.items():
            split = _SPLIT if question.picks else []
            for form in forms:
                output = str(self._reports / f"{name}.{form}")
                to_file = [] if form == "table" else ["--output", output]
                self.run("report", name, *split, "--format", form, *to_file)
        self.run("status", "--format", "json")
        self.run("status")

    def land_loudly(self) -> None:
        """Land in a process of its own, which prints its metrics."""
        done = subprocess.run(
            [*LOUD_RECEIPTS, "--home", str(self.home), "land", *self._address],
            env=os.environ | {"OTEL_METRICS_EXPORTER": "console"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert "elicitation_receipts.landed" in done.stdout
        self._hear("land with metrics", done.stdout + done.stderr)

    def run(self, *arguments: str) -> None:
        """Run a command to its good end."""
        ended = run_here(self.home, *arguments)
        assert ended.code == 0, ended.err
        self._hear(" ".join(arguments), ended.out + ended.err + ended.log)

    def look(self, search: LeakSearch) -> None:
        """Everywhere a value could have come."""
        search.folder(self.home)
        search.folder(self._reports)
        for path in self._reports.glob("*.parquet"):  # it is compressed
            search.look(f"{path}, its rows", _rows(path).encode())
        for command, text in self.said.items():
            search.look(f"what `{command}` says", text.encode())
        if self._kafka is not None:
            search.topic(self._kafka)

    def receipts(self) -> list[Receipt]:
        """Every receipt of the spool."""
        with Spool.open(self.home, create=False) as spool:
            return [decode(stored.message) for stored in spool.read(0, 10**9)]

    @property
    def _address(self) -> list[str]:
        if self._kafka is None:
            return []
        return ["--kafka", self._kafka.address, "--kafka-topic", self._kafka.topic]

    def _hear(self, command: str, text: str) -> None:
        self.said[f"{next(self._numbers)}: {command}"] = text


def _rows(parquet: Path) -> str:
    with duckdb.connect(":memory:") as database:
        return str(database.execute("FROM read_parquet($path)", {"path": str(parquet)}).fetchall())
