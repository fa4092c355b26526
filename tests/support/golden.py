"""Golden messages: bytes a schema version once wrote, with what they say, for ever readable.

`python tests/support/golden.py > tests/schemas/golden/v<version>.json` makes those of the
newest version, once, when it is released. After that the file never changes.
"""

from __future__ import annotations

import json
import sys
from dataclasses import fields, is_dataclass
from typing import Any
from uuid import UUID

from make_receipt import make_receipt

from elicitation_receipts.schemas.codec import encode
from elicitation_receipts.schemas.receipt import (
    Act,
    FailedField,
    Finding,
    Keyed,
    Loss,
    Payload,
    Receipt,
    Reference,
    Task,
    Validation,
)
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

KEY_ID = "0123456789ab"
KEYED = Keyed(KEY_ID, bytes(range(32)))
REFERENCE = f"#{KEY_ID}.{'cd' * 12}"


def examples() -> dict[str, Receipt]:
    """One receipt of each kind; together they fill every field."""
    answered = make_receipt(
        event=Event.ANSWERED,
        sequence=7,
        previous_hash=bytes(range(32, 64)),
        operation_id=UUID(int=2**127 + 5),
        round=2,
        attempt=1,
        action=Action.ACCEPT,
        outcome=Outcome.INVALID,
        decided_by=DecidedBy.PERSON_CLAIMED,
        policy_id="default",
        policy_version="1",
        policy_digest=bytes(range(64, 96)),
        decision=Decision.WARN,
        findings=(
            Finding(FindingName.ACCEPT_SCHEMA_MISMATCH, Severity.WARNING, Gate.PROTOCOL),
            Finding(FindingName.TOO_MANY_FIELDS, Severity.INFO, Gate.UX),
        ),
        findings_more=1,
        server_name="mcp-servers/everything",
        server_version="2026.8.31",
        client_name=REFERENCE,
        client_version="2.3.0",
        protocol_version="2025-11-25",
        declared_modes=(Mode.FORM, Mode.URL),
        capability_digest=KEYED,
        operation_method="tools/call",
        tool="trigger-elicitation-request",
        flow="onboarding",
        environment="staging",
        session_ref=KEYED,
        vantage=Vantage.STDIO,
        fidelity=Fidelity.BYTES,
        validation=Validation(
            requested=13,
            required=1,
            answered=12,
            failed=(FailedField("age", Keyword.MINIMUM), FailedField("[3]", Keyword.TYPE)),
        ),
        question_digest=KEYED,
        payload_digest=Payload(KEY_ID, bytes(16), bytes(range(96, 128))),
        subject_ref=KEYED,
        correlation_refs=(Reference(ReferenceKind.QUESTION_ID, KEY_ID, bytes(32)),),
        since_previous_us=4_200_000,
        clock=Clock.MONOTONIC,
        trace_id=bytes(range(16)),
        span_id=bytes(range(8)),
        retention_class="standard",
        purpose="support",
        notice="notice-3",
        redaction_dropped=2,
    )
    return {
        "requested": make_receipt(),
        "answered": answered,
        "completed": make_receipt(
            event=Event.COMPLETED,
            sequence=2**62,
            carrier=Carrier.MULTI_ROUND_TRIP,
            mode=Mode.URL,
            presentation=Presentation.URL,
            outcome=Outcome.COMPLETED,
            decided_by=DecidedBy.RUNTIME,
            proof=Proof.OPERATION_RESULT,
            required_proof=Proof.SERVER_NOTIFICATION,
            operation_result=OperationResult.SUCCESS,
            url_origin="https://xn--mnchen-3ya.example:8443",
            declared_modes=(),
        ),
        "task": make_receipt(
            event=Event.EXPIRED,
            carrier=Carrier.TASK,
            mode=Mode.TASK_INPUT,
            outcome=Outcome.EXPIRED,
            redaction_status=RedactionStatus.FAILED,
            expires_at=1_796_000_060_000_000,
            task=Task(TaskStatus.INPUT_REQUIRED, TaskStatus.FAILED, 3),
        ),
        "lost": make_receipt(
            event=Event.LOST, loss=Loss(None, 1_796_000_000_000_000, LossReason.DISK_FULL)
        ),
        "act": make_receipt(
            event=Event.SEGMENT_SEALED,
            act=Act(
                actor_ref=KEYED,
                target="default",
                count=1000,
                case_ref=KEYED,
                key_id_from=KEY_ID,
                key_id_to="ba9876543210",
                first_sequence=0,
                last_sequence=999,
                root=bytes(32),
            ),
        ),
    }


def describe(value: Any) -> Any:
    """A receipt as JSON: ids and digests as text, every field by its name."""
    if is_dataclass(value):
        return {field.name: describe(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [describe(part) for part in value]
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, UUID) else value


if __name__ == "__main__":
    golden = {
        name: {"message": encode(receipt).hex(), "receipt": describe(receipt)}
        for name, receipt in examples().items()
    }
    json.dump(golden, sys.stdout, indent=1)
    sys.stdout.write("\n")
