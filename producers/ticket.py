"""Tickets: what becomes of receipts that were handed to the sealer."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import LossReason


class Ticket:
    """What becomes of one submission.

    ``future``   settled once nobody needs to wait any more: None where the receipts are
                 durable, else why they are not
    ``written``  settled once it is known for good whether they are, which with `buffer` may
                 be later
    """

    def __init__(self) -> None:
        self.future: Future[LossReason | None] = Future()
        self.written: Future[bool] = Future()

    def wait(self) -> bool:
        """Wait until ``future`` is settled; True: the receipts are durable."""
        return self.future.result() is None

    @property
    def settled(self) -> bool:
        """Whether `wait` would return at once."""
        return self.future.done()

    @property
    def reason(self) -> LossReason | None:
        """Why the receipts were not durable; None where they were, or it is not known yet."""
        return self.future.result() if self.settled else None

    def release(self, reason: LossReason | None) -> None:
        """Nobody needs to wait; None: the receipts are durable. Only the first time counts."""
        if not self.future.done():
            self.future.set_result(reason)

    def settle(self, reason: LossReason | None) -> None:
        """The end of it; None: the receipts are durable, else why they are lost."""
        self.release(reason)
        self.written.set_result(reason is None)


@dataclass(frozen=True, slots=True)
class Submission:
    """Receipts that belong together. ``deadline``: until when (monotonic) to try again."""

    receipts: Sequence[Receipt]
    deadline: float
    ticket: Ticket = field(default_factory=Ticket)

    @property
    def is_held(self) -> bool:
        """Whether nobody waits for it, though it is not written."""
        return self.ticket.settled
