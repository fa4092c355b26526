"""Every rung gives what the reference gives: the same rows, the same rejects, the same reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from make_receipt import make_receipt, receipts

from elicitation_receipts.consumers.decode import Decode
from elicitation_receipts.consumers.decode.columnar import decode_columns
from elicitation_receipts.consumers.decode.generated import decode_by_generated
from elicitation_receipts.consumers.decode.reference import decode_by_reference
from elicitation_receipts.consumers.source import Record
from elicitation_receipts.consumers.warehouse import installed_migrations
from elicitation_receipts.schemas.codec import decode, encode
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
    Clock,
    DecidedBy,
    Decision,
    Fidelity,
    FindingName,
    Gate,
    Keyword,
    LossReason,
    Mode,
    OperationResult,
    Proof,
    ReferenceKind,
    Severity,
    TaskStatus,
    Vantage,
)

RUNGS = [decode_by_generated, decode_columns]
AT = datetime(2026, 11, 30)  # noqa: DTZ001  (as the column takes it)
KEYED = Keyed("0123456789ab", b"\x07" * 32)
#: A receipt in which nothing is absent and every list has members.
FULL = make_receipt(
    sequence=300,
    operation_id=UUID(int=5),
    action=Action.ACCEPT,
    decided_by=DecidedBy.PERSON_CLAIMED,
    proof=Proof.OPERATION_RESULT,
    required_proof=Proof.STATUS_CHECK,
    operation_result=OperationResult.SUCCESS,
    decision=Decision.ALLOW,
    vantage=Vantage.HTTP,
    fidelity=Fidelity.BYTES,
    clock=Clock.MONOTONIC,
    policy_id="strict",
    policy_version="1.2.0",
    policy_digest=b"p" * 32,
    # The last name takes two bytes.
    findings=(Finding(list(FindingName)[-1], Severity.ERROR, Gate.UX),) * 2,
    findings_more=70_000,
    server_name="files",
    server_version="1.0",
    client_name="client",
    client_version="2.0",
    protocol_version="2025-11-25",
    declared_modes=(Mode.FORM, Mode.URL),
    capability_digest=KEYED,
    operation_method="tools/call",
    tool="delete",
    flow="flow",
    environment="production",
    session_ref=KEYED,
    url_origin="https://pay.example:8443",
    validation=Validation(
        3, 2, 1, (FailedField("email", Keyword.TYPE), FailedField(None, Keyword.OTHER)), 5
    ),
    question_digest=KEYED,
    payload_digest=Payload("0123456789ab", b"n" * 16, b"v" * 32),
    subject_ref=KEYED,
    correlation_refs=(Reference(ReferenceKind.TASK_ID, "0123456789ab", b"r" * 32),),
    since_previous_us=5_000_000,
    expires_at=1_796_000_000_000_001,
    task=Task(TaskStatus.WORKING, TaskStatus.INPUT_REQUIRED, 4),
    trace_id=b"t" * 16,
    span_id=b"s" * 8,
    retention_class="short",
    purpose="billing",
    notice="notice-1",
    loss=Loss(3, 1_796_000_000_000_000, LossReason.CRASHED),
    act=Act(KEYED, "completion", 9, KEYED, "0123456789ab", "ba9876543210", 1, 2, b"m" * 32),
)


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for migration in installed_migrations():
            connection.execute(migration.sql)
        yield connection


def outcome(
    database: duckdb.DuckDBPyConnection, decode_batch: Decode, records: Sequence[Record]
) -> dict[str, Any]:
    """All that a rung says of a batch; its rows as the table has them."""
    decoded = decode_batch(records)
    database.begin()
    try:
        decoded.rows.insert(database, range(len(decoded.records)), "source", AT)
        rows = database.execute("FROM receipts ORDER BY rowid").fetchall()
    finally:
        database.rollback()
    return {
        "records": [record.offset for record in decoded.records],
        "streams": list(decoded.stream_ids),
        "sequences": list(decoded.sequences),
        "previous": list(decoded.previous_hashes),
        "leaves": list(decoded.leaves),
        "rejects": [(reject.record.offset, reject.reason) for reject in decoded.rejects],
        "sightings": list(decoded.rows.sightings(range(len(decoded.records)))),
        "rows": sorted(rows, key=repr),
    }


def record_of(offset: int, message: bytes, key: bytes | None = None) -> Record:
    """A record; by default under the key its message asks for, where that can be told."""
    if key is None and len(message) >= 42:
        key = str(UUID(bytes=message[26:42])).encode()
    return Record(0, offset, key, message)


@pytest.mark.parametrize("rung", RUNGS)
@given(batch=st.lists(receipts(), max_size=4))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_receipt(
    database: duckdb.DuckDBPyConnection, rung: Decode, batch: list[Receipt]
) -> None:
    records = [record_of(offset, encode(receipt)) for offset, receipt in enumerate(batch)]
    assert outcome(database, rung, records) == outcome(database, decode_by_reference, records)


@st.composite
def spoiled(draw: st.DrawFn) -> bytes:
    """A message with something done to it."""
    message = bytearray(encode(draw(receipts())))
    start = draw(st.integers(0, len(message)))
    end = draw(st.integers(start, min(len(message), start + 3)))
    message[start:end] = draw(st.binary(max_size=3))
    return bytes(message)


@pytest.mark.parametrize("rung", RUNGS)
@given(
    batch=st.lists(
        st.builds(
            record_of,
            offset=st.integers(0, 9),
            message=spoiled() | receipts().map(encode) | st.binary(max_size=60),
            key=st.none() | st.just(b"another"),
        )
        | st.builds(Record, st.just(0), st.integers(0, 9), st.none(), st.none()),
        max_size=6,
    )
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_comes(
    database: duckdb.DuckDBPyConnection, rung: Decode, batch: list[Record]
) -> None:
    assert outcome(database, rung, batch) == outcome(database, decode_by_reference, batch)


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("receipt", [FULL, make_receipt()], ids=["full", "small"])
def test_every_byte_changed(
    database: duckdb.DuckDBPyConnection, rung: Decode, receipt: Receipt
) -> None:
    message = encode(receipt)
    changed = [
        record_of(at, message[:at] + bytes([byte]) + message[at + 1 :])
        for at in range(len(message))
        for byte in {0, 1, 2, 0x80, 0xFF, message[at] ^ 1, message[at] + 2 & 0xFF} - {message[at]}
    ]
    assert outcome(database, rung, changed) == outcome(database, decode_by_reference, changed)


@pytest.mark.parametrize("rung", RUNGS)
def test_every_length(database: duckdb.DuckDBPyConnection, rung: Decode) -> None:
    """Cut anywhere, or with a number that is written longer than it needs to be."""
    message = encode(FULL)
    cut = [record_of(at, message[:at]) for at in range(len(message))]
    longer = [
        record_of(at, message[:at] + bytes([message[at] | 0x80, 0]) + message[at + 1 :])
        for at in range(len(message))
    ]
    records = [*cut, *longer, record_of(0, message + b"\x00"), record_of(1, message * 90)]
    assert outcome(database, rung, records) == outcome(database, decode_by_reference, records)


@pytest.mark.parametrize("rung", RUNGS)
def test_plain_receipts_are_not_left_to_the_reference(
    rung: Decode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(message: bytes) -> None:
        raise AssertionError("the reference was asked")

    monkeypatch.setattr("elicitation_receipts.consumers.decode.record.decode", refuse)
    messages = [encode(FULL), encode(make_receipt()), encode(replace(FULL, sequence=2**63 - 1))]
    decoded = rung([record_of(offset, message) for offset, message in enumerate(messages)])
    assert len(decoded.records) == len(messages)
    assert list(decoded.sequences) == [decode(message).sequence for message in messages]


def test_the_full_receipt_is_full() -> None:
    absent = [name for name in FULL.__dataclass_fields__ if getattr(FULL, name) is None]
    assert absent == []
