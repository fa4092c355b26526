"""Landing from a real broker: committed records only, from our own positions, never past a hole."""

from __future__ import annotations

import gc
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest
from broker import Broker
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from streams import Sealed, chain, landed

from elicitation_receipts.consumers import kafka_source
from elicitation_receipts.consumers.kafka_source import KafkaSource
from elicitation_receipts.consumers.landing import Lander, LandingSummary
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.errors import SourceError, WarehouseError
from elicitation_receipts.schemas.kafka import KafkaSettings
from elicitation_receipts.schemas.keys import Key

pytestmark = pytest.mark.kafka


@pytest.fixture
def garbage_collected() -> Iterator[None]:
    yield
    gc.collect()


def may_leave_sockets(test: Callable[..., None]) -> Callable[..., None]:
    """kafka-python leaves the socket of a failed connection to the garbage collector."""
    for mark in (
        pytest.mark.usefixtures("garbage_collected"),
        pytest.mark.filterwarnings("ignore::ResourceWarning"),
        pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    ):
        test = mark(test)
    return test


@contextmanager
def producer(address: str, **options: object) -> Iterator[KafkaProducer]:
    client = KafkaProducer(bootstrap_servers=address, **options)
    try:
        yield client
    finally:
        client.close()


def send(client: KafkaProducer, topic: str, *receipts: Sealed, **options: object) -> None:
    for one in receipts:
        client.send(topic, one.message, key=one.key, **options)
    client.flush()


def land(warehouse: Warehouse, settings: KafkaSettings, key: Key) -> LandingSummary:
    with KafkaSource(settings) as source:
        return Lander(warehouse, source, key).land()


@pytest.fixture
def settings(kafka: str, topic: str) -> KafkaSettings:
    return KafkaSettings(kafka, topic)


def test_a_batch_is_gathered_from_more_than_one_response(
    settings: KafkaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_source, "_RESPONSE_BYTES", 1)  # a broker then sends one record
    monkeypatch.setattr(kafka_source, "_GATHER", 10)
    with producer(settings.address) as client:
        for receipt in chain(6):
            send(client, settings.topic, receipt)
    with KafkaSource(settings) as source:
        assert len(source.fetch({}, 4, 10)) == 4


def test_a_topic_lands_in_order_and_goes_on_where_it_stopped(
    settings: KafkaSettings, warehouse: Warehouse, lander_key: Key
) -> None:
    streams = [chain(20) for _ in range(5)]
    with producer(settings.address) as client:
        send(client, settings.topic, *(one for stream in streams for one in stream[:15]))
        assert land(warehouse, settings, lander_key) == LandingSummary(landed=75)
        assert land(warehouse, settings, lander_key) == LandingSummary()
        send(client, settings.topic, *(one for stream in streams for one in stream[15:]))
        client.send(settings.topic, b"rubbish", key=b"key")
    assert land(warehouse, settings, lander_key) == LandingSummary(landed=25, rejected=1)

    with warehouse.read() as database:
        expected = sorted((one.receipt for stream in streams for one in stream),
                          key=lambda receipt: (receipt.stream_id, receipt.sequence))  # fmt: skip
        assert landed(database) == expected
        rejects = database.execute("SELECT topic, reason FROM rejects").fetchall()
        positions = dict(
            database.execute("SELECT partition, next_offset FROM positions").fetchall()
        )
    assert rejects == [(settings.topic, "not_single_object")]

    # The group's offsets agree, for whoever watches the lag with Kafka's own tools.
    watcher = KafkaConsumer(
        bootstrap_servers=settings.address,
        group_id="elicitation-receipts",
        enable_auto_commit=False,
    )
    committed = {p: watcher.committed(TopicPartition(settings.topic, p)) for p in positions}
    watcher.close(autocommit=False)
    assert committed == positions
    assert sum(positions.values()) == 101


def test_two_warehouses_each_get_all_of_it(
    settings: KafkaSettings, warehouse: Warehouse, lander_key: Key
) -> None:
    with producer(settings.address) as client:
        send(client, settings.topic, *chain(10))
    other = Warehouse(warehouse.path.parent / "other" / "warehouse.duckdb")
    other.path.parent.mkdir()
    with KafkaSource(settings) as one, KafkaSource(settings) as two:
        assert Lander(warehouse, one, lander_key).land().landed == 10
        assert Lander(other, two, lander_key).land().landed == 10


