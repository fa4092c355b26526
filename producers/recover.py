"""Recovery: ends the questions of watchers that died and accounts for what they lost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final
from uuid import UUID, uuid4

from elicitation_receipts.producers.loss import lost_receipt
from elicitation_receipts.producers.presence import Departed, departed, is_present
from elicitation_receipts.schemas.receipt import Finding, Receipt
from elicitation_receipts.schemas.spool import OpenQuestion, Producer, Sealed, Spool
from elicitation_receipts.schemas.vocabulary import (
    Clock,
    DecidedBy,
    Event,
    FindingName,
    Outcome,
    Vantage,
)

#: Where watcher and connection share a process, or one ends the other.
_END_WITH_THEIR_WATCHER: Final = (Vantage.STDIO, Vantage.STREAM)


def recover(spool: Spool, producer: Producer) -> list[Sealed]:
    """Write what watchers that are gone can no longer write; returns those receipts.

    * An open question of a watcher whose connection ends with it (stdio, streams within a
      process) ended: `abandoned`. So did a URL that was consented to and never proved
      complete: `unproven`. Other vantages outlive their watcher and are left open.
    * Receipts it was losing when it ended become a `lost`.

    Any number of processes may do this at once: it happens under the spool's lock.
    """
    gone: list[Departed] = []
    try:
        with spool.transaction():
            gone += departed(spool.home)
            receipts = [*_losses(spool, producer, gone), *_ends(spool, producer, gone)]
            sealed = spool.append(receipts)
        for one in gone:
            # After the commit: a crash in between tells of a loss twice rather than never.
            one.forget()
    finally:
        for one in gone:
            one.lock.release()
    return sealed


def _losses(spool: Spool, producer: Producer, gone: Iterable[Departed]) -> Iterator[Receipt]:
    for one in gone:
        if one.tenant is not None and one.loss is not None:
            stream_id = spool.stream_for(one.tenant, producer)
            yield lost_receipt(stream_id, one.tenant, producer, one.loss)


def _ends(spool: Spool, producer: Producer, gone: Iterable[Departed]) -> Iterator[Receipt]:
    ids = {one.id for one in gone}
    now = time.time_ns() // 1000
    for question in spool.open_questions():
        watcher = question.watcher
        if question.receipt.vantage not in _END_WITH_THEIR_WATCHER or watcher is None:
            continue
        if watcher in ids or not is_present(spool.home, watcher):
            yield _end(question, spool.stream_for(question.receipt.tenant, producer), producer, now)


def _end(question: OpenQuestion, stream_id: UUID, producer: Producer, now: int) -> Receipt:
    """The receipt of a question's end, from its newest one."""
    last = question.receipt
    consented = question.outcome is Outcome.CONSENTED
    unanswered = FindingName.UNANSWERED
    validation = last.validation and replace(last.validation, failed=(), failed_more=0)
    return replace(
        last,
        receipt_id=uuid4(),
        stream_id=stream_id,
        event=Event.ABANDONED,
        outcome=Outcome.UNPROVEN if consented else Outcome.ABANDONED,
        decided_by=DecidedBy.RUNTIME,
        findings=(
            (Finding(unanswered, unanswered.default_severity, unanswered.gate),)
            if not consented and last.attempt == 0
            else ()
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
