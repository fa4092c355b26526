"""A watcher: the pure core of a session, a clock, and the sealer its receipts go through.

A message that leaves receipts goes on once they are durable; any other goes on at
once. The core runs under a lock, the wait for durability outside of it: one
direction never waits for the other's disk.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.seal import Sealer, Ticket, WhenFull
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.ledger import Post
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.refusal import refuse
from elicitation_receipts.producers.wire.session import Session
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import LossReason

Passage = list[tuple[Direction, bytes]]


class Watcher:
    """Watches one connection. Safe for one thread a direction and one for ``tick``.

    ``recorded`` is told of receipts once they are durable, those of one elicitation in order.
    """

    def __init__(
        self,
        redactor: Redactor,
        post: Post,
        name: str,
        sealer: Sealer,
        recorded: Callable[[Sequence[Receipt]], None] = lambda _: None,
    ) -> None:
        self._session = Session(redactor, post, name)
        self._redactor = redactor
        self._sealer = sealer
        self._recorded = recorded
        self._lock = threading.Lock()

    def observe(self, direction: Direction, line: bytes) -> Passage:
        """What to send where instead of ``line``: itself, unless its receipts must not be lost."""
        with self._lock:
            # Another stream, where the spool was taken away under us and a new one begun.
            self._redactor.stream_id = self._sealer.stream_id
            receipts = self._session.on_frame(direction, line, now())
            ticket = self._submit(receipts)
        if self._durable(ticket, receipts) or self._sealer.when_full is WhenFull.DROP:
            return [(direction, line)]
        with self._lock:
            self._session.retract(receipts)
        reason = (ticket and ticket.reason) or LossReason.SPOOL_UNAVAILABLE
        return refuse(direction, line, reason.value)

    def observe_oversized(self, direction: Direction) -> None:
        """A line too long to be read goes by."""
        with self._lock:
            receipts = self._session.on_oversized(direction, now())
            ticket = self._submit(receipts)
        self._durable(ticket, receipts)

    def tick(self) -> None:
        """Let time pass: questions that waited too long end."""
        with self._lock:
            receipts = self._session.on_tick(now())
            ticket = self._submit(receipts)
        self._durable(ticket, receipts)

    def on_fault(self, direction: Direction | None) -> None:
        """The core failed on a message, which went on unread: what it would have left is lost."""
        if direction is not None:
            self._sealer.count_lost(1, LossReason.WATCHER_FAULT)

    def close(self) -> None:
        """The connection ended."""
        with self._lock:
            receipts = self._session.on_close(now())
            ticket = self._submit(receipts)
        self._durable(ticket, receipts)

    def _submit(self, receipts: Sequence[Receipt]) -> Ticket | None:
        return self._sealer.submit(receipts) if receipts else None

    def _durable(self, ticket: Ticket | None, receipts: Sequence[Receipt]) -> bool:
        """Wait until the receipts are durable; False where they are lost."""
        if ticket is None:
            return True
        written = ticket.wait()
        if written:
            self._recorded(receipts)
        return written


def now() -> Moment:
    """This moment, on both clocks."""
    return Moment(time.time_ns() // 1_000, time.monotonic_ns() // 1_000)
