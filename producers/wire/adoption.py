"""Adoption: takes what a watcher before this one left open into the session it belongs to."""

from __future__ import annotations

import json
from collections.abc import Iterable

from elicitation_receipts.producers.wire.ledger import Ledger
from elicitation_receipts.producers.wire.life import Elicitation, Operation
from elicitation_receipts.producers.wire.message import Key
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.orphans import (
    Orphans,
    elicitation_of,
    operation_of,
    peers_of,
)
from elicitation_receipts.producers.wire.peers import MODERN, Peers
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import ReferenceKind

#: What nobody can guess joins what belongs to no session. Other ids are small numbers.
_UNGUESSABLE = (ReferenceKind.REQUEST_STATE, ReferenceKind.TASK_ID)


class Adoption:
    """Takes orphans into one session, whole operations at a time.

    ``midway``  the session began before anybody watched it: what a message refers to may lie
                before, and that nothing is known of it says nothing against the message
    """

    def __init__(self, orphans: Orphans, ledger: Ledger, *, midway: bool) -> None:
        self.midway = midway
        self._orphans = orphans
        self._ledger = ledger
        self._adopted: list[Elicitation] = []

    @property
    def peers(self) -> Peers:
        """What an earlier watcher heard client and server say of themselves."""
        of_session = self._orphans.of_session(self._ledger.session_ref) if self.midway else []
        return peers_of(of_session[-1]) if of_session else Peers()

    def find(self, kind: ReferenceKind, text: str, at: Moment) -> list[Elicitation]:
        """The orphans that have an id of this kind and text."""
        named = self._named(kind, text, at)
        ids = {receipt.elicitation_id for receipt in named}
        return [one for receipt in named for one in self._adopt(receipt, at) if one.id in ids]

    def requested_by(self, kind: ReferenceKind, key: Key, at: Moment) -> list[Elicitation]:
        """The orphans of a request of either side: ``kind`` says which."""
        id_ = key[1]
        return self.find(kind, json.dumps(id_), at) if isinstance(id_, str | int) else []

    def operations_of(self, key: Key, at: Moment) -> list[Operation]:
        """The operations of a client's request."""
        kind = ReferenceKind.OPERATION_REQUEST_ID
        self.requested_by(kind, key, at)
        asked = self._reference(kind, json.dumps(key[1])) if isinstance(key[1], str | int) else b""
        return _operations(one for one in self._adopted if asked in _references(one))

    def retried(self, state: str, method: str, name: str | None, at: Moment) -> list[Operation]:
        """The operations that a ``requestState`` continues; of several, those called alike."""
        asked = self._ledger.redactor.operation(method, name)
        issued = self._named(ReferenceKind.REQUEST_STATE, state, at)
        alike = [
            receipt
            for receipt in issued
            if (receipt.operation_method, receipt.tool)
            == (asked["operation_method"], asked["tool"])
        ]
        found = [
            elicitation for receipt in alike or issued for elicitation in self._adopt(receipt, at)
        ]
        return _operations(found)

    def task(self, task_id: str, at: Moment) -> Operation | None:
        """The operation that goes on as a task."""
        found = _operations(self.find(ReferenceKind.TASK_ID, task_id, at))
        for operation in found:
            if operation.task is not None:
                operation.task.id = task_id
        return found[0] if len(found) == 1 else None

    def name_keys(self, operation: Operation, keys: Iterable[str]) -> None:
        """Find the adopted questions of an operation among ``keys``."""
        for elicitation in operation.elicitations:
            if elicitation.adopted is None or elicitation in operation.keys.values():
                continue
            kept = _references(elicitation)
            for key in keys:
                if self._reference(ReferenceKind.REQUEST_KEY, key) in kept:
                    operation.keys[key] = elicitation
                    operation.asked_keys.add(key)

    def rest(self, at: Moment) -> list[Elicitation]:
        """All orphans of the session: it has ended."""
        if self.midway:
            for receipt in self._orphans.of_session(self._ledger.session_ref):
                self._adopt(receipt, at)
        return self._adopted

    def _named(self, kind: ReferenceKind, text: str, at: Moment) -> list[Receipt]:
        if not self.midway and kind not in _UNGUESSABLE:
            return []
        named = self._orphans.named(self._reference(kind, text))
        return [
            receipt
            for receipt in named
            if self._is_ours(receipt) and not self._is_over(receipt, at)
        ]

    def _is_ours(self, receipt: Receipt) -> bool:
        if self.midway:
            return receipt.session_ref == self._ledger.session_ref
        is_modern = receipt.protocol_version is not None and receipt.protocol_version >= MODERN
        return is_modern and receipt.subject_ref == self._ledger.subject

    def _is_over(self, receipt: Receipt, at: Moment) -> bool:
        """Its time has passed: whoever looks after the spool ends it."""
        if receipt.expires_at is not None:
            return at.wall_us >= receipt.expires_at
        return (
            at.wall_us - receipt.occurred_at >= self._ledger.policy.thresholds.silence_s * 1_000_000
        )

    def _reference(self, kind: ReferenceKind, text: str) -> bytes:
        return self._ledger.redactor.reference(kind, text).value

    def _adopt(self, receipt: Receipt, at: Moment) -> list[Elicitation]:
        """What was asked in the receipt's operation, or its question alone."""
        family = self._orphans.take(receipt)
        operation = (
            operation_of(receipt, self._ledger.redactor, at) if receipt.operation_id else None
        )
        elicitations = [
            elicitation_of(member, operation, self._ledger.policy, at) for member in family
        ]
        if operation is not None:
            operation.elicitations += elicitations
        self._adopted += elicitations
        return elicitations


def _references(elicitation: Elicitation) -> set[bytes]:
    receipt = elicitation.adopted
    return {reference.value for reference in receipt.correlation_refs} if receipt else set()


def _operations(elicitations: Iterable[Elicitation]) -> list[Operation]:
    return list(
        dict.fromkeys(each.operation for each in elicitations if each.operation is not None)
    )
