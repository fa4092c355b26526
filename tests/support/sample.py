"""Sample receipts: small, valid, and different where a test says so."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.receipt import ZERO_HASH, Receipt
from elicitation_receipts.schemas.spool import Producer, Spool
from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    Event,
    Fidelity,
    Mode,
    Outcome,
    Presentation,
    Vantage,
)

PRODUCER = Producer("receipts", "0.1.0")


def receipt(stream_id: UUID, event: Event = Event.NOTED, **fields: Any) -> Receipt:
    """A receipt of any event; ``fields`` override."""
    plain = Receipt(
        receipt_id=uuid4(),
        stream_id=stream_id,
        event=event,
        tenant="default",
        vantage=Vantage.STDIO,
        fidelity=Fidelity.BYTES,
        producer_name=PRODUCER.name,
        producer_version=PRODUCER.version,
        occurred_at=time.time_ns() // 1000,
    )
    return replace(plain, **fields)


def question(stream_id: UUID, **fields: Any) -> Receipt:
    """A form question that was just put; ``fields`` override."""
    put = receipt(
        stream_id,
        Event.REQUESTED,
        elicitation_id=uuid4(),
        operation_id=uuid4(),
        round=1,
        carrier=Carrier.SERVER_REQUEST,
        mode=Mode.FORM,
        presentation=Presentation.FORM,
        outcome=Outcome.OPEN,
    )
    return replace(put, **fields)


def read_all(spool: Spool) -> list[Receipt]:
    """Every receipt of a spool, in order of writing."""
    return [decode(stored.message) for stored in spool.read(0, 10**9)]


def assert_unbroken(spool: Spool) -> None:
    """Every stream runs from 0 without a gap, each receipt linked to the one before."""
    ends: dict[UUID, tuple[int, bytes]] = {}
    for stored in spool.read(0, 10**9):
        found = decode(stored.message)
        sequence, previous_hash = ends.get(stored.stream_id, (0, ZERO_HASH))
        assert (found.stream_id, found.sequence) == (stored.stream_id, stored.sequence)
        assert (found.sequence, found.previous_hash) == (sequence, previous_hash)
        ends[stored.stream_id] = (sequence + 1, leaf_hash(stored.message))
    states = {state.stream_id: (state.next_sequence, state.last_hash) for state in spool.streams()}
    assert states == ends


def run(program: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """A Python process of its own that can import what tests can; its output is piped."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
