"""`receipts metrics`: served to whoever scrapes, from a home in use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
import sample
from lives import Lives, answered, requested
from prometheus_client.parser import text_string_to_metric_families

from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Outcome

METRICS = [sys.executable, "-m", "elicitation_receipts", "metrics", "--listen"]


@contextmanager
def serving(home: Path, *options: str) -> Iterator[str]:
    """The address of `receipts metrics` in a process of its own, stopped at the end."""
    process = subprocess.Popen(
        [*METRICS, "127.0.0.1:0", *options],
        env=os.environ | {"RECEIPTS_HOME": str(home)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert line.startswith("receipts: metrics at "), line
        yield line.split()[-1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def scrape(address: str) -> dict[str, float]:
    """The sum over each metric's series."""
    with urllib.request.urlopen(address, timeout=30) as response:
        text = response.read().decode()
    return {
        family.name: sum(one.value for one in family.samples)
        for family in text_string_to_metric_families(text)
    }


@pytest.fixture
def used(home: Path) -> Path:
    home.mkdir(mode=0o700)
    with Spool.open(home) as spool:
        stream = spool.stream_for("default", sample.PRODUCER)
        spool.append([sample.question(stream)], uuid4())
    return home


def test_what_landed_and_what_waits(used: Path) -> None:
    with Warehouse(used / "warehouse.duckdb").open() as database:
        Lives(database).add(requested(), answered(Outcome.ACCEPTED))
    with serving(used, "--refresh", "0") as address:
        first = scrape(address)
        with Warehouse(used / "warehouse.duckdb").open() as database:
            Lives(database).add(requested(), answered(Outcome.ACCEPTED))
        second = scrape(address)
    assert first["elicitation_receipts_open_questions"] == 1
    assert first["elicitation_receipts_spooled"] == 2
    # `Lives` empties the table first; what counts is that the figures were taken anew.
    assert first["elicitation_receipts_put"] == second["elicitation_receipts_put"] == 1
    assert (
        second["elicitation_receipts_last_landed_seconds"]
        >= (first["elicitation_receipts_last_landed_seconds"])
    )


def test_nothing_landed_yet_tells_of_the_spool_alone(used: Path) -> None:
    with serving(used) as address:
        found = scrape(address)
    assert found == {
        "elicitation_receipts_spooled": 2,
        "elicitation_receipts_unshipped": 2,
        "elicitation_receipts_open_questions": 1,
    }


def test_a_database_that_is_held_leaves_the_figures_of_before(used: Path) -> None:
    warehouse = Warehouse(used / "warehouse.duckdb")
    with warehouse.open() as database:
        Lives(database).add(requested(), answered(Outcome.ACCEPTED))
    with serving(used, "--refresh", "0") as address:
        assert scrape(address)["elicitation_receipts_put"] == 1
        with warehouse.open():
            found = scrape(address)
    assert found["elicitation_receipts_put"] == 1
    assert found["elicitation_receipts_figures_age_seconds"] > 1


def test_an_address_in_use(used: Path) -> None:
    with serving(used) as address:
        done = subprocess.run(
            [*METRICS, address.removeprefix("http://").removesuffix("/metrics")],
            env=os.environ | {"RECEIPTS_HOME": str(used)},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("receipts: listen_unavailable: ")
