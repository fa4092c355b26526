"""The sealer: what a watcher writes its receipts through, and what happens when it cannot."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from enum import StrEnum
from types import TracebackType
from typing import Final, Self
from uuid import UUID, uuid4

from elicitation_receipts.producers.account import Account, Tally
from elicitation_receipts.producers.loss import loss_reason, lost_receipt
from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.producers.policy.words import Enforcement
from elicitation_receipts.producers.presence import Presence
from elicitation_receipts.producers.ticket import Submission, Ticket
from elicitation_receipts.schemas.errors import CodecError, ReceiptsError, SpoolError
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Producer, Spool
from elicitation_receipts.schemas.vocabulary import Event, LossReason, Vantage

#: Seconds between two attempts while messages wait (`block`), and while none does.
_RETRY: Final = 0.1
_RETRY_UNWATCHED: Final = 1.0
#: At most so many submissions share one transaction.
_TOGETHER: Final = 256
#: At most so many receipts are held in memory (`buffer`): some 10 MB, as receipts mostly are.
_BUFFER: Final = 4096

_REOPEN_AFTER: Final = ("spool_missing", "spool_replaced")


class WhenFull(StrEnum):
    """What becomes of receipts that cannot be written, for whatever reason."""

    DROP = "drop"  # counted; a `lost` receipt follows once writing works again
    BLOCK = "block"  # tried again for a while; then counted, and the watcher refuses the message
    BUFFER = "buffer"  # held in memory until writing works again; what has no room is dropped


class Sealer:
    """Writes a watcher's receipts to the spool, in the order they are submitted.

    One thread writes; submissions that wait together share one transaction and one sync.
    Nothing a submission meets raises: its ticket says. Receipts that could not be written
    are counted and stand in a `lost` receipt before the next that can.

    ``policy``         a `policy_loaded` is written where the stream's last was another
    ``when_full``      None: ``block`` where the policy enforces, else ``drop``
    ``block_timeout``  seconds that `block` tries again before a submission is lost
    ``buffer``         how many receipts `buffer` holds at most

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
        when_full: WhenFull | None = None,
        block_timeout: float = 10.0,
        buffer: int = _BUFFER,
    ) -> None:
        self._spool = spool
        self._tenant = tenant
        self._producer = producer
        self._policy = policy
        self._vantage = vantage
        self._when_full = when_full
        self._block_timeout = block_timeout
        self._room = buffer
        self._changed = threading.Condition()
        # All below under `_changed`. Others add; the writer takes away.
        self._waiting: deque[Submission] = deque()
        self._lost = Tally()
        self._held = Tally()  # in memory only; none is waited for
        #: Why the last attempt failed, while `buffer` holds what comes.
        self._holding: LossReason | None = None
        self._closing = False
        self._settle_in()
        self._writer = threading.Thread(target=self._run, name="sealer", daemon=True)
        self._writer.start()

    @property
    def when_full(self) -> WhenFull:
        """What becomes of receipts that cannot be written: what was said, else what policy asks."""
        if self._when_full is not None:
            return self._when_full
        enforces = self._policy is not None and self._policy.enforcement is Enforcement.ENFORCE
        return WhenFull.BLOCK if enforces else WhenFull.DROP

    @property
    def warns(self) -> bool:
        """Whether the policy asks that somebody be told of what it warns of."""
        return self._policy is not None and self._policy.enforcement is Enforcement.WARN

    @property
    def _patience(self) -> float:
        return self._block_timeout if self.when_full is WhenFull.BLOCK else 0.0

    def use_policy(self, policy: Policy) -> None:
        """Another policy is in force for what is submitted from now on: that is written first."""
        self._policy = policy
        self.submit([self._policy_loaded(policy)])

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
        submission = Submission(receipts, time.monotonic() + self._patience)
        if not receipts:
            submission.ticket.settle(None)
            return submission.ticket
        with self._changed:
            if self._closing:
                raise RuntimeError("the sealer is closed")
            if self._holding:  # nobody waits until it is tried again
                self._hold([submission], self._holding)
            else:
                self._waiting.append(submission)
                self._changed.notify()
        return submission.ticket

    def count_lost(self, count: int, reason: LossReason) -> None:
        """Account for receipts that could not even be made."""
        with self._changed:
            self._lose(count, time.time_ns() // 1000, reason)
            self._changed.notify()

    def close(self) -> None:
        """Write what waits, tell of losses if it can be told, and leave."""
        with self._changed:
            if self._closing:
                return
            self._closing = True
            self._changed.notify()
        self._writer.join()
        self._presence.leave(self._lost)

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
                if not self._closing and (self._holding or not self._waiting):
                    unsettled = self._holding or any(self._lost)
                    self._changed.wait(_RETRY_UNWATCHED if unsettled else None)
                batch = self._take()
                last = self._closing and not batch
            if batch or any(self._lost):
                self._write(batch)
            if last:
                return

    def _take(self) -> list[Submission]:
        """What to write next; of the submissions held, which come first, all at once."""
        held = sum(one.is_held for one in self._waiting)
        self._held.begin()
        count = max(held, min(len(self._waiting), _TOGETHER))
        return [self._waiting.popleft() for _ in range(count)]

    def _write(self, batch: list[Submission]) -> None:
        """Write a batch, and word of what was lost, in one transaction."""
        with self._changed:
            self._lost.begin()
            told = self._lost.settling
        lost = [self._lost_receipt(told)] if told else []
        receipts = [receipt for submission in batch for receipt in submission.receipts]
        # What was lost while others were held came after them.
        ordered = [*receipts, *lost] if self._holding else [*lost, *receipts]
        try:
            self._spool.append(ordered, self._presence.id)
        except Exception as error:  # noqa: BLE001  (whatever it is, traffic goes on)
            if _is_own_fault(error) and len(batch) > 1:
                self._write_half(batch)
            else:
                self._failed(batch, error)
            return
        with self._changed:
            self._holding = None
            if told or self._held.settling:
                self._lost.succeed()
                self._held.succeed()
                self._note()
        for submission in batch:
            submission.ticket.settle(None)

    def _write_half(self, batch: list[Submission]) -> None:
        """One of them can never be written: first the one half, next time the other."""
        half = len(batch) // 2
        with self._changed:
            self._lost.fail()
            if self._held.settling:
                # That one of them is written no longer means that all are.
                self._held.fail(uuid4())
                self._note()
            self._waiting.extendleft(reversed(batch[half:]))
        self._write(batch[:half])

    def _failed(self, batch: list[Submission], error: Exception) -> None:
        """Keep what may still be written; the rest is lost."""
        reason, own = loss_reason(error), _is_own_fault(error)
        patient: list[Submission] = []
        with self._changed:
            if self._lost.fail():
                self._note()
            if self.when_full is WhenFull.BUFFER and not own and not self._closing:
                waiting = [*batch, *self._waiting]
                self._waiting.clear()
                self._held.clear()
                self._hold(waiting, reason)
            else:
                now = time.monotonic()
                patient = [one for one in batch if now < one.deadline and not own]
                self._waiting.extendleft(reversed(patient))
                self._drop([one for one in batch if one not in patient], reason)
                self._held.succeed()  # none of them is held any more
        if isinstance(error, SpoolError) and error.reason in _REOPEN_AFTER:
            self._reopen()
        if patient:
            time.sleep(_RETRY)

    # What becomes of it, under `_changed`

    def _hold(self, submissions: Sequence[Submission], reason: LossReason) -> None:
        """Hold in memory what there is room for, and let nobody wait for it; drop the rest."""
        self._holding = reason
        for one in submissions:
            first, count = one.receipts[0], len(one.receipts)
            if sum(account.count for account in self._held) + count > self._room:
                self._drop([one], reason)
                continue
            self._waiting.append(one)
            # All that are held are written at once: where the first is, the others are.
            if self._held.add(count, first.occurred_at, reason, first.receipt_id):
                self._note()
            one.ticket.release(reason)

    def _drop(self, submissions: Sequence[Submission], reason: LossReason) -> None:
        for one in submissions:
            self._lose(len(one.receipts), one.receipts[0].occurred_at, reason)
            one.ticket.settle(reason)

    def _lose(self, count: int, since: int, reason: LossReason) -> None:
        if self._lost.add(count, since, reason):
            self._note()

    def _note(self) -> None:
        self._presence.note([*self._lost, *self._held])

    # The spool

    def _lost_receipt(self, told: Account) -> Receipt:
        return lost_receipt(self._stream_id, self._tenant, self._producer, told, self._vantage)

    def _settle_in(self) -> None:
        """Announce the watcher, find its stream and say which policy is in force."""
        with self._spool.transaction():
            presence = Presence.announce(self._spool.home, self._tenant)
            try:
                self._stream_id = self._spool.stream_for(self._tenant, self._producer)
                self._load_policy()
            except BaseException:
                presence.leave(())
                raise
        self._presence = presence

    def _load_policy(self) -> None:
        policy = self._policy
        loaded = {state.stream_id: state.policy_digest for state in self._spool.streams()}
        if policy is None or loaded[self._stream_id] == policy.digest:
            return
        self._spool.append([self._policy_loaded(policy)])

    def _policy_loaded(self, policy: Policy) -> Receipt:
        return Receipt(
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

    def _reopen(self) -> None:
        """The spool was taken away: go on with what is in its place, or with a new one."""
        before = self._presence
        try:
            self._spool.reopen()
            self._settle_in()
        except ReceiptsError:
            return  # tried again after the next failure
        with self._changed:
            self._note()
        before.leave(())


def _is_own_fault(error: Exception) -> bool:
    """Whether it lies with a submission, not with the spool: to try again is no use."""
    return isinstance(error, CodecError) or (
        isinstance(error, SpoolError) and error.reason in ("stream_unknown", "stream_moved")
    )
