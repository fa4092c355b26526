"""Fixtures that several folders of tests share."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import pytest
from broker import Broker, BrokerError
from hypothesis import settings

# How long an example takes says how busy the machine is.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # In the background of a shell Ctrl-C is ignored, and so by every process a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real broker: `RECEIPTS_TEST_KAFKA`, else one started here.

    Skips with the reason where there is none to be had; with `RECEIPTS_REQUIRE_KAFKA=1` it fails.
    """
    given = os.environ.get("RECEIPTS_TEST_KAFKA")
    if given:
        yield given
        return
    broker = new_broker(tmp_path_factory.mktemp("kafka"))
    try:
        yield broker.address
    finally:
        broker.stop()


@pytest.fixture
def start_broker(tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    """Makes a running broker of the test's own, to stop, kill and start again.

    ``start_broker(**{property: value})``
    """
    brokers: list[Broker] = []

    def start(**properties: str) -> Broker:
        brokers.append(new_broker(tmp_path / f"kafka-{len(brokers)}", properties))
        return brokers[-1]

    yield start
    for broker in brokers:
        broker.stop()


@pytest.fixture
def own_broker(start_broker: Callable[..., Broker]) -> Broker:
    """A running broker of the test's own."""
    return start_broker()


@pytest.fixture
def topic(kafka: str) -> str:
    """The name of a new, empty topic with 4 partitions."""
    return new_topic(kafka)


def new_broker(directory: Path, properties: Mapping[str, str] | None = None) -> Broker:
    """A running broker; skips, or fails, where there is none to be had."""
    try:
        broker = Broker(directory, properties)
        broker.start()
    except BrokerError as error:
        reason = f"no Kafka broker: {error}"
        if os.environ.get("RECEIPTS_REQUIRE_KAFKA") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return broker


def new_topic(address: str) -> str:
    from kafka import KafkaAdminClient

    name = f"receipts-{uuid4().hex[:12]}"
    admin = KafkaAdminClient(bootstrap_servers=address)
    try:
        admin.create_topics(
            {name: {"num_partitions": 4, "replication_factor": 1}}, wait_for_metadata=True
        )
    finally:
        admin.close()
    return name


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB of its own, to be filled; skips where none can be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
