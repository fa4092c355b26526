"""What a topic holds, read once from start to end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.spool import Spool


@dataclass(frozen=True, slots=True)
class Written:
    partition: int
    key: bytes
    value: bytes
    headers: list[Any]


def read_topic(address: str, topic: str) -> list[Written]:
    """Every record of a topic, in order within each partition."""
    consumer = KafkaConsumer(bootstrap_servers=address, enable_auto_commit=False)
    try:
        places = [TopicPartition(topic, each) for each in consumer.partitions_for_topic(topic)]
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        left = sum(consumer.end_offsets(places).values())
        found: list[Written] = []
        while len(found) < left:
            for records in consumer.poll(timeout_ms=5000, max_records=10_000).values():
                found += [
                    Written(each.partition, each.key, each.value, list(each.headers))
                    for each in records
                ]
        return found
    finally:
        consumer.close()


def assert_topic_equals(spool: Spool, written: list[Written]) -> None:
    """Each stream stands in the topic whole and in order, whatever was written twice."""
    assert streams(
        [(str(stored.stream_id).encode(), stored.message) for stored in spool.read(0, 10**9)]
    ) == streams([(each.key, each.value) for each in written])


def streams(messages: list[tuple[bytes, bytes]]) -> dict[bytes, list[bytes]]:
    """The messages of each stream, as they first appeared."""
    found: dict[bytes, dict[int, bytes]] = {}
    for key, message in messages:
        sequence = decode(message).sequence
        assert found.setdefault(key, {}).setdefault(sequence, message) == message
    return {key: list(stream.values()) for key, stream in found.items()}
