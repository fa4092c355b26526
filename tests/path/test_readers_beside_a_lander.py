"""`land --follow` beside reports in a loop: neither starves, and none sees half a batch."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import sample

from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.spool import Spool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

RECEIPTS = [sys.executable, "-m", "elicitation_receipts"]


def test_for_a_while(tmp_path: Path) -> None:
    run_together(tmp_path / "home", 8)


@pytest.mark.long
def test_for_a_minute(tmp_path: Path) -> None:
    run_together(tmp_path / "home", 60)


def run_together(home: Path, seconds: float) -> None:
    ended = threading.Event()

    def write() -> None:
        with Spool.open(home, durability="process") as spool:
            stream = spool.stream_for("default", sample.PRODUCER)
            while not ended.wait(0.1):
                spool.append([sample.receipt(stream) for _ in range(50)])

    with Spool.open(home) as spool:
        spool.stream_for("default", sample.PRODUCER)
    subprocess.run([*RECEIPTS, "--home", home, "land"], check=True, stdout=subprocess.DEVNULL)
    writer = threading.Thread(target=write)
    writer.start()
    counts: list[int] = []
    with subprocess.Popen([*RECEIPTS, "--home", home, "land", "--follow"]) as lander:
        until = time.monotonic() + seconds
        while time.monotonic() < until or len(counts) < 4:
            subprocess.run(  # a reader that waits in vain ends with an error
                [*RECEIPTS, "--home", home, "report", "completion"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            counts.append(landed(home))
        ended.set()
        writer.join()
        with Spool.open(home) as spool:  # reports leave receipts of their own
            written = sum(stream.next_sequence for stream in spool.streams())
        while landed(home) < written:
            time.sleep(0.05)
        lander.send_signal(signal.SIGTERM)
        assert lander.wait(60) == 0
    assert landed(home) == written
    assert len(set(counts)) > len(counts) / 2, "the lander starved"


def landed(home: Path) -> int:
    """How many receipts have landed; together with the position that says so."""
    with Warehouse(home / "warehouse.duckdb", wait=60).read() as database:
        [(count, position)] = database.execute(
            "SELECT (SELECT count(*) FROM receipts), (SELECT next_offset FROM positions)"
        ).fetchall()
    assert position == count + 1
    return int(count)
