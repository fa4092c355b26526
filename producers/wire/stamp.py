"""Writes into a question under which policy it was put, for clients that want to show it.

The one change this project ever makes to traffic, and only where it is switched on.

Source: MCP 2025-11-25 and 2026-07-28, "General fields", ``_meta``: prefixed names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.producers.wire.message import as_object, parse, repeats_anywhere

NAME: Final = "elicitation-receipts/policy"


def stamp(raw: bytes, policy: Policy) -> bytes:
    """``raw`` with the policy's id and version in the ``_meta`` of each question in it.

    What is no single message, or repeats a name, stays as it is: to write it anew would
    change what it says.
    """
    frame = parse(raw)
    if len(frame.messages) != 1 or frame.messages[0].in_batch:
        return raw
    members = frame.messages[0].members
    if repeats_anywhere(members):
        return raw
    for params in _questions(members):
        meta = {
            **as_object(params.get("_meta")),
            NAME: {"id": policy.id, "version": policy.version},
        }
        params["_meta"] = meta
    end = b"\n" if raw.endswith(b"\n") else b""
    return json.dumps(members, separators=(",", ":")).encode() + end


def _questions(members: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The parameters of every question in a message."""
    requests = [members]
    requests += as_object(as_object(members.get("result")).get("inputRequests")).values()
    for request in requests:
        params = as_object(request).get("params")
        if as_object(request).get("method") == "elicitation/create" and isinstance(params, dict):
            yield params