def test_only_committed_transactions_land(
    settings: KafkaSettings, warehouse: Warehouse, lander_key: Key
) -> None:
    kept, dropped, pending = chain(5), chain(5), chain(5)
    with producer(settings.address, transactional_id=settings.topic) as client:
        client.init_transactions()
        client.begin_transaction()
        send(client, settings.topic, *kept, partition=0)
        client.commit_transaction()
        client.begin_transaction()
        send(client, settings.topic, *dropped, partition=0)
        client.abort_transaction()
        # Ends although only markers of transactions lie behind the last record.
        assert land(warehouse, settings, lander_key) == LandingSummary(landed=5)
        client.begin_transaction()
        send(client, settings.topic, *pending, partition=0)
        assert land(warehouse, settings, lander_key) == LandingSummary()
        client.commit_transaction()
    assert land(warehouse, settings, lander_key) == LandingSummary(landed=5)


def test_records_that_are_gone_are_never_jumped_over(
    settings: KafkaSettings, warehouse: Warehouse, lander_key: Key
) -> None:
    receipts = chain(30)
    place = TopicPartition(settings.topic, 0)
    with producer(settings.address) as client:
        send(client, settings.topic, *receipts[:10], partition=0)
        land(warehouse, settings, lander_key)
        send(client, settings.topic, *receipts[10:], partition=0)
    admin = KafkaAdminClient(bootstrap_servers=settings.address)
    admin.delete_records({place: 20})
    admin.close()

    with pytest.raises(SourceError) as caught:
        land(warehouse, settings, lander_key)
    assert caught.value.reason == "source_expired"
    assert f"{settings.topic}/0 has offsets 20 to 30" in str(caught.value)
    assert "stopped before 10" in str(caught.value)

    # What the message says to do: then what is left lands, and the gap is on record.
    with warehouse.open() as database:
        database.execute("DELETE FROM positions WHERE partition = 0")
    assert land(warehouse, settings, lander_key) == LandingSummary(landed=10, breaks=1)


def test_a_topic_made_anew_is_read_from_its_start(
    settings: KafkaSettings, warehouse: Warehouse, lander_key: Key
) -> None:
    admin = KafkaAdminClient(bootstrap_servers=settings.address)
    try:
        for count in (9, 3):
            with producer(settings.address) as client:
                send(client, settings.topic, *chain(count), partition=0)
            assert land(warehouse, settings, lander_key) == LandingSummary(landed=count)
            admin.delete_topics([settings.topic])
            admin.create_topics(
                {settings.topic: {"num_partitions": 4, "replication_factor": 1}},
                wait_for_metadata=True,
            )
    finally:
        admin.close()


def test_a_topic_that_grows_is_read_in_all_its_partitions(
    settings: KafkaSettings, warehouse: Warehouse, lander_key: Key
) -> None:
    settings = replace(settings, options={"metadata_max_age_ms": 300})
    before, behind = chain(3), chain(4)
    with KafkaSource(settings) as source:
        lander = Lander(warehouse, source, lander_key)
        with producer(settings.address) as client:
            send(client, settings.topic, *before, partition=0)
        assert lander.land().landed == 3
        admin = KafkaAdminClient(bootstrap_servers=settings.address)
        admin.create_partitions({settings.topic: 6})
        admin.close()
        with producer(settings.address) as client:
            send(client, settings.topic, *behind, partition=5)
        landed_later, deadline = 0, time.monotonic() + 20
        while not landed_later and time.monotonic() < deadline:
            landed_later += lander.land().landed
        assert landed_later == 4


def test_what_was_read_and_not_committed_is_read_again(settings: KafkaSettings) -> None:
    receipts = chain(6)
    with producer(settings.address) as client:
        send(client, settings.topic, *receipts, partition=2)
    with KafkaSource(settings) as source:
        first = fetch(source, {}, 4)
        assert [record.value for record in first] == [one.message for one in receipts[:4]]
        assert fetch(source, {}, 4) == first
        assert [record.offset for record in fetch(source, {2: 4}, 10)] == [4, 5]
        assert [record.offset for record in fetch(source, {2: 1}, 2)] == [1, 2]
        assert source.lag({2: 1}) == 5
        assert source.lag({2: 6}) == 0


def fetch(source: KafkaSource, positions: dict[int, int], limit: int) -> list[object]:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        records = source.fetch(positions, limit, 0.5)
        if records:
            return list(records)
    raise AssertionError("nothing came")


def test_a_topic_that_is_not_there_is_named(kafka: str) -> None:
    with (
        KafkaSource(KafkaSettings(kafka, "never-made")) as source,
        pytest.raises(SourceError) as caught,
    ):
        source.fetch({}, 1, 0)
    assert caught.value.reason == "topic_not_found"


