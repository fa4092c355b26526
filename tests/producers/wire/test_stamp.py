"""The one change ever made to traffic: the policy in a question's ``_meta``, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conversation import form
from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.producers.policy import BUILT_IN
from elicitation_receipts.producers.wire.stamp import NAME, stamp

POLICY = {"id": "built-in", "version": "1"}


def stamped(message: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(stamp(json.dumps(message).encode() + b"\n", BUILT_IN))
    return result


def test_a_request_carries_the_policy_and_is_otherwise_the_same() -> None:
    question = form(7)
    result = stamped(question)
    assert result["params"].pop("_meta") == {NAME: POLICY}
    assert result == question


def test_each_question_of_an_interim_result_carries_it() -> None:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "resultType": "input_required",
            "inputRequests": {
                "ours": {"method": "elicitation/create", "params": {"message": "?"}},
                "other": {"method": "roots/list", "params": {}},
            },
        },
    }
    requests = stamped(message)["result"]["inputRequests"]
    assert requests["ours"]["params"]["_meta"] == {NAME: POLICY}
    assert requests["other"] == {"method": "roots/list", "params": {}}


def test_what_was_in_meta_stays() -> None:
    question = form(7)
    question["params"]["_meta"] = {"traceparent": "00-1-2-01"}
    assert stamped(question)["params"]["_meta"] == {"traceparent": "00-1-2-01", NAME: POLICY}


@pytest.mark.parametrize(
    "raw",
    [
        b'{"method":"elicitation/create","id":1,"params":{"message":"a","message":"b"}}\n',
        b'[{"method":"elicitation/create","id":1,"params":{}}]\n',
        b"no JSON\n",
        b"\xff\n",
    ],
)
def test_what_cannot_be_written_anew_stays_as_it_is(raw: bytes) -> None:
    assert stamp(raw, BUILT_IN) is raw


@given(st.text(st.characters(exclude_categories=[])), st.booleans())
def test_texts_and_the_end_of_the_line_survive(text: str, ends: bool) -> None:
    raw = json.dumps({"method": "elicitation/create", "id": 1, "params": {"message": text}})
    result = stamp(raw.encode() + (b"\n" if ends else b""), BUILT_IN)
    assert result.endswith(b"\n") is ends
    assert result.count(b"\n") == ends
    assert json.loads(result)["params"]["message"] == text
