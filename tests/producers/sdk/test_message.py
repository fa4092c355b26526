"""What an SDK passes over its streams, as JSON and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, jsonrpc_message_adapter
from pydantic import BaseModel, ConfigDict, RootModel

from elicitation_receipts.producers.sdk.message import UNREADABLE, decode, encode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
MESSAGES = st.builds(
    lambda members, id_: {"jsonrpc": "2.0", "id": id_, **members},
    st.builds(
        lambda params: {"method": "tools/call", "params": params}, st.dictionaries(st.text(), JSON)
    )
    | st.builds(lambda result: {"result": result}, st.dictionaries(st.text(), JSON)),
    st.integers(0, 2**53) | st.text(),
)
REFUSAL = b'{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"receipt_not_written: no"}}\n'


class V1Request(BaseModel):
    """As in SDK v1: members of every kind of message, under a root model."""

    model_config = ConfigDict(extra="allow")
    jsonrpc: str
    id: int | str
    params: dict[str, Any] | None = None


class V1Message(RootModel[V1Request]):
    pass


@dataclass
class V1SessionMessage:
    message: V1Message
    metadata: object = None


@given(MESSAGES)
def test_what_was_read_is_said_again_as_it_stood(members: dict[str, Any]) -> None:
    v2 = SessionMessage(jsonrpc_message_adapter.validate_python(members))
    assert json.loads(encode(v2) or b"") == members
    v1 = V1SessionMessage(V1Message.model_validate(members))
    assert json.loads(encode(v1) or b"") == members


def test_an_exception_stands_for_a_message_only_where_a_parser_raised_it() -> None:
    assert encode(ValueError("refused")) == UNREADABLE
    assert encode(UnicodeDecodeError("utf-8", b"", 0, 1, "why")) == UNREADABLE
    assert encode(OSError("gone")) is None


@pytest.mark.parametrize("instead", [True, False])
def test_a_refusal_becomes_a_message_of_the_sdk_it_is_for(instead: bool) -> None:
    metadata = ServerMessageMetadata(related_request_id=1)
    request = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
    v2 = SessionMessage(jsonrpc_message_adapter.validate_python(request), metadata)
    refused = decode(REFUSAL, v2, instead=instead)
    assert isinstance(refused.message, JSONRPCError)
    assert refused.metadata is (metadata if instead else None)

    v1 = V1SessionMessage(V1Message.model_validate(request), metadata)
    refused = decode(REFUSAL, v1, instead=instead)
    assert isinstance(refused.message, V1Message)
    assert refused.message.root.id == 7
    assert refused.metadata is (metadata if instead else None)
