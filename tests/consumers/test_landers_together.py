"""Landers of one group on one database come, go and are killed: each receipt lands once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from streams import Sealed, chain, landed

from elicitation_receipts.consumers.warehouse import Warehouse

pytestmark = [pytest.mark.slow, pytest.mark.kafka]

LANDER = """
import sys
from pathlib import Path
from elicitation_receipts.consumers import landing
from elicitation_receipts.consumers.kafka_source import KafkaSource
from elicitation_receipts.schemas.kafka import KafkaSettings
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.stopping import stop_on_signal

landing.BATCH = 25  # many transactions, so that the landers meet
with stop_on_signal() as stop, KafkaSource(KafkaSettings(*sys.argv[2:])) as source:
    print(flush=True)
    landing.Lander(landing.Warehouse(Path(sys.argv[1]), wait=60), source, Key(b"k" * 32)).land(
        follow=True, stop=stop
    )
"""
PARTITIONS = 8


class Landers:
    """Those that run. Each is at work once it is in the list."""

    def __init__(self, *arguments: str) -> None:
        self._arguments = arguments
        self.running: list[subprocess.Popen[str]] = []

    def join(self) -> None:
        lander = subprocess.Popen(
            [sys.executable, "-c", LANDER, *self._arguments], stdout=subprocess.PIPE, text=True
        )
        assert lander.stdout is not None
        lander.stdout.readline()
        self.running.append(lander)

    def leave(self, how: signal.Signals) -> None:
        with self.running.pop(random.randrange(len(self.running))) as lander:
            lander.send_signal(how)
            assert lander.wait(60) == (0 if how is signal.SIGTERM else -how)


@pytest.fixture
def landers(warehouse: Warehouse, kafka: str, topic: str) -> Iterator[Landers]:
    landers = Landers(str(warehouse.path), kafka, topic)
    yield landers
    for each in landers.running:
        each.kill()
        each.communicate()


def test_one_then_four_then_one(
    landers: Landers, warehouse: Warehouse, kafka: str, topic: str
) -> None:
    admin = KafkaAdminClient(bootstrap_servers=kafka)
    admin.create_partitions({topic: PARTITIONS})
    admin.close()
    streams = [chain(120) for _ in range(PARTITIONS)]
    producer = KafkaProducer(bootstrap_servers=kafka)
    sent = 0

    def send() -> None:
        """The next part of every stream, while the landers are at work."""
        nonlocal sent
        for partition, stream in enumerate(streams):
            for one in stream[sent : sent + 20]:
                producer.send(topic, one.message, key=one.key, partition=partition)
        sent += 20
        producer.flush()

    try:
        landers.join()
        send()
        for _ in range(3):
            landers.join()
        send()
        landers.leave(signal.SIGKILL)
        landers.join()
        send()
        landers.leave(signal.SIGTERM)
        landers.leave(signal.SIGKILL)
        send()
        landers.leave(signal.SIGKILL)
        send()
        send()
        assert len(landers.running) == 1
        wait_until_landed(warehouse.path, streams)
        landers.leave(signal.SIGTERM)
    finally:
        producer.close()

    with warehouse.read() as database:
        assert landed(database) == sorted(
            (one.receipt for stream in streams for one in stream),
            key=lambda receipt: (receipt.stream_id, receipt.sequence),
        )
        positions = dict(
            database.execute("SELECT partition, next_offset FROM positions").fetchall()
        )
        beside = database.execute(
            "SELECT (SELECT count(*) FROM breaks), (SELECT count(*) FROM rejects)"
        ).fetchall()
    assert positions == dict.fromkeys(range(PARTITIONS), 120)
    assert beside == [(0, 0)]


def wait_until_landed(path: Path, streams: list[list[Sealed]]) -> None:
    expected = sum(map(len, streams))
    deadline = time.monotonic() + 120
    found = 0
    while found < expected and time.monotonic() < deadline:
        time.sleep(0.2)
        with Warehouse(path, wait=60).read() as database:
            [(found,)] = database.execute("SELECT count(*) FROM receipts").fetchall()
