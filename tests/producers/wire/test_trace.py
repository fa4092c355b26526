"""The trace a question belongs to: named by its request, its operation or the HTTP headers."""

from __future__ import annotations

import pytest
from conversation import Conversation, accept, call, form

from elicitation_receipts.producers.wire.trace import Trace, read_traceparent

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"


def test_a_traceparent_names_trace_and_span() -> None:
    assert read_traceparent(PARENT) == Trace(bytes.fromhex(TRACE), bytes.fromhex(SPAN))


def test_a_later_version_may_say_more() -> None:
    assert read_traceparent(f"01-{TRACE}-{SPAN}-01-what-comes") is not None


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        PARENT.upper(),
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01\n",
    ],
)
def test_anything_else_names_none(text: object) -> None:
    assert read_traceparent(text) is None


def test_a_question_joins_the_trace_of_its_operation() -> None:
    talk = Conversation()
    params = {"name": "tool", "arguments": {}, "_meta": {"traceparent": PARENT}}
    talk.client({"id": 1, "method": "tools/call", "params": params})
    talk.server(form(7))
    talk.client(accept(7, {"branch": "main"}))
    assert {(receipt.trace_id, receipt.span_id) for receipt in talk.receipts} == {
        (bytes.fromhex(TRACE), bytes.fromhex(SPAN))
    }


def test_a_question_that_names_a_trace_of_its_own_joins_that() -> None:
    talk = Conversation()
    talk.client(call(1))
    question = form(7)
    question["params"]["_meta"] = {"traceparent": PARENT}
    talk.server(question)
    assert talk.receipts[0].trace_id == bytes.fromhex(TRACE)


def test_without_a_trace_there_is_none() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    assert talk.receipts[0].trace_id is None
