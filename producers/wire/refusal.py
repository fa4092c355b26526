"""What both sides are told when an elicitation message may not go on.

Only where the owner chose to block rather than to lose a receipt. The message is
not forwarded; whoever waits for it gets the protocol's own error (JSON-RPC 2.0 §5.1).
"""

from __future__ import annotations

import json
from typing import Final

from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.message import Message, parse

#: JSON-RPC: internal error.
_INTERNAL_ERROR: Final = -32603


def refuse(direction: Direction, raw: bytes, reason: str) -> list[tuple[Direction, bytes]]:
    """The lines to send instead of ``raw``, which was on its way in ``direction``.

    A request is answered with an error; a response is replaced by one; a
    notification is dropped.
    """
    lines = []
    for message in parse(raw).messages:
        if message.is_response:
            lines.append((direction, _error(message, reason)))
        elif message.has_usable_id:
            lines.append((direction.back, _error(message, reason)))
    return lines


def _error(message: Message, reason: str) -> bytes:
    error = {
        "code": _INTERNAL_ERROR,
        "message": "receipt_not_written: this elicitation could not be recorded",
        "data": {"reason": reason},
    }
    body = {"jsonrpc": "2.0", "id": message.members.get("id"), "error": error}
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"
