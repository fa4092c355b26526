"""Checks: what a probe should raise an alarm about, in a home and the source it lands from."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from elicitation_receipts.home import Home
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.errors import CodecError, SourceError
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.settings import Settings

#: Records of a topic to look at for the oldest that has not landed.
_LOOK_AT = 500


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong: a stable ``name``, and for people what it is."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Checks:
    """``max_age``: seconds a receipt may wait; ``min_free``: bytes the disk must have left."""

    home: Home
    settings: Settings
    max_age: float
    min_free: int

    def run(self, warehouse: dict[str, Any] | None) -> Iterator[Trouble]:
        """All that is wrong. ``warehouse``: what `status` shows of it; None: there is none.

        Raises :class:`SpoolError`.
        """
        yield from self._disk()
        if warehouse is not None and warehouse["rejects"]:
            count = sum(warehouse["rejects"].values())
            yield Trouble(
                "rejects",
                f"{count} messages could not land ({', '.join(sorted(warehouse['rejects']))}); "
                "see the table rejects, then `receipts land --retry-rejects`",
            )
        if self.home.spool.exists():
            with Spool.open(self.home.path, create=False) as spool:
                yield from self._shipping(spool)
                if warehouse is not None and self.settings.kafka is None:
                    yield from self._landing_from_spool(spool, warehouse["landed_sequences"])
        if warehouse is not None and self.settings.kafka is not None:
            yield from self._landing_from_kafka(warehouse["positions"])

    def _disk(self) -> Iterator[Trouble]:
        free = shutil.disk_usage(self.home.path).free
        if free < self.min_free:
            yield Trouble(
                "disk_full",
                f"{free // 2**20} MiB are left on the disk of {self.home.path}, "
                f"fewer than {self.min_free // 2**20}; free space",
            )

    def _shipping(self, spool: Spool) -> Iterator[Trouble]:
        ships = self.settings.kafka is not None or any(
            stream.shipped_next for stream in spool.streams()
        )
        age = _oldest(stored.message for stored in spool.unshipped(1)) if ships else 0
        if age > self.max_age:
            yield Trouble(
                "shipping_stuck",
                f"a receipt has waited {age:.0f} s to be shipped, more than {self.max_age:.0f}; "
                "does `receipts ship --follow` run, and does Kafka?",
            )

    def _landing_from_spool(self, spool: Spool, landed: dict[str, int]) -> Iterator[Trouble]:
        waiting = [
            stored.message
            for stream in spool.streams()
            for stored in spool.read_stream(
                stream.stream_id, landed.get(str(stream.stream_id), -1) + 1, 1
            )
        ]
        yield from self._landing(_oldest(waiting))

    def _landing_from_kafka(self, positions: list[dict[str, Any]]) -> Iterator[Trouble]:
        from elicitation_receipts.consumers.kafka_source import KafkaSource  # it takes a while

        settings = self.settings
        with closing(KafkaSource(settings.kafka_settings(), settings.kafka_group)) as source:
            try:
                ours = {
                    position["partition"]: position["next_offset"]
                    for position in positions
                    if position["source"] == source.name
                }
                records = source.fetch(ours, _LOOK_AT, 5.0) if source.lag(ours) else []
            except SourceError as error:
                yield Trouble(error.reason, error.args[0])
                return
        yield from self._landing(_oldest(record.value for record in records if record.value))

    def _landing(self, age: float) -> Iterator[Trouble]:
        if age > self.max_age:
            yield Trouble(
                "landing_lag",
                f"a receipt has waited {age:.0f} s to land, more than {self.max_age:.0f}; "
                "does `receipts land --follow` run?",
            )


def _oldest(messages: Iterable[bytes]) -> float:
    """The age in seconds of the oldest receipt; 0: none."""
    now = time.time()
    ages = [0.0]
    for message in messages:
        try:
            ages.append(now - decode(message).occurred_at / 1e6)
        except CodecError:
            continue  # it will be among the rejects
    return max(ages)
