"""Writes receipts: what a watcher knows of a session, put into the fields of one.

What rests on content is derived within one guard: where that fails, the receipt is
written all the same, with nothing derived from content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.producers.policy.words import Effect
from elicitation_receipts.producers.redact import Redactor, count_dropped
from elicitation_receipts.producers.wire.life import Elicitation, Operation, ProtocolIds
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.peers import Peers
from elicitation_receipts.schemas.receipt import MAX_LISTED, Finding, Keyed, Receipt, Task
from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    Clock,
    Event,
    Fidelity,
    FindingName,
    Mode,
    RedactionStatus,
    Vantage,
)


@dataclass(frozen=True, slots=True)
class Post:
    """Where a watcher stands, and under what: the same on each of its receipts."""

    policy: Policy
    vantage: Vantage
    fidelity: Fidelity
    producer_name: str
    producer_version: str
    environment: str | None = None
    flow: str | None = None
    #: Whether questions carry the policy's id and version on.
    stamps: bool = False
    #: What intervals are measured by: a recording has no other clock than the wall's.
    clock: Clock = Clock.MONOTONIC


class Scribe:
    """Writes the receipts of one session. ``subject``: whom it is with, as far as anybody says."""

    def __init__(self, redactor: Redactor, post: Post, session: str) -> None:
        self.subject: Keyed | None = None
        self._redactor = redactor
        #: What the session is called: a keyed reference to it stands on each receipt.
        self.session = session
        self._flow = post.flow
        self._clock = post.clock
        self._out: list[Receipt] = []
        self._constant: dict[str, Any] = {
            "tenant": redactor.tenant,
            "environment": post.environment,
            "vantage": post.vantage,
            "fidelity": post.fidelity,
            "producer_name": post.producer_name,
            "producer_version": post.producer_version,
        }
        self.use_policy(post.policy)

    def use_policy(self, policy: Policy) -> None:
        """From now on write under ``policy``."""
        self._policy = policy
        self._constant |= {
            "policy_id": policy.id,
            "policy_version": policy.version,
            "policy_digest": policy.digest,
        }

    def take(self) -> list[Receipt]:
        """The receipts written since the last call, in order."""
        taken, self._out = self._out, []
        return taken

    def write(
        self,
        event: Event,
        elicitation: Elicitation,
        at: Moment,
        findings: Iterable[FindingName] = (),
        *,
        first: bool = False,
        more_ids: ProtocolIds = (),
        derive: Callable[[UUID], dict[str, Any]] | None = None,
        **stated: Any,
    ) -> None:
        """One receipt of ``elicitation`` as it stands now.

        ``first``     it has none before it
        ``more_ids``  protocol ids beside those of its question
        ``derive``    gives fields that rest on content, for the receipt's id
        ``stated``    fields that rest on none
        """
        operation, adopted = elicitation.operation, elicitation.adopted
        # Until its first receipt of ours, an adopted one was last seen by another's clock.
        crosses = adopted is not None and elicitation.last_at is elicitation.asked_at
        stated = {
            "elicitation_id": elicitation.id,
            "operation_id": operation.id if operation else None,
            "round": elicitation.round,
            "attempt": elicitation.attempt,
            "carrier": elicitation.carrier,
            "mode": elicitation.mode,
            "presentation": elicitation.question.presentation,
            "expires_at": elicitation.expires_at,
            "flow": elicitation.rules.flow or self._flow,
            "purpose": elicitation.rules.purpose,
            "notice": elicitation.rules.notice,
            "retention_class": elicitation.rules.retention_class,
            "required_proof": elicitation.rules.required_proof,
            "since_previous_us": None if first else at.since(elicitation.last_at),
            "clock": None if first else Clock.WALL if crosses else self._clock,
            "trace_id": elicitation.trace.trace_id if elicitation.trace else None,
            "span_id": elicitation.trace.span_id if elicitation.trace else None,
            **stated,
        }
        if elicitation.task is not None and elicitation.carrier is Carrier.TASK:
            status = elicitation.task.status
            stated["task"] = Task(elicitation.last_status, status, elicitation.task.checkpoint)
            elicitation.last_status = status
        elicitation.last_at = at

        def derived(receipt_id: UUID) -> dict[str, Any]:
            url = elicitation.question.url
            if elicitation.digest is None and elicitation.question_seen:
                raise ValueError("the question has no canonical form")
            return {
                "question_digest": elicitation.digest,
                "url_origin": (
                    self._redactor.url_origin(url)
                    if url is not None and elicitation.question.mode is Mode.URL
                    else adopted and adopted.url_origin
                ),
                "correlation_refs": (
                    *(adopted.correlation_refs if adopted else ()),
                    *(
                        self._redactor.reference(kind, text)
                        for kind, text in (*elicitation.protocol_ids, *more_ids)
                    ),
                )[:MAX_LISTED],
                **(derive(receipt_id) if derive else {}),
            }

        self._append(event, at, findings, elicitation.peers, operation, stated, derived)

    def stray(
        self,
        findings: Iterable[FindingName],
        at: Moment,
        operation: Operation | None,
        peers: Peers,
    ) -> None:
        """A `noted` receipt that belongs to no elicitation."""
        stated = {"operation_id": operation.id if operation else None, "flow": self._flow}
        self._append(Event.NOTED, at, findings, peers, operation, stated, lambda _: {})

    def _append(
        self,
        event: Event,
        at: Moment,
        findings: Iterable[FindingName],
        peers: Peers,
        operation: Operation | None,
        stated: dict[str, Any],
        derive: Callable[[UUID], dict[str, Any]],
    ) -> None:
        effect = self._policy.effect_of
        names = [name for name in dict.fromkeys(findings) if effect(name) is not Effect.OFF]
        if event is Event.NOTED and not names:
            return  # all that was to be noted is off
        receipt_id = self._redactor.new_id()

        def receipt_with(content: dict[str, Any], status: RedactionStatus) -> Receipt:
            return Receipt(
                receipt_id=receipt_id,
                stream_id=self._redactor.stream_id,
                event=event,
                occurred_at=at.wall_us,
                redaction_status=status,
                **self._constant,
                **stated,
                **content,
            )

        try:
            content = {
                "session_ref": self._redactor.session(self.session),
                "subject_ref": self.subject,
                **self._redactor.peers(peers),
                **(self._redactor.operation(operation.method, operation.name) if operation else {}),
                **derive(receipt_id),
            }
            receipt = receipt_with(content, RedactionStatus.APPLIED)
            dropped = count_dropped(receipt)
        except Exception:  # noqa: BLE001  the event is recorded with nothing derived from content
            receipt = receipt_with({}, RedactionStatus.FAILED)
            dropped = 0
            names.append(FindingName.REDACTION_FAILED)
        required = self._policy.required_fields(receipt.outcome)
        if any(getattr(receipt, field) in (None, ()) for field in required):
            names.append(FindingName.RECEIPT_FIELD_MISSING)
        self._out.append(
            replace(
                receipt,
                findings=tuple(
                    Finding(name, self._policy.severity_of(name), self._policy.gate_of(name))
                    for name in names[:MAX_LISTED]
                ),
                findings_more=max(0, len(names) - MAX_LISTED),
                redaction_dropped=dropped,
            )
        )
