"""Shippers killed at random points: once one is left in peace, the topic equals the spool."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from sample import PRODUCER, question, run
from topic import assert_topic_equals, read_topic

from elicitation_receipts.producers.ship import Shipper
from elicitation_receipts.schemas.kafka import KafkaSettings
from elicitation_receipts.schemas.spool import Spool

SHIPPER = """
import sys
from pathlib import Path
from elicitation_receipts.producers.ship import Shipper
from elicitation_receipts.schemas.kafka import KafkaSettings
from elicitation_receipts.schemas.spool import Spool

with Spool.open(Path(sys.argv[1]), create=False) as spool:
    print(flush=True)
    Shipper(spool, KafkaSettings(sys.argv[2], sys.argv[3])).run(follow=True)
"""


@pytest.mark.kafka
@pytest.mark.slow
def test_shippers_killed_at_random(tmp_path: Path, kafka: str, topic: str) -> None:
    chance = random.Random(20261130)
    with Spool.open(tmp_path / "home", durability="process") as spool:
        streams = [spool.stream_for(f"tenant-{number}", PRODUCER) for number in range(3)]
        interrupted = 0
        for _ in range(30):
            spool.append([question(chance.choice(streams)) for _ in range(800)])
            with run(SHIPPER, spool.home, kafka, topic) as shipper:
                assert shipper.stdout is not None
                assert shipper.stdout.readline() == "\n"
                time.sleep(chance.uniform(0, 0.5))
                shipper.kill()
            interrupted += bool(spool.unshipped(1))
        assert interrupted > 0

        Shipper(spool, KafkaSettings(kafka, topic)).run()

        assert spool.unshipped(1) == []
        assert_topic_equals(spool, read_topic(kafka, topic))
