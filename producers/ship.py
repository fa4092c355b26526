"""The shipper: hands what the spool holds to Kafka, each stream in order, and remembers how far."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from kafka import KafkaAdminClient, KafkaProducer
from kafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from elicitation_receipts.schemas.errors import ShipError, SpoolError
from elicitation_receipts.schemas.kafka import KafkaSettings, explain
from elicitation_receipts.schemas.lock import FileLock
from elicitation_receipts.schemas.spool import Spool, Stored

_LOCK_NAME: Final = "ship.lock"
#: How often to look for new receipts, in seconds.
_LOOK_EVERY: Final = 0.2
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_CONNECTS_WITHIN: Final = 5.0
#: What keeps a spool from being read or marked for a while, in which who follows waits.
_PASSING: Final = frozenset({"spool_full", "spool_read_only", "spool_locked"})
#: How often to look for receipts to remove, in seconds.
_TRIM_EVERY: Final = 60.0
#: A lot is given up after so many seconds: later than the client should by itself
#: (`delivery_timeout_ms`), which waits for ever while it cannot get a producer id.
_ACKNOWLEDGED_WITHIN: Final = 20.0

# A lot is sent, awaited and marked before the next. All a lot holds for a partition goes as
# one batch, which the broker writes as a whole or not at all: so nothing can come before a
# receipt that failed. For that a batch is larger than a lot with its keys and framing, and
# waits (`linger_ms`) until the lot is complete and flushed.
_LOT_RECEIPTS: Final = 1000
_LOT_BYTES: Final = 384 * 1024
_FRAMING: Final = 64  # bytes of a record beside its value, at most: key, lengths, times
_PRODUCER: Final[dict[str, Any]] = {
    "acks": "all",
    "enable_idempotence": True,
    "batch_size": 512 * 1024,
    "linger_ms": 5_000,
    "request_timeout_ms": 10_000,
    "delivery_timeout_ms": 15_000,
    "max_block_ms": 5_000,
    "allow_auto_create_topics": False,
    "metrics_enabled": False,
}


class _Producer(KafkaProducer):  # type: ignore[misc]  # untyped
    """A producer that is at its end after `close`, whatever it still held.

    `close` begins with a flush, and one that fails would leave the sending thread behind.
    What became of each message its future says.
    """

    def flush(self, timeout: float | None = None) -> None:
        with suppress(KafkaError):
            super().flush(timeout)


@dataclass(frozen=True, slots=True)
class _Run:
    """How one run goes on; see :meth:`Shipper.run`."""

    follow: bool
    stop: threading.Event
    turn: Callable[[], None]


class Shipper:
    """Ships one spool to one topic: key = the stream's id, value = the sealed message.

    A receipt is marked shipped once the broker has acknowledged it. Whatever happens in
    between, the next run begins with the first that is not marked: a receipt may reach the
    topic twice, never not at all, and never before one that precedes it in its stream.

    ``timeout``: seconds without an acknowledgement after which a run that does not follow
    gives up. ``keep``: seconds to keep receipts in the spool once Kafka has them; None: for ever.
    """

    def __init__(
        self,
        spool: Spool,
        settings: KafkaSettings,
        *,
        timeout: float = 30.0,
        keep: float | None = None,
    ) -> None:
        self._spool = spool
        self._settings = settings
        self._timeout = timeout
        self._keep = keep
        self._trimmed_at = -_TRIM_EVERY

    def run(
        self,
        *,
        follow: bool = False,
        stop: threading.Event | None = None,
        progress: Callable[[int], None] = lambda _: None,
        turn: Callable[[], None] = lambda: None,
    ) -> int:
        """Ship until nothing is left, or, to ``follow``, until ``stop``; returns how many.

        ``progress`` is told how many more were acknowledged; ``turn`` is called at every turn
        of the loop, at least twice a minute. Raises :class:`ShipError`:
        ``shipper_running``, ``topic_not_found``, ``broker_refused``, ``message_refused``,
        ``kafka_misconfigured``, and ``broker_unavailable`` unless it follows; and
        :class:`SpoolError`. Who follows waits for a spool that is full, read-only or locked.
        """
        stop = stop or threading.Event()
        run = _Run(follow, stop, turn)
        total = 0
        failures = 0
        deadline = time.monotonic() + self._timeout
        with _only_one(self._spool):
            while not stop.is_set() and (follow or self._spool.unshipped(1)):
                turn()
                try:
                    for count in self._ship(run):
                        total += count
                        progress(count)
                        failures = 0
                        deadline = time.monotonic() + self._timeout
                except KafkaError as error:
                    reason, message = explain(error, self._settings)
                    gives_up = not follow and time.monotonic() >= deadline
                    if reason != "broker_unavailable" or gives_up:
                        raise ShipError(reason, message) from error
                    stop.wait(_pause(failures))
                    failures += 1
                except SpoolError as error:
                    if not follow or error.reason not in _PASSING:
                        raise
                    stop.wait(_pause(failures))
                    failures += 1
            self._trim()
        return total

    def _ship(self, run: _Run) -> Iterator[int]:
        """Ship over one connection; yields how many were acknowledged, lot by lot."""
        with _producer(self._settings, self._timeout) as producer:
            while not run.stop.is_set():
                run.turn()
                lot = _lot(self._spool.unshipped(_LOT_RECEIPTS))
                if lot:
                    yield from self._send(producer, lot, run)
                elif run.follow:
                    self._trim()
                    run.stop.wait(_LOOK_EVERY)
                else:
                    return

    def _send(self, producer: KafkaProducer, lot: Sequence[Stored], run: _Run) -> Iterator[int]:
        futures = [
            producer.send(self._settings.topic, one.message, key=str(one.stream_id).encode())
            for one in lot
        ]
        deadline = time.monotonic() + _ACKNOWLEDGED_WITHIN
        while (left := deadline - time.monotonic()) > 0:
            producer.flush(left)  # again, where a batch was too large and is sent in halves
            if all(future.is_done for future in futures):
                break
        shipped: dict[UUID, int] = {}
        failed: dict[UUID, KafkaError] = {}
        acknowledged = 0
        for one, future in zip(lot, futures, strict=True):
            if one.stream_id in failed:
                continue
            try:
                future.get(timeout=0)
            except KafkaError as error:
                failed[one.stream_id] = error
            else:
                shipped[one.stream_id] = one.sequence + 1
                acknowledged += 1
        if shipped:
            self._mark(shipped, run)
            yield acknowledged
        if failed:
            raise next(iter(failed.values()))

    def _mark(self, shipped: Mapping[UUID, int], run: _Run) -> None:
        """Remember what arrived. Until that works nothing more is sent: it would be sent again."""
        failures = 0
        while True:
            run.turn()
            try:
                return self._spool.mark_shipped(shipped)
            except SpoolError as error:
                if not run.follow or error.reason not in _PASSING:
                    raise
            if run.stop.wait(_pause(failures)):
                return None  # the next shipper sends these again
            failures += 1

    def _trim(self) -> None:
        """Now and then, remove from the spool what Kafka has had for longer than we keep it."""
        now = time.monotonic()
        if self._keep is None or now < self._trimmed_at + _TRIM_EVERY:
            return
        while self._spool.trim(time.time_ns() // 1000 - round(self._keep * 1_000_000)):
            pass
        self._trimmed_at = now


def create_topic(settings: KafkaSettings, partitions: int = 4) -> bool:
    """Create the topic; False where it was there already. Raises :class:`ShipError`."""
    try:
        with _admin(settings) as admin:
            admin.create_topics(
                {settings.topic: {"num_partitions": partitions}}, wait_for_metadata=True
            )
    except TopicAlreadyExistsError:
        return False
    except KafkaError as error:
        raise ShipError(*explain(error, settings)) from error
    return True


def _lot(stored: Sequence[Stored]) -> Sequence[Stored]:
    """As many of them, from the first on, as fit one batch; at least one if there is any."""
    size = 0
    for count, one in enumerate(stored):
        size += len(one.message) + _FRAMING
        if size > _LOT_BYTES and count > 0:
            return stored[:count]
    return stored


def _pause(failures: int) -> float:
    """Seconds until the next attempt: doubling, and spread so that shippers do not come as one."""
    longest: float = min(_FIRST_PAUSE * 2 ** min(failures, 16), _LONGEST_PAUSE)
    return random.uniform(longest / 2, longest)  # noqa: S311  (no secret)


@contextmanager
def _only_one(spool: Spool) -> Iterator[None]:
    lock = FileLock(spool.home / _LOCK_NAME)
    if not lock.try_acquire():
        raise ShipError(
            "shipper_running", f"another process ships {spool.path}; stop it first, or let it work"
        )
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _producer(settings: KafkaSettings, timeout: float) -> Iterator[KafkaProducer]:
    """A producer connected to a broker that has the topic."""
    connects_within = min(timeout, _CONNECTS_WITHIN)
    producer = settings.connect(
        _Producer, **_PRODUCER, bootstrap_timeout_ms=round(connects_within * 1000)
    )
    try:
        _check_topic(settings)
        yield producer
    finally:
        producer.close(timeout=1)


def _check_topic(settings: KafkaSettings) -> None:
    with _admin(settings) as admin:
        [topic] = admin.describe_topics([settings.topic])
    if topic["error_code"]:
        raise for_code(topic["error_code"])(settings.topic)


@contextmanager
def _admin(settings: KafkaSettings) -> Iterator[KafkaAdminClient]:
    admin = settings.connect(KafkaAdminClient, bootstrap_timeout_ms=round(_CONNECTS_WITHIN * 1000))
    try:
        yield admin
    finally:
        admin.close()
