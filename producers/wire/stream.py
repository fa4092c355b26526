"""One of several streams of a session: what a message can be told by the way it came.

Stdio has one stream and needs none of this. Over HTTP each request is a stream of its
own: what the server says on it belongs to that request, and ids need be unique only
where there is a session.

Sources: MCP 2025-11-25 "Transports", Streamable HTTP; 2026-07-28, the same without sessions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from elicitation_receipts.producers.wire.life import Elicitation, Operation
from elicitation_receipts.producers.wire.trace import Trace


@dataclass(slots=True, eq=False)
class Stream:
    """An HTTP exchange as the session knows it.

    ``is_scope``   the client's request ids mean something on this stream alone
    ``operation``  what the client's request on it started or continued
    ``answered``   what the client's request on it answered
    ``trace``      the trace its headers named
    """

    is_scope: bool = False
    operation: Operation | None = None
    answered: list[Elicitation] = field(default_factory=list)
    trace: Trace | None = None
