"""What an MCP SDK passes over its streams, as the JSON it stands for, and back.

The Python SDK's streams carry ``SessionMessage(message, metadata)``; ``message`` is a
Pydantic model of JSON-RPC (v1: a root model; v2: one class for each kind of message).
What a parser refused comes as an exception in its place. Nothing here needs an SDK to be
installed: whoever has such a message has it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

#: A frame that no parser reads, in place of one that an SDK's parser refused.
UNREADABLE = b""


def encode(item: Any) -> bytes | None:
    """The message as the SDK's own transports send it: what was never set is absent.

    None for an exception that is no message: it tells of the transport, not the traffic.
    """
    if isinstance(item, Exception):
        # Pydantic's refusals, and those of the decoder before it, are ValueErrors.
        return UNREADABLE if isinstance(item, ValueError) else None
    text: str = item.message.model_dump_json(by_alias=True, exclude_unset=True)
    return text.encode()


def decode(line: bytes, like: Any, *, instead: bool) -> Any:
    """A JSON-RPC message of the SDK that ``like`` is a message of.

    ``instead``: it takes the place of ``like``, and goes where the transport would have
    taken that; else it answers it.
    """
    message: Any
    if hasattr(like.message, "root"):  # v1
        message = type(like.message).model_validate_json(line)
    else:
        from mcp_types import jsonrpc_message_adapter

        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    return replace(like, message=message) if instead else type(like)(message)
