"""The operators' stream: what was done to receipts and keys, and who looked, as receipts.

One stream a spool, beside those of the tenants, under a tenant's name of its own: its acts
are chained, shipped and landed like every other receipt.
"""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from elicitation_receipts.schemas import digest
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.identifiers import OPERATORS, is_identifier
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.receipt import Act, Keyed, Receipt
from elicitation_receipts.schemas.spool import Producer, Spool
from elicitation_receipts.schemas.vocabulary import Event

_PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Operators:
    """Writes acts. ``keyring``: the home's; who acts is a reference under a key of its own."""

    spool: Spool
    keyring: Keyring
    producer: Producer

    def record(
        self, event: Event, target: str | None, count: int, case: str | None = None, **act: Any
    ) -> Receipt:
        """Write one act, durable once this returns; returns its receipt.

        ``target``  on what: a report's name, a tenant; what is no safe name becomes a reference
        ``case``    the case it was done for; it stands in the receipt as a reference only
        ``act``     other fields of :class:`Act`

        Raises :class:`SpoolError` and :class:`KeyringError`.
        """
        key = self.keyring.tenant(OPERATORS).reference
        receipt = Receipt(
            receipt_id=uuid4(),
            stream_id=self.spool.stream_for(OPERATORS, self.producer),
            event=event,
            tenant=OPERATORS,
            producer_name=self.producer.name,
            producer_version=self.producer.version,
            occurred_at=time.time_ns() // 1000,
            act=replace(
                Act(
                    actor_ref=digest.keyed(key, "actor", _user()),
                    target=None if target is None else self.target(target),
                    count=count,
                    case_ref=None if case is None else self.case_ref(case),
                ),
                **act,
            ),
        )
        [sealed] = self.spool.append([receipt])
        return sealed.receipt

    def target(self, name: str) -> str:
        """How a name stands in an act: as it is, or as a reference where it is no safe name."""
        if is_identifier(name):
            return name
        key = self.keyring.tenant(OPERATORS).reference
        return digest.reference_text(key, "target", name)

    def case_ref(self, case: str) -> Keyed:
        """What stands for a case: equal for the same case."""
        return digest.keyed(self.keyring.tenant(OPERATORS).reference, "case", case)

    def acts(self) -> Iterator[Receipt]:
        """Every act this spool holds, in the order in which they were written."""
        for stream in self.spool.streams():
            if stream.tenant == OPERATORS:
                first = 0
                while stored := self.spool.read_stream(stream.stream_id, first, _PAGE):
                    receipts = (decode(one.message) for one in stored)
                    yield from (receipt for receipt in receipts if receipt.act is not None)
                    first = stored[-1].sequence + 1


def _user() -> str:
    """Whom the operating system takes the caller for: a name, or the number of one without."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
