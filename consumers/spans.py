"""Spans: each round of a question as a part of the trace its operation belongs to.

Only where the operation's request carried a trace (`traceparent`), which the span then has as its
parent: a trace shows how long a person was waited for. Recorded through the OpenTelemetry API
alone; nothing leaves the process unless its user sets up an SDK.

A span ``elicitation <mode>`` begins with the question and ends with its answer, refusal, expiry
or abandonment; of a URL that was consented to, with its completion. Attributes, all from closed
vocabularies: ``elicitation_receipts.mode``, ``.carrier``, ``.outcome``, ``.decided_by``.
"""

from __future__ import annotations

from collections import OrderedDict
from importlib.metadata import version
from typing import Final
from uuid import UUID

from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    TraceFlags,
    TracerProvider,
    get_tracer,
    set_span_in_context,
)

from elicitation_receipts.consumers.decode.decoded import Sighting
from elicitation_receipts.consumers.metrics import FOLLOWED, METER_NAME
from elicitation_receipts.schemas.vocabulary import Event, Outcome

_NANOS: Final = 1000  # in a microsecond


class Spans:
    """``provider``: whose tracer; by default the one set up for the process."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer = get_tracer(METER_NAME, version("elicitation-receipts"), provider)
        #: When the round now open began, by elicitation.
        self._begun: OrderedDict[UUID, int] = OrderedDict()

    def landed(self, receipt: Sighting) -> None:
        """A receipt landed for the first time. Those of one elicitation come in their order."""
        if receipt.elicitation_id is None or receipt.trace_id is None or receipt.span_id is None:
            return
        if receipt.event is Event.REQUESTED:
            self._begun[receipt.elicitation_id] = receipt.occurred_at
            if len(self._begun) > FOLLOWED:
                self._begun.popitem(last=False)
        elif receipt.outcome not in (None, Outcome.OPEN, Outcome.CONSENTED):
            begun = self._begun.pop(receipt.elicitation_id, None)
            if begun is not None:
                self._record(
                    receipt,
                    SpanContext(
                        int.from_bytes(receipt.trace_id),
                        int.from_bytes(receipt.span_id),
                        is_remote=True,
                        trace_flags=TraceFlags(TraceFlags.SAMPLED),
                    ),
                    begun,
                )

    def _record(self, receipt: Sighting, parent: SpanContext, begun: int) -> None:
        words = {
            "mode": receipt.mode,
            "carrier": receipt.carrier,
            "outcome": receipt.outcome,
            "decided_by": receipt.decided_by,
        }
        span = self._tracer.start_span(
            f"elicitation {receipt.mode or 'unknown'}",
            context=set_span_in_context(NonRecordingSpan(parent)),
            attributes={f"{METER_NAME}.{name}": word.value for name, word in words.items() if word},
            start_time=begun * _NANOS,
        )
        # A clock that was set back must not make a span that ends before it begins.
        span.end(max(receipt.occurred_at, begun) * _NANOS)
