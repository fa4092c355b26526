"""The shipper on a real broker: everything arrives, in order, marked only once it has."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from broker import Broker
from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
from sample import PRODUCER, question, receipt
from topic import assert_topic_equals, read_topic

from elicitation_receipts.producers.ship import Shipper, create_topic
from elicitation_receipts.schemas.errors import ShipError
from elicitation_receipts.schemas.kafka import KafkaSettings
from elicitation_receipts.schemas.lock import FileLock
from elicitation_receipts.schemas.receipt import FailedField, Finding, Validation
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import FindingName, Gate, Keyword, Severity

#: Nobody listens there.
NOWHERE = KafkaSettings("127.0.0.1:1", options={"reconnect_backoff_ms": 500})


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with Spool.open(tmp_path / "home", durability="process") as opened:
        yield opened


def write(spool: Spool, count: int, tenants: int = 3) -> None:
    streams = [spool.stream_for(f"tenant-{number}", PRODUCER) for number in range(tenants)]
    spool.append([question(streams[number % tenants]) for number in range(count)])


def unshipped(spool: Spool) -> int:
    return len(spool.unshipped(10**9))


def fails(shipper: Shipper) -> str:
    with pytest.raises(ShipError) as caught:
        shipper.run()
    return caught.value.reason


@contextmanager
def following(spool: Spool, settings: KafkaSettings) -> Iterator[None]:
    stop = threading.Event()
    shipper = threading.Thread(
        target=Shipper(spool, settings).run, kwargs={"follow": True, "stop": stop}
    )
    shipper.start()
    try:
        yield
    finally:
        stop.set()
        shipper.join()


def wait_until_shipped(spool: Spool) -> None:
    deadline = time.monotonic() + 60
    while unshipped(spool):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.kafka
def test_everything_arrives_in_order_under_its_streams_key(
    spool: Spool, kafka: str, topic: str
) -> None:
    write(spool, 2500)
    told: list[int] = []

    assert Shipper(spool, KafkaSettings(kafka, topic)).run(progress=told.append) == 2503

    written = read_topic(kafka, topic)
    assert len(written) == sum(told) == 2503
    assert_topic_equals(spool, written)
    assert all(each.headers == [] for each in written)
    assert unshipped(spool) == 0


@pytest.mark.kafka
def test_what_is_shipped_is_not_shipped_again(spool: Spool, kafka: str, topic: str) -> None:
    shipper = Shipper(spool, KafkaSettings(kafka, topic))
    write(spool, 10)
    shipper.run()
    write(spool, 5)
    assert shipper.run() == 5
    assert len(read_topic(kafka, topic)) == 18


@pytest.mark.kafka
def test_large_receipts_are_shipped_in_more_than_one_lot(
    spool: Spool, kafka: str, topic: str
) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    findings = (Finding(FindingName.UNANSWERED, Severity.WARNING, Gate.RECOVERY),) * 64
    failed = tuple(FailedField(f"[{place}]", Keyword.TYPE) for place in range(64))
    large = receipt(stream_id, findings=findings, validation=Validation(64, 64, 64, failed))
    spool.append([large] * 1500)
    lots: list[int] = []
    Shipper(spool, KafkaSettings(kafka, topic)).run(progress=lots.append)
    assert len(lots) > 2  # a lot holds up to 1000
    assert_topic_equals(spool, read_topic(kafka, topic))


@pytest.mark.kafka
def test_following_ships_what_comes(spool: Spool, kafka: str, topic: str) -> None:
    with following(spool, KafkaSettings(kafka, topic)):
        for _ in range(3):
            write(spool, 10)
            wait_until_shipped(spool)
    assert_topic_equals(spool, read_topic(kafka, topic))


@pytest.mark.kafka
def test_following_waits_where_it_cannot_remember_and_sends_nothing_twice(
    small_disk: Path, kafka: str, topic: str
) -> None:
    with Spool.open(small_disk / "home", durability="process") as spool:
        write(spool, 100)
        (small_disk / "filler").write_bytes(b"")
        with following(spool, KafkaSettings(kafka, topic)):
            wait_until_shipped(spool)
            write(spool, 100)
        fill(small_disk / "filler")
        with following(spool, KafkaSettings(kafka, topic)):
            deadline = time.monotonic() + 60
            while len(read_topic(kafka, topic)) < 203:
                assert time.monotonic() < deadline
            time.sleep(1)
            assert unshipped(spool) == 100
            (small_disk / "filler").unlink()
            wait_until_shipped(spool)
        assert len(read_topic(kafka, topic)) == 203
        assert_topic_equals(spool, read_topic(kafka, topic))


def fill(file: Path) -> None:
    with file.open("ab", buffering=0) as filler:
        for size in (65536, 4096, 1):
            with suppress(OSError):
                while True:
                    filler.write(bytes(size))


@pytest.mark.kafka
def test_the_spool_keeps_what_is_young_and_what_kafka_does_not_have(
    spool: Spool, kafka: str, topic: str
) -> None:
    stream = spool.stream_for("default", PRODUCER)
    spool.append([receipt(stream, occurred_at=1) for _ in range(2500)])
    settings = KafkaSettings(kafka, topic)
    Shipper(spool, settings).run()
    assert len(spool.read(0, 10**9)) == 2501  # kept for ever, by default
    Shipper(spool, settings, keep=3600).run()
    assert len(spool.read(0, 10**9)) == 2501  # the stream's first receipt is young
    spool.append([receipt(stream) for _ in range(3)])
    assert Shipper(spool, NOWHERE, timeout=0, keep=0).run(stop=stopped()) == 0
    assert len(spool.read(0, 10**9)) == 3
    assert Shipper(spool, settings, keep=0).run() == 3
    assert spool.read(0, 10**9) == []
    assert len(read_topic(kafka, topic)) == 2504


def stopped() -> threading.Event:
    stop = threading.Event()
    stop.set()
    return stop


@pytest.mark.kafka
def test_a_topic_that_does_not_exist_is_named_and_can_be_made(spool: Spool, kafka: str) -> None:
    settings = KafkaSettings(kafka, f"missing-{time.time_ns()}")
    write(spool, 1)
    assert fails(Shipper(spool, settings)) == "topic_not_found"
    assert unshipped(spool) == 4

    assert create_topic(settings, partitions=2)
    assert not create_topic(settings)
    assert Shipper(spool, settings).run() == 4
    assert {each.partition for each in read_topic(kafka, settings.topic)} <= {0, 1}


@pytest.mark.kafka
def test_a_topic_that_takes_small_batches_gets_them(spool: Spool, kafka: str) -> None:
    settings = narrow_topic(kafka, 20_000)
    write(spool, 1000, tenants=1)
    assert Shipper(spool, settings).run() == 1001
    assert_topic_equals(spool, read_topic(kafka, settings.topic))


@pytest.mark.kafka
def test_a_topic_that_takes_no_receipt_is_named(spool: Spool, kafka: str) -> None:
    settings = narrow_topic(kafka, 100)
    write(spool, 1)
    assert fails(Shipper(spool, settings)) == "message_refused"
    assert unshipped(spool) == 4


def narrow_topic(address: str, most: int) -> KafkaSettings:
    """A topic whose batches have at most so many bytes."""
    settings = KafkaSettings(address, f"narrow-{time.time_ns()}")
    admin = KafkaAdminClient(bootstrap_servers=address)
    admin.create_topics({settings.topic: {"configs": {"max.message.bytes": str(most)}}})
    admin.close()
    return settings


@pytest.mark.kafka
@pytest.mark.slow
def test_a_broker_that_lets_nobody_write_is_named(
    spool: Spool, start_broker: Callable[..., Broker]
) -> None:
    guarded = start_broker(
        **{
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
        }
    )
    settings = KafkaSettings(guarded.address)
    create_topic(settings)
    forbid(settings, ACLOperation.WRITE)
    write(spool, 1)
    assert fails(Shipper(spool, settings)) == "broker_refused"
    assert unshipped(spool) == 4


def forbid(settings: KafkaSettings, operation: ACLOperation) -> None:
    topic = ResourcePattern(ResourceType.TOPIC, settings.topic)
    admin = KafkaAdminClient(bootstrap_servers=settings.address)
    admin.create_acls([ACL("User:*", "*", operation, ACLPermissionType.DENY, topic)])
    admin.close()


@pytest.mark.kafka
@pytest.mark.slow
def test_a_broker_that_dies_and_returns_has_everything_in_order(
    spool: Spool, own_broker: Broker
) -> None:
    broker = own_broker
    settings = KafkaSettings(broker.address)
    create_topic(settings)
    write(spool, 2000)
    with following(spool, settings):
        for _ in range(3):
            write(spool, 3000)
            broker.kill()
            write(spool, 100)
            time.sleep(1)
            assert unshipped(spool) > 0
            broker.start()
            wait_until_shipped(spool)
    assert_topic_equals(spool, read_topic(broker.address, settings.topic))


def test_without_a_broker_it_gives_up_in_time(spool: Spool) -> None:
    write(spool, 1)
    began = time.monotonic()
    assert fails(Shipper(spool, NOWHERE, timeout=1)) == "broker_unavailable"
    assert 1 <= time.monotonic() - began < 5
    assert unshipped(spool) == 4


def test_following_without_a_broker_waits_until_it_is_stopped(spool: Spool) -> None:
    write(spool, 1)
    stop = threading.Event()
    timer = threading.Timer(2, stop.set)
    timer.start()
    assert Shipper(spool, NOWHERE, timeout=0.5).run(follow=True, stop=stop) == 0
    timer.join()


def test_with_nothing_to_ship_no_broker_is_asked(spool: Spool) -> None:
    assert Shipper(spool, NOWHERE).run() == 0


def test_a_second_shipper_is_refused(spool: Spool) -> None:
    with FileLock(spool.home / "ship.lock"):
        assert fails(Shipper(spool, NOWHERE)) == "shipper_running"


def test_an_option_the_client_does_not_know_is_named(spool: Spool) -> None:
    write(spool, 1)
    settings = KafkaSettings("127.0.0.1:1", options={"no_such_option": "hunter2"})
    with pytest.raises(ShipError) as caught:
        Shipper(spool, settings).run()
    assert caught.value.reason == "kafka_misconfigured"
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(settings)
