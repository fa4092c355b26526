"""Receipts for tests: one that is made by hand, and hypothesis strategies for any legal one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from elicitation_receipts.schemas.datum import LATEST_MICROS
from elicitation_receipts.schemas.identifiers import is_identifier, is_tenant, is_version
from elicitation_receipts.schemas.receipt import (
    MAX_LISTED,
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
    ORIGINATING_METHODS,
    PROTOCOL_REVISIONS,
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

STREAM_ID = UUID("22222222-2222-4222-8222-222222222222")
RECEIPT_ID = UUID("11111111-1111-4111-8111-111111111111")


def make_receipt(**overrides: Any) -> Receipt:
    """A small `requested` receipt; any field of it can be given."""
    fields: dict[str, Any] = {
        "receipt_id": RECEIPT_ID,
        "stream_id": STREAM_ID,
        "event": Event.REQUESTED,
        "elicitation_id": UUID("33333333-3333-4333-8333-333333333333"),
        "round": 1,
        "carrier": Carrier.SERVER_REQUEST,
        "mode": Mode.FORM,
        "presentation": Presentation.FORM,
        "outcome": Outcome.OPEN,
        "tenant": "default",
        "producer_name": "elicitation-receipts",
        "producer_version": "0.1.0",
        "occurred_at": 1_796_000_000_000_000,
    }
    return Receipt(**(fields | overrides))


def receipts(**overrides: SearchStrategy[Any]) -> SearchStrategy[Receipt]:
    """Any receipt that has an encoding; a field can be given a strategy of its own."""
    return st.builds(Receipt, **(_RECEIPT | overrides))


def _optional(values: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.none() | values


def _tuples(values: SearchStrategy[Any]) -> SearchStrategy[tuple[Any, ...]]:
    few = st.lists(values, max_size=3).map(tuple)
    return few | values.map(lambda value: (value,) * MAX_LISTED)


ints = st.integers(0, 2**31 - 1)
longs = st.integers(0, 2**63 - 1)
times = st.integers(0, LATEST_MICROS)
hashes = st.binary(min_size=32, max_size=32)
nonces = st.binary(min_size=16, max_size=16)
key_ids = st.text("0123456789abcdef", min_size=12, max_size=12)
references = st.builds(
    "#{}.{}".format, key_ids, st.text("0123456789abcdef", min_size=24, max_size=24)
)
plain_identifiers = st.sampled_from(
    ["ask", "tools/list", "com.example/payments", "default"]
) | st.from_regex(r"[A-Za-z][A-Za-z0-9_.:/-]{0,63}", fullmatch=True).filter(is_identifier)
identifiers = plain_identifiers | references
versions = (
    st.sampled_from(["1.2.3", "2026.8.31", "v0.2.0-alpha.12"])
    | st.from_regex(r"v?[0-9]{1,3}(\.[0-9]{1,3}){0,3}", fullmatch=True).filter(is_version)
    | references
)
fields = plain_identifiers | st.integers(0, 999).map("[{}]".format)
tenants = st.from_regex(r"[a-z0-9][a-z0-9_.-]{0,63}", fullmatch=True).filter(is_tenant)
origins = st.sampled_from(
    [
        "https://pay.example",
        "http://localhost:8080",
        "https://xn--mnchen-3ya.example:8443",
        "https://[2001:db8::1]",
        "http://192.0.2.1",
        "mailto:",
        "other:",
    ]
) | references.map("https://{}".format)

keyed = st.builds(Keyed, key_id=key_ids, value=hashes)
payloads = st.builds(Payload, key_id=key_ids, nonce=nonces, value=hashes)
findings = st.builds(
    Finding,
    name=st.sampled_from(FindingName),
    severity=st.sampled_from(Severity),
    gate=st.sampled_from(Gate),
)
correlation_refs = st.builds(
    Reference, kind=st.sampled_from(ReferenceKind), key_id=key_ids, value=hashes
)
failed_fields = st.builds(FailedField, field=_optional(fields), keyword=st.sampled_from(Keyword))
validations = st.builds(
    Validation,
    requested=ints,
    required=ints,
    answered=ints,
    failed=_tuples(failed_fields),
    failed_more=ints,
)
tasks = st.builds(
    Task,
    status_from=_optional(st.sampled_from(TaskStatus)),
    status_to=st.sampled_from(TaskStatus),
    checkpoint=_optional(longs),
)
losses = st.builds(Loss, count=_optional(longs), since=times, reason=st.sampled_from(LossReason))
acts = st.builds(
    Act,
    actor_ref=_optional(keyed),
    target=_optional(identifiers),
    count=longs,
    case_ref=_optional(keyed),
    key_id_from=_optional(key_ids),
    key_id_to=_optional(key_ids),
    first_sequence=_optional(longs),
    last_sequence=_optional(longs),
    root=_optional(hashes),
)

_RECEIPT: dict[str, SearchStrategy[Any]] = {
    "receipt_id": st.uuids(),
    "stream_id": st.uuids(),
    "sequence": longs,
    "previous_hash": hashes,
    "event": st.sampled_from(Event),
    "elicitation_id": _optional(st.uuids()),
    "operation_id": _optional(st.uuids()),
    "round": ints,
    "attempt": ints,
    "carrier": _optional(st.sampled_from(Carrier)),
    "mode": _optional(st.sampled_from(Mode)),
    "presentation": _optional(st.sampled_from(Presentation)),
    "action": _optional(st.sampled_from(Action)),
    "outcome": _optional(st.sampled_from(Outcome)),
    "decided_by": _optional(st.sampled_from(DecidedBy)),
    "proof": _optional(st.sampled_from(Proof)),
    "required_proof": _optional(st.sampled_from(Proof)),
    "operation_result": _optional(st.sampled_from(OperationResult)),
    "policy_id": _optional(identifiers),
    "policy_version": _optional(versions),
    "policy_digest": _optional(hashes),
    "decision": _optional(st.sampled_from(Decision)),
    "findings": _tuples(findings),
    "findings_more": ints,
    "server_name": _optional(identifiers),
    "server_version": _optional(versions),
    "client_name": _optional(identifiers),
    "client_version": _optional(versions),
    "identity": st.sampled_from(Identity),
    "protocol_version": _optional(st.sampled_from(sorted(PROTOCOL_REVISIONS)) | references),
    "declared_modes": _optional(st.lists(st.sampled_from(Mode), max_size=4).map(tuple)),
    "capability_digest": _optional(keyed),
    "operation_method": _optional(st.sampled_from(sorted(ORIGINATING_METHODS)) | references),
    "tool": _optional(identifiers),
    "flow": _optional(identifiers),
    "tenant": tenants,
    "environment": _optional(identifiers),
    "session_ref": _optional(keyed),
    "url_origin": _optional(origins),
    "vantage": _optional(st.sampled_from(Vantage)),
    "fidelity": _optional(st.sampled_from(Fidelity)),
    "producer_name": identifiers,
    "producer_version": versions,
    "validation": _optional(validations),
    "question_digest": _optional(keyed),
    "payload_digest": _optional(payloads),
    "subject_ref": _optional(keyed),
    "correlation_refs": _tuples(correlation_refs),
    "occurred_at": times,
    "since_previous_us": _optional(longs),
    "clock": _optional(st.sampled_from(Clock)),
    "expires_at": _optional(times),
    "task": _optional(tasks),
    "trace_id": _optional(nonces),
    "span_id": _optional(st.binary(min_size=8, max_size=8)),
    "retention_class": _optional(identifiers),
    "purpose": _optional(identifiers),
    "notice": _optional(identifiers),
    "redaction_profile": ints,
    "redaction_status": st.sampled_from(RedactionStatus),
    "redaction_dropped": ints,
    "loss": _optional(losses),
    "act": _optional(acts),
}
