"""Very large and very deep traffic ends: no exception, and the rest is followed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conversation import (
    MODERN,
    SECOND,
    Conversation,
    accept,
    answer,
    call,
    error,
    findings,
    form,
    form_params,
    interim,
    question,
    retry,
    success,
    url,
    url_params,
)

from elicitation_receipts.schemas.vocabulary import Event

DEEP = "[" * 5_000 + "]" * 5_000
#: As deep as the parser reads, and deeper than anything else may recurse.
NESTED = '{"a":' * 900 + "1" + "}" * 900


def follows(talk: Conversation) -> None:
    """The next question is recorded, answered and resumed as if nothing had been."""
    before = len(talk.receipts)
    talk.client(call("next", tool="next"))
    talk.server(form("ask", "And now?"))
    talk.wait(seconds=5)
    talk.client(accept("ask", {}))
    talk.server(success("next"))
    # Another call may still be outstanding: then nobody knows whose question it is.
    assert [r.event for r in talk.receipts[before:]][:2] == [Event.REQUESTED, Event.ANSWERED]


@pytest.mark.parametrize("nested", [DEEP, NESTED], ids=["5,000", "900"])
@pytest.mark.parametrize(
    "around",
    [
        "%s",
        '{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{}}',
        '{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":%s}',
        '{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":%s}}',
        '{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"mode":%s}}',
        (
            '{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"?",'
            '"requestedSchema":{"type":"object","properties":%s}}}'
        ),
        '{"jsonrpc":"2.0","id":1,"result":%s}',
        '{"jsonrpc":"2.0","id":1,"error":%s}',
        '{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"data":{"elicitations":[%s]}}}',
        '{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"data":{"requiredCapabilities":%s}}}',
        (
            '{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"k":%s},'
            '"requestState":%s}}'
        ),
        '{"jsonrpc":"2.0","id":1,"result":{"_meta":%s}}',
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}',
        (
            '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":'
            '{"elicitationId":%s}}'
        ),
    ],
)
def test_deep_traffic_of_a_server(around: str, nested: str) -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(around.replace("%s", nested))
    follows(talk)
    talk.close()


@pytest.mark.parametrize("nested", [DEEP, NESTED], ids=["5,000", "900"])
@pytest.mark.parametrize(
    "around",
    [
        '{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}',
        '{"jsonrpc":"2.0","id":7,"result":%s}',
        '{"jsonrpc":"2.0","id":7,"error":%s}',
        '{"jsonrpc":"2.0","id":7,"result":{"action":%s}}',
        '{"jsonrpc":"2.0","id":7,"result":{"action":"accept","content":%s}}',
        '{"jsonrpc":"2.0","id":7,"result":{"action":"decline","content":{"a":%s}}}',
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%s,"arguments":%s}}',
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","inputResponses":%s}}',
        (
            '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":'
            '{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
            '"io.modelcontextprotocol/clientCapabilities":%s}}}'
        ),
        '{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"capabilities":%s}}',
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}',
    ],
)
def test_deep_traffic_of_a_client(around: str, nested: str) -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.wait(seconds=5)
    talk.client(around.replace("%s", nested))
    follows(talk)
    talk.close()


def test_an_answer_nested_too_deeply_is_malformed() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.wait(seconds=5)
    talk.client(f'{{"id":7,"result":{{"action":"accept","content":{NESTED}}}}}')
    assert talk.story[1:] == ["answered malformed by unknown [malformed_message]"]


def many(count: int, **schema: Any) -> dict[str, Any]:
    return {f"field{n}": {"title": "F", **schema} for n in range(count)}


def test_a_schema_of_a_megabyte_with_ten_thousand_properties() -> None:
    properties = many(10_000, type="string", description="d" * 60)
    params = form_params(properties=properties, required=list(properties))
    assert len(json.dumps(params)) > 1_000_000
    talk = Conversation()
    talk.client(call(1))
    talk.server(question(7, params))
    talk.wait(seconds=5)
    talk.client(accept(7, {"field1": "x"}))
    talk.server(success(1))
    assert talk.story == [
        "requested open [oversized_message too_many_fields]",
        "answered invalid by person_claimed [accept_schema_mismatch]",
        "resumed (success)",
    ]
    assert talk.receipts[0].validation is not None
    assert talk.receipts[0].validation.requested == 10_000
    assert talk.receipts[1].validation is not None
    assert talk.receipts[1].validation.failed_more == 9_999 - 64


def test_a_megabyte_in_one_string() -> None:
    talk = Conversation()
    talk.client(call(1, tool="t" * 1_000_000))
    talk.server(question(7, form_params("m" * 1_000_000)))
    talk.server(url(8, "e" * 1_000_000, url=f"https://a.example/{'u' * 1_000_000}"))
    talk.server(url(9, "short", url=f"https://{'h' * 1_000_000}.example/"))
    talk.wait(seconds=5)
    talk.client(accept(7, {"branch": "b" * 1_000_000}))
    talk.client(error(8, -32602, "x" * 1_000_000))
    talk.server(error(1, -32603, "b" * 1_000_000))
    assert talk.elicitations == 3


def test_very_many_questions_in_one_interim_result() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(interim(1, {f"k{n}": form_params(f"Question {n}?") for n in range(300)}, "s"))
    talk.wait(seconds=5)
    talk.client(retry(2, {f"k{n}": {"action": "decline"} for n in range(300)}, "s"))
    talk.server(success(2))
    talk.close()
    assert len(talk.of(Event.REQUESTED)) == len(talk.of(Event.RESUMED)) == 300


def test_very_many_findings() -> None:
    """Far fewer names than a receipt may list: the list is bounded by the vocabulary."""
    talk = Conversation()
    talk.client(call(1))
    params = {**url_params(None, "http://u:p@[::1]/"), **many(100), "requestedSchema": {}}
    talk.server(question(7, params))
    assert 0 < len(findings(talk.last)) <= 64


def test_very_many_answers_to_one_question() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.wait(seconds=5)
    for _ in range(300):
        talk.client(answer(7, {"action": "decline"}))
    assert talk.last.attempt == 300


@pytest.mark.parametrize("revision", [SECOND, MODERN])
def test_very_many_operations(revision: str) -> None:
    talk = Conversation(revision)
    for number in range(300):
        talk.client(call(number, {"n": number}))
        if revision == MODERN:
            talk.server(interim(number, {"k": form_params()}, f"state {number}"))
        else:
            talk.server(form(f"q{number}"))
    talk.wait(seconds=10_000)
    talk.close()
    assert len(talk.of(Event.ABANDONED)) == 300
