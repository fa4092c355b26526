"""Recording: one step of the core, at this moment, and what became of the receipts it left.

The core runs under a lock, the wait for durability outside of it: who waits for the
disk keeps nobody else waiting.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.seal import Sealer, WhenFull
from elicitation_receipts.producers.ticket import Ticket
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.refusal import Refusal
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Decision, Event, LossReason

T = TypeVar("T")

_OBJECTIONS: Final[Mapping[Decision | None, str]] = {
    Decision.WARN: "warns of a question",
    Decision.BLOCK: "would block a question",
}

#: Told of receipts once they are durable, in the order they were written.
Recorded = Callable[[Sequence[Receipt]], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """The receipts of one step, on their way to the disk. ``ticket`` None: there are none.

    ``stopped``: why what the step took in may not go on; None: it may.
    """

    receipts: list[Receipt]
    ticket: Ticket | None
    stopped: Refusal | None = None

    @property
    def puts_question(self) -> bool:
        """Whether the message these receipts are of puts a question."""
        return any(receipt.event is Event.REQUESTED for receipt in self.receipts)

    @property
    def completes_question(self) -> bool:
        """Whether a URL ceremony is complete."""
        return any(receipt.event is Event.COMPLETED for receipt in self.receipts)

    def wait(self) -> bool:
        """Wait until the receipts are durable; False where they are not, and the wait is over."""
        return self.ticket is None or self.ticket.wait()

    async def settled(self) -> bool:
        """As :meth:`wait`, for a coroutine."""
        if self.ticket is None:
            return True
        # Shielded: who gives up waiting does not take the receipts back.
        return await asyncio.shield(asyncio.wrap_future(self.ticket.future)) is None

    @property
    def reason(self) -> LossReason:
        """Why they are not durable."""
        return (self.ticket and self.ticket.reason) or LossReason.SPOOL_UNAVAILABLE


class Recorder:
    """Runs steps of a core one at a time and hands their receipts to the sealer.

    ``say`` is told of each question that a policy warns of, where it asks for that.

    Safe for any number of threads.
    """

    def __init__(
        self,
        redactor: Redactor,
        sealer: Sealer,
        recorded: Recorded | None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._say = say
        self._redactor = redactor
        self._sealer = sealer
        self._recorded = recorded
        self._lock = threading.Lock()

    @property
    def may_lose(self) -> bool:
        """Whether a message goes on whose receipts are not durable."""
        return self._sealer.when_full is not WhenFull.BLOCK

    def record(
        self,
        step: Callable[[Moment], list[Receipt]],
        stopped: Callable[[], Refusal | None] = lambda: None,
    ) -> Entry:
        """Take a step of the core now. Its receipts are written in the order of the steps.

        ``stopped``: asked after it whether what it took in may go on.
        """
        with self._lock:
            # Another stream, where the spool was taken away under us and a new one begun.
            self._redactor.stream_id = self._sealer.stream_id
            receipts = step(now())
            refusal = stopped()
            ticket = self._sealer.submit(receipts) if receipts else None
        if self._sealer.warns:
            self._warn_of(receipts)
        if ticket is not None and self._recorded is not None:
            self._tell(receipts, ticket, self._recorded)
        return Entry(receipts, ticket, refusal)

    def use_policy(self, policy: Policy, take: Callable[[], None]) -> None:
        """From now on judge by ``policy``, between two steps. ``take``: the core takes it over."""
        with self._lock:
            self._sealer.use_policy(policy)
            take()

    def locked(self, step: Callable[[], T]) -> T:
        """Take a step that leaves no receipt."""
        with self._lock:
            return step()

    def count_lost(self) -> None:
        """The core failed on a message, which went on unread: what it would have left is lost."""
        self._sealer.count_lost(1, LossReason.WATCHER_FAULT)

    def _warn_of(self, receipts: list[Receipt]) -> None:
        for receipt in receipts:
            if receipt.decision in _OBJECTIONS:
                names = ", ".join(finding.name for finding in receipt.findings)
                what = _OBJECTIONS[receipt.decision]
                self._say(f"policy {receipt.policy_id} {receipt.policy_version} {what} ({names})")

    @staticmethod
    def _tell(receipts: list[Receipt], ticket: Ticket, recorded: Recorded) -> None:
        # By the sealer's thread, one after the other: none overtakes another.
        ticket.written.add_done_callback(
            lambda settled: recorded(receipts) if settled.result() else None
        )


def now() -> Moment:
    """This moment, on both clocks."""
    return Moment(time.time_ns() // 1_000, time.monotonic_ns() // 1_000)
