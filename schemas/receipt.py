"""The receipt: one immutable event, field for field the Avro record in ``receipt_v1.avsc``.

The type has no place for a value a person typed: digests are bytes of fixed
length, words come from closed vocabularies, and every other string must satisfy
the ``constraint`` its Avro field names (checked by the codec, defined in
``identifiers``). What each field means stands in the Avro schema, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from elicitation_receipts.schemas.vocabulary import (
    Action,
    Carrier,
    Clock,
    DecidedBy,
    Decision,
    Event,
    Fidelity,
    FindingName,
    Gate,
    Identity,
    Keyword,
    LossReason,
    Mode,
    OperationResult,
    Outcome,
    Presentation,
    Proof,
    RedactionStatus,
    ReferenceKind,
    Severity,
    TaskStatus,
    Vantage,
)

#: At most so many findings and failed fields stand in one receipt; the rest is counted.
MAX_LISTED: Final = 64
#: ``previous_hash`` of the first receipt of a stream.
ZERO_HASH: Final = bytes(32)
#: Version of the redaction rules this code applies.
REDACTION_PROFILE: Final = 1


@dataclass(frozen=True, slots=True)
class Finding:
    name: FindingName
    severity: Severity
    gate: Gate


@dataclass(frozen=True, slots=True)
class Keyed:
    """A keyed digest. ``key_id``: 12 hexadecimal digits; ``value``: 32 bytes."""

    key_id: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Payload:
    """A keyed digest of content with its own nonce (16 bytes): equal answers differ."""

    key_id: str
    nonce: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class Reference:
    """A protocol id as a keyed digest of 32 bytes."""

    kind: ReferenceKind
    key_id: str
    value: bytes


@dataclass(frozen=True, slots=True)
class FailedField:
    """``field``: safe property name or ``[n]``, its place in the schema; None: the object."""

    field: str | None
    keyword: Keyword


@dataclass(frozen=True, slots=True)
class Validation:
    """Counts of properties requested, required and answered, and what failed."""

    requested: int
    required: int
    answered: int
    failed: tuple[FailedField, ...] = ()
    failed_more: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    status_from: TaskStatus | None
    status_to: TaskStatus
    checkpoint: int | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """``count`` receipts (None: unknown) could not be written ``since`` (UTC microseconds)."""

    count: int | None
    since: int
    reason: LossReason


@dataclass(frozen=True, slots=True)
class Act:
    actor_ref: Keyed | None
    target: str | None
    count: int
    case_ref: Keyed | None = None
    key_id_from: str | None = None
    key_id_to: str | None = None
    first_sequence: int | None = None
    last_sequence: int | None = None
    root: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One event. Times are UTC microseconds since 1970, intervals microseconds.

    ``sequence`` and ``previous_hash`` are given by the spool when it seals the
    receipt; until then they hold their defaults.
    """

    # order
    receipt_id: UUID
    stream_id: UUID
    sequence: int = 0
    previous_hash: bytes = ZERO_HASH
    # what
    event: Event
    elicitation_id: UUID | None = None
    operation_id: UUID | None = None
    round: int = 0
    attempt: int = 0
    carrier: Carrier | None = None
    mode: Mode | None = None
    presentation: Presentation | None = None
    action: Action | None = None
    outcome: Outcome | None = None
    decided_by: DecidedBy | None = None
    proof: Proof | None = None
    required_proof: Proof | None = None
    operation_result: OperationResult | None = None
    # policy
    policy_id: str | None = None
    policy_version: str | None = None
    policy_digest: bytes | None = None
    decision: Decision | None = None
    findings: tuple[Finding, ...] = ()
    findings_more: int = 0
    # origin
    server_name: str | None = None
    server_version: str | None = None
    client_name: str | None = None
    client_version: str | None = None
    identity: Identity = Identity.SELF_REPORTED
    protocol_version: str | None = None
    declared_modes: tuple[Mode, ...] | None = None
    capability_digest: Keyed | None = None
    operation_method: str | None = None
    tool: str | None = None
    flow: str | None = None
    tenant: str
    environment: str | None = None
    session_ref: Keyed | None = None
    url_origin: str | None = None
    # watcher
    vantage: Vantage | None = None
    fidelity: Fidelity | None = None
    producer_name: str
    producer_version: str
    # validation
    validation: Validation | None = None
    # digests
    question_digest: Keyed | None = None
    payload_digest: Payload | None = None
    subject_ref: Keyed | None = None
    correlation_refs: tuple[Reference, ...] = ()
    # time
    occurred_at: int
    since_previous_us: int | None = None
    clock: Clock | None = None
    expires_at: int | None = None
    # task
    task: Task | None = None
    # trace
    trace_id: bytes | None = None
    span_id: bytes | None = None
    # keeping
    retention_class: str | None = None
    purpose: str | None = None
    notice: str | None = None
    # redaction
    redaction_profile: int = REDACTION_PROFILE
    redaction_status: RedactionStatus = RedactionStatus.APPLIED
    redaction_dropped: int = 0
    # loss and acts
    loss: Loss | None = None
    act: Act | None = None
