"""The trace a question belongs to, as W3C Trace Context names it.

Sources: W3C Trace Context, ``traceparent``; MCP 2026-07-28, reserved ``_meta`` keys (SEP-414).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from elicitation_receipts.producers.wire.message import as_object

_PARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")


@dataclass(frozen=True, slots=True)
class Trace:
    """``trace_id``: 16 bytes, ``span_id``: 8 bytes; neither all zero."""

    trace_id: bytes
    span_id: bytes


def read_traceparent(text: object) -> Trace | None:
    """The trace that a ``traceparent`` names; None where it is none."""
    match = _PARENT.fullmatch(text) if isinstance(text, str) else None
    if match is None or match[0].startswith("ff"):  # a version the standard forbids
        return None
    trace = Trace(bytes.fromhex(match[1]), bytes.fromhex(match[2]))
    return trace if any(trace.trace_id) and any(trace.span_id) else None


def trace_of(params: dict[str, Any]) -> Trace | None:
    """The trace that a request's ``_meta`` names."""
    return read_traceparent(as_object(params.get("_meta")).get("traceparent"))