@may_leave_sockets
def test_a_broker_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
    with (
        KafkaSource(KafkaSettings(address), patience=1) as source,
        pytest.raises(SourceError) as caught,
    ):
        source.fetch({}, 1, 0)
    assert caught.value.reason == "broker_unavailable"


@pytest.mark.slow
@may_leave_sockets
def test_a_broker_that_dies_and_comes_back_loses_nothing(
    own_broker: Broker, warehouse: Warehouse, lander_key: Key
) -> None:
    settings = KafkaSettings(own_broker.address, "receipts")
    admin = KafkaAdminClient(bootstrap_servers=settings.address)
    admin.create_topics({settings.topic: {"num_partitions": 2}}, wait_for_metadata=True)
    admin.close()
    receipts = chain(20)
    with producer(settings.address) as client:
        send(client, settings.topic, *receipts[:10])
    with KafkaSource(settings, patience=2) as source:
        lander = Lander(warehouse, source, lander_key)
        assert lander.land().landed == 10
        own_broker.kill()
        with pytest.raises(SourceError) as caught:
            lander.land()
        assert caught.value.reason == "broker_unavailable"
        own_broker.start()
        with producer(settings.address) as client:
            send(client, settings.topic, *receipts[10:])
        assert lander.land().landed == 10


@pytest.mark.slow
def test_a_topic_made_anew_under_a_follower_is_read_from_its_start(
    settings: KafkaSettings, warehouse: Warehouse, lander_key: Key
) -> None:
    settings = replace(settings, options={"metadata_max_age_ms": 300})
    stop = threading.Event()
    with KafkaSource(settings) as source:
        lander = Lander(warehouse, source, lander_key)
        follower = threading.Thread(target=lander.land, kwargs={"follow": True, "stop": stop})
        follower.start()
        try:
            total = 0
            # The second has more than the first had, so that its offsets are all in range.
            for count in (5, 20, 3):
                with producer(settings.address) as client:
                    send(client, settings.topic, *chain(count), partition=0)
                total += count
                wait_until_landed(warehouse, total)
                admin = KafkaAdminClient(bootstrap_servers=settings.address)
                admin.delete_topics([settings.topic])
                admin.create_topics({settings.topic: {"num_partitions": 4}}, wait_for_metadata=True)
                admin.close()
        finally:
            stop.set()
            follower.join()


def wait_until_landed(warehouse: Warehouse, count: int) -> None:
    deadline = time.monotonic() + 60
    found = 0
    while found < count and time.monotonic() < deadline:
        time.sleep(0.1)
        with suppress(WarehouseError), warehouse.read() as database:
            [(found,)] = database.execute("SELECT count(*) FROM receipts").fetchall()
    assert found == count


def test_a_lander_of_another_group_is_refused(
    settings: KafkaSettings, warehouse: Warehouse, lander_key: Key
) -> None:
    with producer(settings.address) as client:
        send(client, settings.topic, *chain(3))
    land(warehouse, settings, lander_key)
    with KafkaSource(settings, group="another") as source, pytest.raises(WarehouseError) as caught:
        Lander(warehouse, source, lander_key).land()
    assert caught.value.reason == "warehouse_of_another_group"
    assert "elicitation-receipts lands" in str(caught.value)
    with warehouse.open() as database:  # what the message says
        database.execute("DELETE FROM consumer_group")
    with KafkaSource(settings, group="another") as source:
        assert Lander(warehouse, source, lander_key).land() == LandingSummary()


def test_offsets_the_group_is_reset_to_land_nothing_twice(
    settings: KafkaSettings, warehouse: Warehouse, lander_key: Key
) -> None:
    receipts = chain(12)
    with producer(settings.address) as client:
        send(client, settings.topic, *receipts, partition=0)
    assert land(warehouse, settings, lander_key) == LandingSummary(landed=12)
    admin = KafkaAdminClient(bootstrap_servers=settings.address)
    admin.alter_group_offsets(
        "elicitation-receipts", {TopicPartition(settings.topic, 0): OffsetAndMetadata(0, "", -1)}
    )
    admin.close()
    assert land(warehouse, settings, lander_key) == LandingSummary()
    with warehouse.open() as database:  # our own, which count, set back to the beginning
        database.execute("DELETE FROM positions")
    assert land(warehouse, settings, lander_key) == LandingSummary(duplicates=12)
    with warehouse.read() as database:
        assert landed(database) == [one.receipt for one in receipts]
