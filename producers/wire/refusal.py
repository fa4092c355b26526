"""What both sides are told when an elicitation message may not go on.

Either policy stops the question in it, or its owner chose to block rather than to lose a
receipt. The message is not forwarded; whoever waits for it gets the protocol's own error
(JSON-RPC 2.0 §5.1), never an answer: nobody has decided anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from elicitation_receipts.producers.policy import Policy, Rules
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.message import Message, parse
from elicitation_receipts.schemas.vocabulary import FindingName, LossReason

#: JSON-RPC: the request is what is wrong, and would be so again; or something on our side is.
_INVALID_PARAMS: Final = -32602
_INTERNAL_ERROR: Final = -32603


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error in place of a message: ``back`` to who asked, ``on`` to who waits for a response.

    ``message`` and ``data`` are our own words and those of the policy, never the wire's.
    """

    back: int
    on: int
    message: str
    data: dict[str, Any]


def not_written(reason: LossReason) -> Refusal:
    """Its receipt could not be written, and must not be lost."""
    return Refusal(
        back=_INTERNAL_ERROR,
        on=_INTERNAL_ERROR,
        message="receipt_not_written: this elicitation could not be recorded",
        data={"reason": reason.value},
    )


def blocked(findings: Iterable[FindingName], policy: Policy, rules: Rules) -> Refusal:
    """Policy stops it. ``rules``: those of the operation, whose fallback is named."""
    names = [name.value for name in findings]
    data = {
        "reason": "blocked_by_policy",
        "findings": names,
        "policy": {"id": policy.id, "version": policy.version},
    }
    if rules.fallback is not None:
        data["fallback"] = rules.fallback
    return Refusal(
        back=_INVALID_PARAMS,
        on=_INTERNAL_ERROR,
        message=f"blocked_by_policy: this question may not be put to a person ({', '.join(names)})",
        data=data,
    )


def refuse(direction: Direction, raw: bytes, refusal: Refusal) -> list[tuple[Direction, bytes]]:
    """The lines to send instead of ``raw``, which was on its way in ``direction``.

    A request is answered with an error; a response is replaced by one; a
    notification is dropped.
    """
    lines = []
    for message in parse(raw).messages:
        if message.is_response:
            lines.append((direction, _error(message, refusal.on, refusal)))
        elif message.has_usable_id:
            lines.append((direction.back, _error(message, refusal.back, refusal)))
    return lines


def _error(message: Message, code: int, refusal: Refusal) -> bytes:
    body = {
        "jsonrpc": "2.0",
        "id": message.members.get("id"),
        "error": {"code": code, "message": refusal.message, "data": refusal.data},
    }
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"
