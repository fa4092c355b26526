"""Lives of elicitations, made by hand: what a report should count, without any traffic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import duckdb

from elicitation_receipts.consumers.rows import now, row_from_receipt
from elicitation_receipts.consumers.summaries import keep_summaries
from elicitation_receipts.consumers.warehouse import installed_migrations
from elicitation_receipts.schemas.receipt import FailedField, Keyed, Receipt, Validation
from elicitation_receipts.schemas.vocabulary import (
    Action,
    Carrier,
    Clock,
    DecidedBy,
    Event,
    Fidelity,
    Keyword,
    Mode,
    OperationResult,
    Outcome,
    Proof,
    Vantage,
)

SECOND = 1_000_000
DAY = 86_400 * SECOND
#: 2026-11-01T00:00Z
START = 1_793_491_200 * SECOND

PERSON = DecidedBy.PERSON_CLAIMED
AUTOMATIC = DecidedBy.AUTOMATIC_SUSPECTED
UNKNOWN = DecidedBy.UNKNOWN
RUNTIME = DecidedBy.RUNTIME
POLICY = DecidedBy.POLICY

Step = Mapping[str, Any]

_ACTIONS = {Outcome.DECLINED: Action.DECLINE, Outcome.CANCELLED: Action.CANCEL}
_NO_ACTION = (Outcome.MALFORMED, Outcome.AMBIGUOUS)


def requested(after: int = 0, **fields: Any) -> Step:
    """The question is put, ``after`` microseconds since the step before."""
    question = Keyed("0" * 12, b"q" * 32)
    return {
        "event": Event.REQUESTED,
        "outcome": Outcome.OPEN,
        "question_digest": question,
        "after": after,
        **fields,
    }


def answered(
    outcome: Outcome,
    by: DecidedBy = PERSON,
    after: int = 5 * SECOND,
    failed: Iterable[tuple[str | None, Keyword]] = (),
    **fields: Any,
) -> Step:
    validation = None
    if outcome in (Outcome.ACCEPTED, Outcome.INVALID):
        validation = Validation(3, 1, 3, tuple(FailedField(*failure) for failure in failed))
    return {
        "event": Event.ANSWERED,
        "outcome": outcome,
        "decided_by": by,
        "action": None if outcome in _NO_ACTION else _ACTIONS.get(outcome, Action.ACCEPT),
        "validation": validation,
        "after": after,
        **fields,
    }


def refused(outcome: Outcome, by: DecidedBy = RUNTIME, after: int = 0) -> Step:
    return {"event": Event.REFUSED, "outcome": outcome, "decided_by": by, "after": after}


def ended(outcome: Outcome, after: int = 60 * SECOND) -> Step:
    """Expired, abandoned or unproven."""
    event = Event.EXPIRED if outcome is Outcome.EXPIRED else Event.ABANDONED
    return {"event": event, "outcome": outcome, "decided_by": RUNTIME, "after": after}


def completed(after: int = 30 * SECOND) -> Step:
    return {
        "event": Event.COMPLETED,
        "outcome": Outcome.COMPLETED,
        "decided_by": RUNTIME,
        "proof": Proof.SERVER_NOTIFICATION,
        "after": after,
    }


def resumed(after: int = SECOND) -> Step:
    result = OperationResult.SUCCESS
    return {"event": Event.RESUMED, "operation_result": result, "after": after}


class Lives:
    """A stream of whole lives that lands in ``connection``, a database of ours."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.clear()

    @classmethod
    def in_memory(cls) -> Lives:
        connection = duckdb.connect(":memory:")
        for migration in installed_migrations():
            connection.execute(migration.sql)
        return cls(connection)

    def clear(self) -> None:
        self.connection.execute("DELETE FROM receipts; DELETE FROM elicitation_summaries")
        self._stream = uuid4()
        self._sequence = 0
        self._waiting: list[Receipt] | None = None

    def add(self, *steps: Step, at: int = START, session: str | None = None, **origin: Any) -> UUID:
        """Land one elicitation. ``origin``: fields that stand in each of its receipts."""
        receipts = live(self._stream, self._sequence, *steps, at=at, session=session, **origin)
        self._sequence += len(receipts)
        self._land(receipts)
        assert receipts[0].elicitation_id is not None
        return receipts[0].elicitation_id

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """What is added meanwhile lands at the end: hundreds of lives in a moment."""
        self._waiting = []
        yield
        waiting, self._waiting = self._waiting, None
        self._land(waiting)

    def _land(self, receipts: list[Receipt]) -> None:
        if self._waiting is not None:
            self._waiting.extend(receipts)
            return
        landed_at = now()
        landing = [bytes(32), bytes(8), "spool", landed_at]
        with self.connection.appender("receipts") as appender:
            appender.append_rows([[*row_from_receipt(receipt), *landing] for receipt in receipts])
        keep_summaries(self.connection, landed_at, [])


def live(
    stream: UUID,
    sequence: int,
    *steps: Step,
    at: int = START,
    session: str | None = None,
    **origin: Any,
) -> list[Receipt]:
    """The receipts of one elicitation, from that place of the stream on."""
    elicitation = uuid4()
    session_ref = None if session is None else Keyed("0" * 12, session.encode().ljust(32))
    common = {
        "mode": Mode.FORM,
        "carrier": Carrier.SERVER_REQUEST,
        "server_name": "files",
        "vantage": Vantage.STDIO,
        "fidelity": Fidelity.BYTES,
        "operation_id": uuid4(),
        **origin,
    }
    receipts = []
    round_, attempt = 0, 0
    for place, step in enumerate(steps):
        fields = {"clock": Clock.MONOTONIC if place else None, **step}
        after = fields.pop("after")
        at += after
        if fields["event"] is Event.REQUESTED:
            round_, attempt = round_ + 1, 0
        attempt += fields["event"] is Event.ANSWERED
        receipts.append(
            Receipt(
                receipt_id=uuid4(),
                stream_id=stream,
                sequence=sequence + place,
                elicitation_id=elicitation,
                round=round_,
                attempt=attempt,
                tenant="default",
                session_ref=session_ref,
                producer_name="tests",
                producer_version="1",
                occurred_at=at,
                since_previous_us=after if place else None,
                **(common | fields),
            )
        )
    return receipts
