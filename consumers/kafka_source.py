"""Kafka as a source: every partition of the topic, from our own positions on."""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Final, Self
from uuid import UUID

from kafka import KafkaAdminClient, KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError, KafkaTimeoutError, OffsetOutOfRangeError, for_code

from elicitation_receipts.consumers.source import Positions, Record
from elicitation_receipts.schemas.errors import SourceError
from elicitation_receipts.schemas.kafka import KafkaSettings, explain

_log = logging.getLogger(__name__)

_PATIENCE: Final = 10.0
#: Of one partition in one response. The client's own, a tenth of it, holds less than two thousand
#: receipts: a transaction for so few costs most of the speed.
_RESPONSE_BYTES: Final = 10 * 2**20
#: Where a response ends before a batch does, the next one is on its way: so long is it waited for.
_GATHER: Final = 0.1


class KafkaSource:
    """The topic, record by record, committed transactions only.

    What has landed stands in the warehouse and nowhere else. So a lander assigns itself all
    partitions and does not join ``group``: members share a topic, and two warehouses under
    one group's name would each get half of it without a word. Nor is there a session that
    must time out after a crash. To the group offsets are committed for lag tools to see.

    ``patience``: for how many seconds a broker may be silent before it counts as
    unavailable. Connects on first use. Not for several threads at once. Every method raises
    :class:`SourceError`: ``source_expired`` where records we still wanted are gone from the
    topic, ``topic_replaced`` where another topic has its name now (and :attr:`name` follows),
    and the reasons of :func:`explain`.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        group: str = "elicitation-receipts",
        patience: float = _PATIENCE,
    ) -> None:
        self._settings = settings
        self._group = group
        self._patience_ms = round(patience * 1000)
        self._consumer: KafkaConsumer | None = None
        self._name = ""
        self._topic_id = UUID(int=0)
        #: Where the consumer reads on by itself, by partition: asked for another place, it seeks.
        self._next: dict[int, int] = {}
        #: Where partitions without a position of ours began when we came to them.
        self._first: dict[int, int] = {}

    @property
    def name(self) -> str:
        """Cluster, topic and the topic's id: a topic made anew under its old name is another."""
        self._connected()
        return self._name

    @property
    def topic(self) -> str:
        return self._settings.topic

    @property
    def group(self) -> str:
        return self._group

    def close(self) -> None:
        if self._consumer is not None:
            with suppress(KafkaError):
                self._consumer.close(autocommit=False)
            self._consumer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def fetch(self, positions: Positions, limit: int, timeout: float) -> list[Record]:
        consumer = self._connected()
        fetched: list[Record] = []
        until = 0.0
        with self._naming_errors():
            self._seek(consumer, positions)
            while True:
                try:
                    polled = consumer.poll(round(timeout * 1000), limit - len(fetched))
                except OffsetOutOfRangeError:
                    self._next.clear()
                    self._seek(consumer, positions)  # says which records are gone
                    return []
                # What the client heard of the topic meanwhile. It names no topic's id itself.
                if consumer._client.cluster.topic_id(self.topic) not in (None, self._topic_id):
                    raise self._replaced()
                for partition, records in polled.items():
                    self._next[partition.partition] = records[-1].offset + 1
                    fetched += map(_record, records)
                until = until or time.monotonic() + _GATHER
                timeout = until - time.monotonic()
                if not polled or len(fetched) == limit or timeout <= 0:
                    return fetched

    def find(self, partition: int, offsets: Sequence[int]) -> list[Record]:
        consumer, place = self._connected(), self._at(partition)
        with self._naming_errors():
            if partition not in consumer.partitions_for_topic(self.topic):
                return []
            self._next.clear()  # `fetch` takes up all partitions again
            consumer.assign([place])
            start = consumer.beginning_offsets([place], timeout_ms=self._patience_ms)[place]
            end = consumer.end_offsets([place], timeout_ms=self._patience_ms)[place]
            wanted = deque(offset for offset in offsets if start <= offset < end)
            found: list[Record] = []
            while wanted:
                consumer.seek(place, wanted[0])
                records = consumer.poll(timeout_ms=self._patience_ms).get(place, [])
                # Past markers of transactions and what was compacted away, where there are none.
                reached = consumer.position(place)
                if reached == wanted[0]:
                    raise KafkaTimeoutError
                near = {wanted.popleft() for _ in range(bisect_left(wanted, reached))}
                found += [_record(record) for record in records if record.offset in near]
        return found

    def commit(self, positions: Positions) -> None:
        consumer = self._connected()
        try:
            consumer.commit(
                {
                    self._at(partition): OffsetAndMetadata(offset, "", -1)
                    for partition, offset in positions.items()
                },
                timeout_ms=self._patience_ms,
            )
        except KafkaError as error:
            _log.debug("the group's offsets were not committed: %s", type(error).__name__)

    def lag(self, positions: Positions) -> int:
        consumer = self._connected()
        with self._naming_errors():
            self._seek(consumer, positions)
            ends = consumer.end_offsets(list(consumer.assignment()), timeout_ms=self._patience_ms)
            # The consumer's own place is past markers of transactions, which are no records.
            return sum(max(0, end - consumer.position(place)) for place, end in ends.items())

    def _connected(self) -> KafkaConsumer:
        if self._consumer is None:
            with self._naming_errors():
                self._consumer = self._connect()
        return self._consumer

    def _connect(self) -> KafkaConsumer:
        cluster, self._topic_id = self._look()
        self._name = f"kafka:{cluster}/{self.topic}/{self._topic_id}"
        self._next.clear()
        self._first.clear()
        return self._settings.connect(
            KafkaConsumer,
            bootstrap_timeout_ms=self._patience_ms,
            group_id=self._group,
            enable_auto_commit=False,
            auto_offset_reset="none",  # at our position, and never anywhere else by itself
            isolation_level="read_committed",
            metrics_enabled=False,
            max_partition_fetch_bytes=_RESPONSE_BYTES,
        )

    def _look(self) -> tuple[str, UUID]:
        """The ids of cluster and topic, as they are now."""
        admin = self._settings.connect(KafkaAdminClient, bootstrap_timeout_ms=self._patience_ms)
        try:
            cluster = admin.describe_cluster()["cluster_id"]
            [found] = admin.describe_topics([self.topic])
        finally:
            admin.close()
        if found["error_code"]:
            raise for_code(found["error_code"])(self.topic)
        return cluster, UUID(str(found["topic_id"]))

    def _replaced(self) -> SourceError:
        """Another topic has the name now. The next call connects to that one."""
        self.close()
        return SourceError(
            "topic_replaced", f"the topic {self.topic} was made anew; land again, from its start"
        )

    def _seek(self, consumer: KafkaConsumer, positions: Positions) -> None:
        """Have the consumer read on at ``positions``, where it would not anyway."""
        places = set(map(self._at, consumer.partitions_for_topic(self.topic)))
        if places != consumer.assignment():  # at first, and when the topic has grown
            consumer.assign(places)
            self._next.clear()
        wanted = {**self._first, **positions}
        moved = [
            place
            for place in consumer.assignment()
            if place.partition not in self._next
            or self._next[place.partition] != wanted[place.partition]
        ]
        if not moved:
            return
        starts = consumer.beginning_offsets(moved, timeout_ms=self._patience_ms)
        ends = consumer.end_offsets(moved, timeout_ms=self._patience_ms)
        for place in moved:
            start, end = starts[place], ends[place]
            position = positions.get(place.partition)
            if position is None:
                position = self._first[place.partition] = start
            if not start <= position <= end:
                if self._look()[1] != self._topic_id:
                    raise self._replaced()
                raise SourceError(
                    "source_expired",
                    f"{place.topic}/{place.partition} has offsets {start} to {end} and landing "
                    f"stopped before {position}: what lay between is gone. To go on with what is "
                    f"there, delete this partition's row in the table positions",
                )
            consumer.seek(place, position)
            self._next[place.partition] = position

    def _at(self, partition: int) -> TopicPartition:
        return TopicPartition(self.topic, partition)

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        try:
            yield
        except KafkaError as error:
            self.close()
            raise SourceError(*explain(error, self._settings)) from error


def _record(record: Any) -> Record:
    return Record(record.partition, record.offset, record.key, record.value)
