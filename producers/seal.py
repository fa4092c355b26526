"""The sealer: what a watcher writes its receipts through, and what happens when it cannot."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import TracebackType
from typing import Final, Self
from uuid import UUID, uuid4

from elicitation_receipts.producers.loss import loss_reason, lost_receipt
from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.producers.presence import Presence
from elicitation_receipts.schemas.errors import CodecError, ReceiptsError, SpoolError
from elicitation_receipts.schemas.receipt import Loss, Receipt
from elicitation_receipts.schemas.spool import Producer, Spool
from elicitation_receipts.schemas.vocabulary import Event, LossReason, Vantage

#: Seconds between two attempts while receipts wait (`block`), or while only the news waits
#: that some were lost.
_RETRY: Final = 0.1
_RETRY_LOSS: Final = 1.0
#: At most so many submissions share one transaction.
_TOGETHER: Final = 256

_REOPEN_AFTER: Final = ("spool_missing", "spool_replaced")


class WhenFull(StrEnum):
    """What becomes of receipts that cannot be written, for whatever reason."""

    DROP = "drop"  # counted; a `lost` receipt follows once writing works again
    BLOCK = "block"  # tried again for a while; then counted, and the watcher refuses the message


class Ticket:
    """What becomes of one submission."""

    def __init__(self) -> None:
        #: Why the receipts are lost; None: they are durable.
        self.future: Future[LossReason | None] = Future()

    def wait(self) -> bool:
        """Wait until it is settled; True: the receipts are durable, False: they are lost."""
        return self.future.result() is None

    @property
    def settled(self) -> bool:
        """Whether `wait` would return at once."""
        return self.future.done()

    @property
    def reason(self) -> LossReason | None:
        """Why the receipts were lost; None where they were not, or not yet."""
        return self.future.result() if self.settled else None

    def _settle(self, reason: LossReason | None) -> None:
        self.future.set_result(reason)


def _nothing_to_do() -> Ticket:
    ticket = Ticket()
    ticket._settle(None)
    return ticket


@dataclass(frozen=True, slots=True)
class _Submission:
    receipts: Sequence[Receipt]
    deadline: float  # monotonic seconds; until then a failed write is tried again
    ticket: Ticket = field(default_factory=Ticket)


class Sealer:
    """Writes a watcher's receipts to the spool, in the order they are submitted.

    One thread writes; submissions that wait together share one transaction and one sync.
    Nothing a submission meets raises: its ticket says. Receipts that could not be written
    are counted and stand in a `lost` receipt before the next that can.

    ``policy``         a `policy_loaded` is written where the stream's last was another
    ``block_timeout``  seconds that `block` tries again before a submission is lost

    Making one raises :class:`SpoolError` and :class:`HomeError`: a watcher that cannot
    write at all should not start.
    """

    def __init__(
        self,
        spool: Spool,
        tenant: str,
        producer: Producer,
        *,
        policy: Policy | None = None,
        vantage: Vantage | None = None,
        when_full: WhenFull = WhenFull.DROP,
        block_timeout: float = 10.0,
    ) -> None:
        self._spool = spool
        self._tenant = tenant
        self._producer = producer
        self._policy = policy
        self._vantage = vantage
        self.when_full = when_full
        self._patience = block_timeout if when_full is WhenFull.BLOCK else 0.0
        self._changed = threading.Condition()
        self._waiting: deque[_Submission] = deque()
        # What was lost and stands in no receipt yet. Others add to it; the writer takes away.
        self._loss: Loss | None = None
        self._closing = False
        self._settle_in()
        self._writer = threading.Thread(target=self._run, name="sealer", daemon=True)
        self._writer.start()

    @property
    def stream_id(self) -> UUID:
        """The stream that receipts go to. Another one after the spool was replaced under us."""
        return self._stream_id

    @property
    def watcher(self) -> UUID:
        """Who watches, as the spool's open questions know it."""
        return self._presence.id

    def submit(self, receipts: Sequence[Receipt]) -> Ticket:
        """Hand over receipts that belong together; returns at once."""
        if not receipts:
            return _nothing_to_do()
        submission = _Submission(receipts, time.monotonic() + self._patience)
        with self._changed:
            if self._closing:
                raise RuntimeError("the sealer is closed")
            self._waiting.append(submission)
            self._changed.notify()
        return submission.ticket

    def count_lost(self, count: int, reason: LossReason) -> None:
        """Account for receipts that could not even be made."""
        with self._changed:
            self._count(count, time.time_ns() // 1000, reason)
            self._changed.notify()

    def close(self) -> None:
        """Write what waits, tell of losses if it can be told, and leave."""
        with self._changed:
            if self._closing:
                return
            self._closing = True
            self._changed.notify()
        self._writer.join()
        self._presence.leave(self._loss)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # The writer thread

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._waiting and not self._closing:
                    self._changed.wait(_RETRY_LOSS if self._loss else None)
                batch = self._take()
                last = self._closing and not batch
            if batch or self._loss:
                self._write(batch)
            if last:
                return

    def _take(self) -> list[_Submission]:
        return [self._waiting.popleft() for _ in range(min(len(self._waiting), _TOGETHER))]

    def _put_back(self, batch: Sequence[_Submission]) -> None:
        with self._changed:
            self._waiting.extendleft(reversed(batch))

    def _write(self, batch: list[_Submission]) -> bool:
        """Write a batch in one transaction. False: it was put back, to be tried again."""
        told = self._loss
        receipts = [self._lost(told)] if told else []
        for submission in batch:
            receipts += submission.receipts
        try:
            self._spool.append(receipts, self._presence.id)
        except Exception as error:  # noqa: BLE001  (whatever it is, traffic goes on)
            if _is_own_fault(error) and len(batch) > 1:
                return self._write_singly(batch)
            return self._failed(batch, error)
        if told:
            self._told_of(told)
        for submission in batch:
            submission.ticket._settle(None)
        return True

    def _write_singly(self, batch: list[_Submission]) -> bool:
        for place, submission in enumerate(batch):
            if not self._write([submission]):
                self._put_back(batch[place + 1 :])
                return False
        return True

    def _failed(self, batch: list[_Submission], error: Exception) -> bool:
        now = time.monotonic()
        patient = [one for one in batch if now < one.deadline and not _is_own_fault(error)]
        lost = [one for one in batch if one not in patient]
        reason = loss_reason(error)
        with self._changed:
            for submission in lost:
                first = submission.receipts[0]
                self._count(len(submission.receipts), first.occurred_at, reason)
        if isinstance(error, SpoolError) and error.reason in _REOPEN_AFTER:
            self._reopen()
        for submission in lost:
            submission.ticket._settle(reason)
        if patient:
            self._put_back(patient)
            time.sleep(_RETRY)
        return not patient

    def _count(self, count: int, since: int, reason: LossReason) -> None:
        """Add to the losses nobody has been told of yet; under ``_changed``."""
        if self._loss is None:
            self._loss = Loss(count, since, reason)
            self._note_loss()
        else:
            self._loss = replace(self._loss, count=_number(self._loss) + count)

    def _told_of(self, told: Loss) -> None:
        """A `lost` receipt is written; what was lost since then stays to be told."""
        with self._changed:
            assert self._loss is not None  # noqa: S101  (only this thread takes away)
            rest = _number(self._loss) - _number(told)
            self._loss = replace(self._loss, count=rest) if rest else None
            self._note_loss()

    def _note_loss(self) -> None:
        # Without a number: after a crash nobody knows how many more there were.
        self._presence.note(replace(self._loss, count=None) if self._loss else None)

    def _lost(self, loss: Loss) -> Receipt:
        return lost_receipt(self._stream_id, self._tenant, self._producer, loss, self._vantage)

    def _settle_in(self) -> None:
        """Announce the watcher, find its stream and say which policy is in force."""
        with self._spool.transaction():
            presence = Presence.announce(self._spool.home, self._tenant)
            try:
                self._stream_id = self._spool.stream_for(self._tenant, self._producer)
                self._load_policy()
            except BaseException:
                presence.leave(None)
                raise
        self._presence = presence

    def _load_policy(self) -> None:
        policy = self._policy
        loaded = {state.stream_id: state.policy_digest for state in self._spool.streams()}
        if policy is None or loaded[self._stream_id] == policy.digest:
            return
        receipt = Receipt(
            receipt_id=uuid4(),
            stream_id=self._stream_id,
            event=Event.POLICY_LOADED,
            policy_id=policy.id,
            policy_version=policy.version,
            policy_digest=policy.digest,
            tenant=self._tenant,
            vantage=self._vantage,
            producer_name=self._producer.name,
            producer_version=self._producer.version,
            occurred_at=time.time_ns() // 1000,
        )
        self._spool.append([receipt])

    def _reopen(self) -> None:
        """The spool was taken away: go on with what is in its place, or with a new one."""
        before = self._presence
        try:
            self._spool.reopen()
            self._settle_in()
        except ReceiptsError:
            return  # tried again after the next failure
        with self._changed:
            self._note_loss()
        before.leave(None)


def _is_own_fault(error: Exception) -> bool:
    """Whether it lies with a submission, not with the spool: to try again is no use."""
    return isinstance(error, CodecError) or (
        isinstance(error, SpoolError) and error.reason in ("stream_unknown", "stream_moved")
    )


def _number(loss: Loss) -> int:
    assert loss.count is not None  # noqa: S101  (a sealer knows what it lost)
    return loss.count
