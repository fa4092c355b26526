"""Spans: what a trace shows of a question, from what has landed."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from elicitation_receipts.consumers.decode.decoded import Sighting
from elicitation_receipts.consumers.spans import Spans
from elicitation_receipts.schemas.vocabulary import Carrier, DecidedBy, Event, Mode, Outcome

TRACE, SPAN = bytes(range(16)), bytes(range(8, 16))
START = 1_793_491_200_000_000

Step = tuple[Event, Outcome | None, int]


def recorded(*steps: Step, **fields: Any) -> list[ReadableSpan]:
    """The spans of one elicitation. A step: event, outcome, microseconds after the start."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = Spans(provider)
    common = {
        "elicitation_id": uuid4(),
        "mode": Mode.FORM,
        "carrier": Carrier.SERVER_REQUEST,
        "decided_by": None,
        "since_previous_us": None,
        "trace_id": TRACE,
        "span_id": SPAN,
    }
    for event, outcome, after in steps:
        seen = {**common, "event": event, "outcome": outcome, "occurred_at": START + after}
        spans.landed(Sighting(**{**seen, **fields}))
    return list(exporter.get_finished_spans())


def test_a_question_is_a_child_of_its_operation() -> None:
    [span] = recorded(
        (Event.REQUESTED, Outcome.OPEN, 0),
        (Event.ANSWERED, Outcome.ACCEPTED, 7_000_000),
        (Event.RESUMED, None, 8_000_000),
        decided_by=DecidedBy.PERSON_CLAIMED,
    )
    assert span.name == "elicitation form"
    assert span.parent is not None
    assert span.parent.trace_id.to_bytes(16) == TRACE
    assert span.parent.span_id.to_bytes(8) == SPAN
    assert (span.start_time, span.end_time) == (START * 1000, (START + 7_000_000) * 1000)
    assert dict(span.attributes or {}) == {
        "elicitation_receipts.mode": "form",
        "elicitation_receipts.carrier": "server_request",
        "elicitation_receipts.outcome": "accepted",
        "elicitation_receipts.decided_by": "person_claimed",
    }


def test_each_round_is_a_span() -> None:
    spans = recorded(
        (Event.REQUESTED, Outcome.OPEN, 0),
        (Event.ANSWERED, Outcome.INVALID, 10),
        (Event.REQUESTED, Outcome.OPEN, 20),
        (Event.ANSWERED, Outcome.ACCEPTED, 50),
    )
    assert [(span.end_time or 0) - (span.start_time or 0) for span in spans] == [10_000, 30_000]


def test_consent_to_an_address_is_no_end() -> None:
    [span] = recorded(
        (Event.REQUESTED, Outcome.OPEN, 0),
        (Event.ANSWERED, Outcome.CONSENTED, 10),
        (Event.COMPLETED, Outcome.COMPLETED, 90),
        mode=Mode.URL,
    )
    assert span.name == "elicitation url"
    assert (span.end_time or 0) - (span.start_time or 0) == 90_000


@pytest.mark.parametrize(
    ("event", "outcome"),
    [
        (Event.REFUSED, Outcome.UNSUPPORTED),
        (Event.EXPIRED, Outcome.EXPIRED),
        (Event.ABANDONED, Outcome.ABANDONED),
    ],
)
def test_every_end_ends_it(event: Event, outcome: Outcome) -> None:
    [span] = recorded((Event.REQUESTED, Outcome.OPEN, 0), (event, outcome, 10))
    assert (span.attributes or {})["elicitation_receipts.outcome"] == outcome.value


def test_without_a_trace_there_is_none() -> None:
    steps: list[Step] = [(Event.REQUESTED, Outcome.OPEN, 0), (Event.ANSWERED, Outcome.ACCEPTED, 9)]
    assert recorded(*steps, trace_id=None, span_id=None) == []


def test_of_a_question_that_landed_before_there_is_none() -> None:
    assert recorded((Event.ANSWERED, Outcome.ACCEPTED, 9)) == []


def test_a_clock_that_was_set_back_ends_nothing_before_it_began() -> None:
    [span] = recorded((Event.REQUESTED, Outcome.OPEN, 0), (Event.ANSWERED, Outcome.ACCEPTED, -9))
    assert span.end_time == span.start_time
