"""Receipts to measure with: real ones, made by the core from real conversations."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from uuid import UUID

from elicitation_receipts.producers.policy import BUILT_IN
from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.scribe import Post
from elicitation_receipts.producers.wire.session import Session
from elicitation_receipts.schemas.keys import TenantKeys
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Fidelity, Vantage

C2S, S2C = Direction.CLIENT_TO_SERVER, Direction.SERVER_TO_CLIENT
_START_US = 1_796_000_000_000_000
_SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "title": "Region", "enum": ["eu", "us"]},
        "confirm": {"type": "boolean", "title": "Really?"},
    },
    "required": ["confirm"],
}
_ANSWERS = [
    {"action": "accept", "content": {"region": "eu", "confirm": True}},
    {"action": "decline"},
    {"action": "cancel"},
    {"action": "accept", "content": {"confirm": "yes"}},
]


def receipts(stream_id: UUID, keys: TenantKeys) -> Iterator[Receipt]:
    """Without end: a form asked, answered one of four ways, resumed."""
    post = Post(BUILT_IN, Vantage.STDIO, Fidelity.BYTES, "benchmark", "0.1.0")
    session = Session(Redactor("default", stream_id, keys), post, "benchmark")
    at = itertools.count(_START_US, 400_000)

    def hear(direction: Direction, message: dict[str, object]) -> list[Receipt]:
        raw = json.dumps({"jsonrpc": "2.0", **message}).encode()
        now = next(at)
        return session.on_frame(direction, raw, Moment(now, now))

    client = {"name": "client", "version": "1.2.3"}
    opening = {"protocolVersion": "2025-11-25", "clientInfo": client}
    hear(
        C2S,
        {
            "id": 0,
            "method": "initialize",
            "params": {**opening, "capabilities": {"elicitation": {}}},
        },
    )
    hear(
        S2C, {"id": 0, "result": {**opening, "serverInfo": {"name": "server", "version": "4.5.6"}}}
    )
    hear(C2S, {"method": "notifications/initialized"})
    for number, answer in zip(itertools.count(1), itertools.cycle(_ANSWERS), strict=False):
        call = {"name": "deploy", "arguments": {"number": number}}
        question = {"message": f"Deploy {number}?", "requestedSchema": _SCHEMA}
        yield from hear(C2S, {"id": number, "method": "tools/call", "params": call})
        yield from hear(S2C, {"id": number, "method": "elicitation/create", "params": question})
        yield from hear(C2S, {"id": number, "result": answer})
        yield from hear(S2C, {"id": number, "result": {"content": []}})
