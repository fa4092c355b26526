"""Recovery: ends the questions of watchers that died and accounts for what they lost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final
from uuid import UUID, uuid4

from elicitation_receipts.producers.loss import lost_receipt
from elicitation_receipts.producers.policy import BUILT_IN, Policy
from elicitation_receipts.producers.presence import Departed, departed, is_present
from elicitation_receipts.schemas.receipt import Finding, Receipt
from elicitation_receipts.schemas.spool import OpenQuestion, Producer, Sealed, Spool
from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    Clock,
    DecidedBy,
    Event,
    FindingName,
    Outcome,
    Vantage,
)

#: Where watcher and connection share a process, or one ends the other.
_END_WITH_THEIR_WATCHER: Final = (Vantage.STDIO, Vantage.STREAM)


#: Where sessions outlive their watcher: a proxy is started anew, and they go on.
_OUTLIVE_THEIR_WATCHER: Final = (Vantage.HTTP, Vantage.ASGI)


def recover(spool: Spool, producer: Producer, policy: Policy = BUILT_IN) -> list[Sealed]:
    """Write what watchers that are gone can no longer write; returns those receipts.

    * An open question of a watcher whose connection ends with it (stdio, streams within a
      process) ended: `abandoned`. So did a URL that was consented to and never proved
      complete: `unproven`.
    * One of a watcher whose sessions outlive it (HTTP) ends when its time has passed, that
      which task or policy gave (`expired`) or the policy's silence. Before, it stays open.
    * Receipts it was losing when it ended become a `lost`.

    Any number of processes may do this at once: it happens under the spool's lock.
    """
    gone: list[Departed] = []
    try:
        with spool.transaction():
            gone += departed(spool.home)
            ends = _ends(spool, producer, policy, gone)
            receipts = [*_losses(spool, producer, gone), *ends]
            sealed = spool.append(receipts)
        for one in gone:
            # After the commit: who is killed in between is found to have settled it.
            one.forget()
    finally:
        for one in gone:
            one.lock.release()
    return sealed


def orphans(spool: Spool, tenant: str, vantage: Vantage) -> list[Receipt]:
    """The questions that watchers which are gone left open, each as its newest receipt."""
    return [
        replace(question.receipt, outcome=question.outcome)
        for question in spool.open_questions()
        if question.receipt.tenant == tenant
        and question.receipt.vantage is vantage
        and question.watcher is not None
        and not is_present(spool.home, question.watcher)
    ]


def _losses(spool: Spool, producer: Producer, gone: Iterable[Departed]) -> Iterator[Receipt]:
    for one in gone:
        for account in one.accounts:
            if one.tenant is not None and not spool.holds(account.id):
                stream_id = spool.stream_for(one.tenant, producer)
                yield lost_receipt(stream_id, one.tenant, producer, account)


def _ends(
    spool: Spool, producer: Producer, policy: Policy, gone: Iterable[Departed]
) -> Iterator[Receipt]:
    ids = {one.id for one in gone}
    now = time.time_ns() // 1000
    for question in spool.open_questions():
        watcher = question.watcher
        if watcher is None or (watcher not in ids and is_present(spool.home, watcher)):
            continue
        vantage = question.receipt.vantage
        if vantage in _OUTLIVE_THEIR_WATCHER and not _is_over(question, policy, now):
            continue
        if vantage in (*_END_WITH_THEIR_WATCHER, *_OUTLIVE_THEIR_WATCHER):
            stream_id = spool.stream_for(question.receipt.tenant, producer)
            yield _end(question, stream_id, producer, policy, now)


def _is_over(question: OpenQuestion, policy: Policy, now: int) -> bool:
    given = question.receipt.expires_at
    if given is not None:
        return now >= given
    return now - question.receipt.occurred_at >= policy.thresholds.silence_s * 1_000_000


def _has_expired(question: OpenQuestion, now: int) -> bool:
    expires_at = question.receipt.expires_at
    return question.outcome is Outcome.OPEN and expires_at is not None and now >= expires_at


def _findings(question: OpenQuestion, *, expired: bool) -> Iterator[FindingName]:
    if expired and question.receipt.carrier is Carrier.TASK:
        yield FindingName.TASK_EXPIRED
    # Over HTTP an answer may have passed while nobody was there who knew the question.
    if (
        question.outcome is Outcome.OPEN
        and question.receipt.attempt == 0
        and question.receipt.vantage not in _OUTLIVE_THEIR_WATCHER
    ):
        yield FindingName.UNANSWERED


def _end(
    question: OpenQuestion, stream_id: UUID, producer: Producer, policy: Policy, now: int
) -> Receipt:
    """The receipt of a question's end, from its newest one."""
    last = question.receipt
    expired = last.vantage in _OUTLIVE_THEIR_WATCHER and _has_expired(question, now)
    outcome = Outcome.UNPROVEN if question.outcome is Outcome.CONSENTED else Outcome.ABANDONED
    validation = last.validation and replace(last.validation, failed=(), failed_more=0)
    return replace(
        last,
        receipt_id=uuid4(),
        stream_id=stream_id,
        event=Event.EXPIRED if expired else Event.ABANDONED,
        outcome=Outcome.EXPIRED if expired else outcome,
        decided_by=DecidedBy.RUNTIME,
        findings=tuple(
            Finding(name, policy.severity_of(name), policy.gate_of(name))
            for name in _findings(question, expired=expired)
        ),
        occurred_at=now,
        since_previous_us=max(0, now - last.occurred_at),
        clock=Clock.WALL,
        producer_name=producer.name,
        producer_version=producer.version,
        validation=validation,
        # What belonged to the last event alone.
        action=None,
        proof=None,
        operation_result=None,
        findings_more=0,
        payload_digest=None,
        task=None,
        redaction_dropped=0,
    )
