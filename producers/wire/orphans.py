"""Orphans: questions that a watcher before this one left open, and what is still known of them.

A receipt keeps no id, no text and no schema of a question, only keyed references to its
ids. What traffic names now gives, under the same key, the same references.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from elicitation_receipts.producers.policy import Policy, Rules
from elicitation_receipts.producers.redact import Redacted, Redactor
from elicitation_receipts.producers.wire.life import Elicitation, Operation, TaskState
from elicitation_receipts.producers.wire.message import ABSENT
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.peers import Peers
from elicitation_receipts.producers.wire.question import Question
from elicitation_receipts.producers.wire.trace import Trace
from elicitation_receipts.schemas.receipt import Keyed, Receipt
from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    Mode,
    Outcome,
    Presentation,
    TaskStatus,
)


class Orphans:
    """The orphans of one tenant, each as the newest receipt of its question."""

    def __init__(self) -> None:
        self._adopted: set[UUID | None] = set()
        self.offer(())

    def offer(self, receipts: Iterable[Receipt]) -> None:
        """All there are now. Those that found a session are not offered to another."""
        self._by_reference: dict[bytes, list[Receipt]] = defaultdict(list)
        self._by_session: dict[Keyed | None, list[Receipt]] = defaultdict(list)
        self._by_operation: dict[UUID | None, list[Receipt]] = defaultdict(list)
        for receipt in receipts:
            for reference in receipt.correlation_refs:
                self._by_reference[reference.value].append(receipt)
            self._by_session[receipt.session_ref].append(receipt)
            self._by_operation[receipt.operation_id].append(receipt)

    def named(self, reference: bytes) -> list[Receipt]:
        return self._free(self._by_reference.get(reference, []))

    def of_session(self, session: Keyed) -> list[Receipt]:
        return self._free(self._by_session.get(session, []))

    def take(self, receipt: Receipt) -> list[Receipt]:
        """``receipt`` and the others of its operation, unless somebody else has taken them."""
        alone = receipt.operation_id is None
        family = self._free([receipt] if alone else self._by_operation[receipt.operation_id])
        self._adopted.update(member.elicitation_id for member in family)
        return family

    def _free(self, receipts: list[Receipt]) -> list[Receipt]:
        return [receipt for receipt in receipts if receipt.elicitation_id not in self._adopted]


def operation_of(receipt: Receipt, redactor: Redactor, at: Moment) -> Operation:
    """The operation it was put in, as far as it tells."""
    assert receipt.operation_id is not None  # noqa: S101  (the caller has looked)
    waits = receipt.carrier is not Carrier.SERVER_REQUEST
    return Operation(
        id=receipt.operation_id,
        method=_redacted(receipt.operation_method),
        name=_redacted(receipt.tool),
        arguments=redactor.random(32),  # equal to nothing
        request_id=ABSENT,
        started_at=_moment(receipt, at),
        peers=peers_of(receipt),
        waiting=receipt.carrier if waits else None,
        waiting_since=_moment(receipt, at) if waits else None,
        task=_task(receipt),
        trace=_trace(receipt),
        unseen=True,
    )


def elicitation_of(
    receipt: Receipt, operation: Operation | None, policy: Policy, at: Moment
) -> Elicitation:
    """The question it is of, as far as it tells."""
    assert receipt.elicitation_id is not None  # noqa: S101  (what is open has both)
    assert receipt.carrier is not None  # noqa: S101
    presentation = receipt.presentation or Presentation.UNKNOWN
    then = _moment(receipt, at)
    return Elicitation(
        id=receipt.elicitation_id,
        carrier=receipt.carrier,
        operation=operation,
        peers=peers_of(receipt),
        question=Question(
            mode=Mode(presentation.value),
            presentation=presentation,
            message="",
            schema=None,
            url=None,
            elicitation_id=None,
            findings=tuple(finding.name for finding in receipt.findings),
            is_known=False,
        ),
        rules=_rules(receipt, policy),
        digest=receipt.question_digest,
        asked_at=then,
        last_at=then,
        outcome=receipt.outcome or Outcome.OPEN,
        round=receipt.round,
        attempt=receipt.attempt,
        task=operation.task if operation else _task(receipt),
        last_status=receipt.task.status_to if receipt.task else None,
        trace=_trace(receipt),
        subject=receipt.subject_ref,
        question_seen=receipt.question_digest is not None,
        deadline=receipt.expires_at,
        adopted=receipt,
    )


def _rules(receipt: Receipt, policy: Policy) -> Rules:
    """As far as the receipt tells, those of the policy that was in force when it was put."""
    return replace(
        policy.rules_for(receipt.operation_method, receipt.tool),
        required_proof=receipt.required_proof,
        flow=receipt.flow,
        purpose=receipt.purpose,
        notice=receipt.notice,
        retention_class=receipt.retention_class,
    )


def _moment(receipt: Receipt, at: Moment) -> Moment:
    """When it was written, on a clock that was not running then."""
    passed = max(0, at.wall_us - receipt.occurred_at)
    return Moment(receipt.occurred_at, at.monotonic_us - passed)


def peers_of(receipt: Receipt) -> Peers:
    """What client and server said of themselves."""
    return Peers(
        server_name=_redacted(receipt.server_name),
        server_version=_redacted(receipt.server_version),
        client_name=_redacted(receipt.client_name),
        client_version=_redacted(receipt.client_version),
        revision=_redacted(receipt.protocol_version),
        kept_modes=receipt.declared_modes,
        kept_digest=receipt.capability_digest,
    )


def _task(receipt: Receipt) -> TaskState | None:
    if receipt.carrier is not Carrier.TASK:
        return None
    status = receipt.task.status_to if receipt.task else TaskStatus.INPUT_REQUIRED
    checkpoint = receipt.task.checkpoint if receipt.task else None
    return TaskState("", status, receipt.expires_at, checkpoint)


def _trace(receipt: Receipt) -> Trace | None:
    if receipt.trace_id is None or receipt.span_id is None:
        return None
    return Trace(receipt.trace_id, receipt.span_id)


def _redacted(text: str | None) -> Redacted | None:
    return None if text is None else Redacted(text)
