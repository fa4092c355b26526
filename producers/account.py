"""Accounts: receipts that are lost, or that only memory holds, until the spool itself says so.

A watcher notes them where a crash leaves them to be found (see :mod:`presence`). An account
names the receipt that settles it: once that is in the spool, there is nothing left to tell,
however suddenly the watcher ended. So no loss is told of twice, and none is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from elicitation_receipts.schemas.receipt import Loss
from elicitation_receipts.schemas.vocabulary import LossReason


@dataclass(frozen=True, slots=True)
class Account:
    """``id``: of the receipt that settles it; ``loss``: what is lost if that is not written."""

    id: UUID
    loss: Loss

    @property
    def count(self) -> int:
        assert self.loss.count is not None  # noqa: S101  (a living watcher knows it)
        return self.loss.count


class Tally:
    """The one account that still grows, and the one that is just being settled."""

    def __init__(self) -> None:
        self.open: Account | None = None
        self.settling: Account | None = None

    def __iter__(self) -> Iterator[Account]:
        return (one for one in (self.settling, self.open) if one is not None)

    def add(self, count: int, since: int, reason: LossReason, id_: UUID | None = None) -> bool:
        """So many more. True: that opened an account, which is to be noted."""
        if self.open is None:
            self.open = Account(id_ or uuid4(), Loss(count, since, reason))
            return True
        self.open = _with_more(self.open, count)
        return False

    def begin(self) -> None:
        """To settle what there is; what comes from now on is another account."""
        self.settling, self.open = self.open, None

    def succeed(self) -> None:
        self.settling = None

    def fail(self, id_: UUID | None = None) -> bool:
        """It could not be settled: it is open again, with what came since.

        ``id_``: another receipt settles it now. True: the open account was joined to it.
        """
        if self.settling is None:
            return False
        more = self.open.count if self.open else 0
        joined, settling = self.open is not None, self.settling
        self.settling, self.open = None, _with_more(settling, more)
        if id_ is not None:
            self.open = replace(self.open, id=id_)
        return joined

    def clear(self) -> None:
        self.settling = self.open = None


def _with_more(account: Account, count: int) -> Account:
    return replace(account, loss=replace(account.loss, count=account.count + count))
