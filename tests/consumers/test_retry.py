"""Rejects tried again: landed once they can be, whether they lie in a spool, a list or Kafka."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from avro_schema import newest_schema
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from streams import ListSource, chain, landed

from elicitation_receipts.consumers import batch
from elicitation_receipts.consumers.decode import record
from elicitation_receipts.consumers.decode.reference import decode_by_reference
from elicitation_receipts.consumers.kafka_source import KafkaSource
from elicitation_receipts.consumers.landing import Lander, LandingSummary
from elicitation_receipts.consumers.retry import RetrySummary, retry_rejects
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.codec import Codec
from elicitation_receipts.schemas.kafka import KafkaSettings
from elicitation_receipts.schemas.keys import Key

#: Every kind of message that cannot land, but for the fork: made from a good one's key and bytes.
BAD = {
    "not_single_object": lambda key, message: (key, b"garbage"),
    "message_too_large": lambda key, message: (key, message + bytes(70_000)),
    "truncated_datum": lambda key, message: (key, message[:-3]),
    "trailing_bytes": lambda key, message: (key, message + b"more"),
    "unknown_fingerprint": lambda key, message: (key, message[:2] + bytes(8) + message[10:]),
    "out_of_vocabulary": lambda key, message: (key, out_of_vocabulary(message)),
    "key_mismatch": lambda key, message: (b"another", message),
    "tombstone": lambda key, message: (key, None),
}


def out_of_vocabulary(message: bytes) -> bytes:
    """The event, behind id, stream, sequence 0 and hash, replaced by one there is not."""
    at = 10 + 16 + 16 + 1 + 32
    return message[:at] + b"\x7e" + message[at + 1 :]


@contextmanager
def an_older_version() -> Iterator[None]:
    """Landing as a version does that does not know today's schema yet."""
    schema = newest_schema()
    schema["namespace"] = "of.another.version"
    older = Codec({1: json.dumps(schema)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "best_rung", lambda: decode_by_reference)
        patch.setattr(record, "decode", older.decode)
        yield


def reasons(warehouse: Warehouse) -> list[tuple[int, str]]:
    with warehouse.read() as database:
        return database.execute("SELECT kafka_offset, reason FROM rejects ORDER BY ALL").fetchall()


@pytest.mark.parametrize("reason", BAD)
def test_what_is_still_bad_stays_one_reject(
    warehouse: Warehouse, lander_key: Key, reason: str
) -> None:
    before, behind = chain(2), chain(2)
    source = ListSource()
    source.add_sealed(*before)
    bad = chain(1)[0]
    source.add(*BAD[reason](bad.key, bad.message))
    source.add_sealed(*behind)
    assert Lander(warehouse, source, lander_key).land() == LandingSummary(landed=4, rejected=1)
    assert reasons(warehouse) == [(2, reason)]
    for _ in range(2):
        assert retry_rejects(warehouse, source, lander_key) == RetrySummary(rejected=1)
        assert reasons(warehouse) == [(2, reason)]
    assert Lander(warehouse, source, lander_key).land() == LandingSummary()


def test_a_fork_stays_a_reject(warehouse: Warehouse, lander_key: Key) -> None:
    one = chain(1)[0]
    source = ListSource()
    source.add_sealed(one)
    source.add(one.key, other_in_its_place(one.message))
    Lander(warehouse, source, lander_key).land()
    assert retry_rejects(warehouse, source, lander_key) == RetrySummary(rejected=1)
    assert reasons(warehouse) == [(1, "stream_fork")]


def other_in_its_place(message: bytes) -> bytes:
    return message[:10] + bytes(16) + message[26:]  # another receipt_id


def test_it_lands_when_its_schema_has_arrived(warehouse: Warehouse, lander_key: Key) -> None:
    receipts = chain(5)
    source = ListSource()
    source.add_sealed(*receipts)
    source.add(receipts[0].key, b"garbage")
    with an_older_version():
        summary = Lander(warehouse, source, lander_key).land()
        assert summary == LandingSummary(rejected=6)
        assert retry_rejects(warehouse, source, lander_key) == RetrySummary(rejected=6)
        assert reasons(warehouse)[:5] == [(at, "unknown_fingerprint") for at in range(5)]

    assert retry_rejects(warehouse, source, lander_key) == RetrySummary(landed=5, rejected=1)
    assert reasons(warehouse) == [(5, "not_single_object")]
    with warehouse.read() as database:
        assert landed(database) == [one.receipt for one in receipts]
        assert database.execute("SELECT count(*) FROM breaks").fetchall() == [(0,)]
        assert database.execute("SELECT next_offset FROM positions").fetchall() == [(6,)]


def test_a_gap_it_left_heals(warehouse: Warehouse, lander_key: Key) -> None:
    receipts = chain(3)
    source = ListSource()
    source.add_sealed(receipts[0])
    source.add_sealed(receipts[1])
    with an_older_version():
        Lander(warehouse, source, lander_key).land()
    source.add_sealed(receipts[2])
    assert Lander(warehouse, source, lander_key).land() == LandingSummary(landed=1, breaks=1)
    assert retry_rejects(warehouse, source, lander_key) == RetrySummary(landed=2)
    with warehouse.read() as database:
        assert database.execute(
            "SELECT count(*) FROM breaks WHERE healed_at IS NULL"
        ).fetchall() == [(0,)]


def test_what_is_gone_has_expired_and_stays(warehouse: Warehouse, lander_key: Key) -> None:
    source = ListSource()
    source.add(b"key", b"garbage")
    Lander(warehouse, source, lander_key).land()
    source.partitions[0].clear()
    assert retry_rejects(warehouse, source, lander_key) == RetrySummary(expired=1)
    assert retry_rejects(warehouse, ListSource("other"), lander_key) == RetrySummary(elsewhere=1)
    assert reasons(warehouse) == [(0, "not_single_object")]


def test_read_again_from_the_start_a_reject_stays_one(
    warehouse: Warehouse, lander_key: Key
) -> None:
    source = ListSource()
    source.add(b"key", b"garbage")
    for _ in range(2):
        assert Lander(warehouse, source, lander_key).land() == LandingSummary(rejected=1)
        with warehouse.open() as database:
            database.execute("DELETE FROM positions")
    assert reasons(warehouse) == [(0, "not_single_object")]


@pytest.mark.kafka
def test_from_kafka(warehouse: Warehouse, lander_key: Key, kafka: str, topic: str) -> None:
    early, late = chain(3), chain(3)
    producer = KafkaProducer(bootstrap_servers=kafka)
    for one in early:
        producer.send(topic, one.message, key=one.key, partition=0)
    for number in range(1200):  # more than one poll, and than one transaction of rejects
        producer.send(topic, b"garbage %d" % number, key=b"key", partition=0)
    for one in late:
        producer.send(topic, one.message, key=one.key, partition=0)
        producer.send(topic, b"garbage", key=b"key", partition=3)
    producer.close()
    with KafkaSource(KafkaSettings(kafka, topic)) as source:
        lander = Lander(warehouse, source, lander_key)
        with an_older_version():
            assert lander.land() == LandingSummary(rejected=1209)
        assert retry_rejects(warehouse, source, lander_key) == RetrySummary(landed=6, rejected=1203)
        assert lander.land() == LandingSummary()

        admin = KafkaAdminClient(bootstrap_servers=kafka)
        admin.delete_records({TopicPartition(topic, 0): 1000})
        admin.close()
        assert retry_rejects(warehouse, source, lander_key) == RetrySummary(
            rejected=206, expired=997
        )
    with warehouse.read() as database:
        assert len(landed(database)) == 6
