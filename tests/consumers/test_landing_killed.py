"""A lander killed at any moment: what is there is a whole beginning, and a rerun makes it whole."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sample
from killed_lander import THE_LOOP, Step, killed_landers, steps
from streams import landed

from elicitation_receipts.consumers.kafka_source import KafkaSource
from elicitation_receipts.consumers.landing import Lander
from elicitation_receipts.consumers.source import SpoolSource
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.producers.ship import Shipper
from elicitation_receipts.schemas.codec import encode
from elicitation_receipts.schemas.kafka import KafkaSettings
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.spool import Spool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

LANDER = """
import sys
from pathlib import Path
from elicitation_receipts.consumers import landing
from elicitation_receipts.consumers.kafka_source import KafkaSource
from elicitation_receipts.consumers.source import SpoolSource
from elicitation_receipts.schemas.kafka import KafkaSettings
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.spool import Spool

landing.BATCH = 25  # many transactions, so that most kills hit one
home, path, *broker = sys.argv[1:]
source = KafkaSource(KafkaSettings(*broker)) if broker else SpoolSource(Spool.open(Path(home)))
landing.Lander(landing.Warehouse(Path(path)), source, Key(b"k" * 32)).land(
    progress=lambda summary, remaining: print(remaining, flush=True)
)
"""
RECEIPTS = 3000


def write(home: Path) -> dict[str, list[bytes]]:
    """A spool of three streams; their messages."""
    with Spool.open(home, durability="process") as spool:
        streams = [spool.stream_for(tenant, sample.PRODUCER) for tenant in ("a", "b", "c")]
        tenants = dict(zip(streams, ("a", "b", "c"), strict=True))
        for _ in range(RECEIPTS // 300):
            written = [random.choice(streams) for _ in range(300)]
            spool.append([sample.question(id_, tenant=tenants[id_]) for id_ in written])
        messages: dict[str, list[bytes]] = {}
        for stored in spool.read(0, 10**9):
            messages.setdefault(str(stored.stream_id), []).append(stored.message)
        return messages


def kill_landers(times: int, arguments: list[str], check: Callable[[], int]) -> None:
    """Start a lander and kill it within a random transaction, over and over, looking each time."""
    counts = [0]
    for _ in range(times):
        with subprocess.Popen(
            [sys.executable, "-c", LANDER, *arguments], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for _ in range(random.randint(0, 6)):
                process.stdout.readline()
            time.sleep(random.uniform(0, 0.03))
            process.kill()
        counts.append(check())
        assert counts[-1] >= counts[-2]
    assert len(set(counts)) > 5, "the kills hit nothing"


def assert_whole_beginning(warehouse: Warehouse, messages: dict[str, list[bytes]]) -> int:
    """Every stream stands there from its start, nothing twice; how many receipts in all."""
    if not warehouse.path.exists():
        return 0
    with warehouse.read() as database:
        found: dict[str, list[bytes]] = {}
        for receipt in landed(database):
            found.setdefault(str(receipt.stream_id), []).append(encode(receipt))
        positions = database.execute("SELECT partition, next_offset FROM positions").fetchall()
        beside = database.execute(
            "SELECT (SELECT count(*) FROM breaks), (SELECT count(*) FROM rejects)"
        ).fetchall()
    for stream_id, stream in found.items():
        assert stream == messages[stream_id][: len(stream)]
    assert beside == [(0, 0)]
    count = sum(map(len, found.values()))
    # Rows and positions are of one transaction. A spool counts from 1, a partition from 0.
    assert sum(next_offset for _, next_offset in positions) - count in ({0, 1} if count else {0})
    return count


def test_from_a_spool(tmp_path: Path, warehouse: Warehouse) -> None:
    messages = write(tmp_path / "home")
    kill_landers(
        36,
        [str(tmp_path / "home"), str(warehouse.path)],
        lambda: assert_whole_beginning(warehouse, messages),
    )
    with Spool.open(tmp_path / "home") as spool:
        Lander(warehouse, SpoolSource(spool), Key(b"k" * 32)).land()
    assert assert_whole_beginning(warehouse, messages) == RECEIPTS + 3


def test_before_every_step_of_the_loop(tmp_path: Path, warehouse: Warehouse) -> None:
    kill_before_each(tmp_path, warehouse, lambda step: step[0] in THE_LOOP)


@pytest.mark.long
def test_before_every_line(tmp_path: Path, warehouse: Warehouse) -> None:
    kill_before_each(tmp_path, warehouse, lambda _: True)


def kill_before_each(tmp_path: Path, warehouse: Warehouse, chosen: Callable[[Step], bool]) -> None:
    messages = write(tmp_path / "home")
    with Spool.open(tmp_path / "few") as few:
        stream = few.stream_for("a", sample.PRODUCER)
        few.append([sample.question(stream) for _ in range(50)])
    there_are = [step for step in steps(tmp_path / "few", tmp_path / "few.duckdb") if chosen(step)]
    assert len({function for function, _ in there_are}) >= len(THE_LOOP)
    # One database for all of them: each has another part of the backlog before it.
    with killed_landers(tmp_path / "home", warehouse.path) as kill_before:
        killed = [
            kill_before(step) and assert_without_holes(warehouse) < RECEIPTS for step in there_are
        ]
    assert sum(killed) > 0.9 * len(there_are)  # some lines are only reached at the end
    with Spool.open(tmp_path / "home") as spool:
        Lander(warehouse, SpoolSource(spool), Key(b"k" * 32)).land()
    assert assert_whole_beginning(warehouse, messages) == RECEIPTS + 3


def assert_without_holes(warehouse: Warehouse) -> int:
    """As :func:`assert_whole_beginning`, by numbers alone, and soon done."""
    if not warehouse.path.exists():
        return 0
    with warehouse.open() as database:
        streams = database.execute(
            "SELECT count(*), count(DISTINCT sequence), max(sequence) + 1"
            " FROM receipts GROUP BY stream_id"
        ).fetchall()
        positions = database.execute("SELECT next_offset FROM positions").fetchall()
    assert all(len(set(stream)) == 1 for stream in streams)
    count = sum(stream[0] for stream in streams)
    assert positions == ([(count + 1,)] if count else [])
    return count


@pytest.mark.kafka
def test_from_kafka(tmp_path: Path, warehouse: Warehouse, kafka: str, topic: str) -> None:
    messages = write(tmp_path / "home")
    settings = KafkaSettings(kafka, topic)
    with Spool.open(tmp_path / "home") as spool:
        Shipper(spool, settings).run()
    kill_landers(
        24,
        ["-", str(warehouse.path), kafka, topic],
        lambda: assert_whole_beginning(warehouse, messages),
    )
    with KafkaSource(settings) as source:
        Lander(warehouse, source, Key(b"k" * 32)).land()
    assert assert_whole_beginning(warehouse, messages) == RECEIPTS + 3
