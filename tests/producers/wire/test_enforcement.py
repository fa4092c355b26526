"""Where policy enforces: what is stopped on which carrier, and what is written of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from conversation import (
    MODERN,
    SECOND,
    Conversation,
    call,
    completion,
    form_params,
    interim,
    notification,
    question,
    request,
    result,
    retry,
    success,
    url_params,
    url_required,
)

from elicitation_receipts.producers.policy import BUILT_IN, Policy
from elicitation_receipts.producers.policy.words import Enforcement
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.refusal import refuse
from elicitation_receipts.schemas.vocabulary import Decision, Vantage

STRICT = replace(BUILT_IN, enforcement=Enforcement.ENFORCE)
SECRET = form_params(properties={"a": {"type": "string", "title": "Your API key"}})
HARMLESS = form_params()
BAD_PAGE = url_params("pay", "https://user:hunter2@pay.example/")


def talk_of(revision: str = SECOND, policy: Policy = STRICT, **options: Any) -> Conversation:
    talk = Conversation(revision, policy=policy, **options)
    talk.client(call(1))
    return talk


def test_a_servers_own_request() -> None:
    talk = talk_of()
    talk.server(question(7, SECRET))
    stopped = talk.session.stopped
    assert stopped is not None
    assert stopped.back == -32602
    assert stopped.data == {
        "reason": "blocked_by_policy",
        "findings": ["secret_field"],
        "policy": {"id": "built-in", "version": BUILT_IN.version},
    }
    talk.server(success(1))
    assert talk.session.stopped is None
    assert talk.story == [
        "requested open [secret_field]",
        "refused blocked by policy [secret_field]",
        "resumed (success)",
    ]
    assert talk.receipts[0].decision is Decision.BLOCK


def test_what_is_allowed_goes_on() -> None:
    talk = talk_of()
    talk.server(question(7, HARMLESS))
    assert talk.session.stopped is None
    assert talk.story == ["requested open"]


def test_the_fallback_of_the_operation_is_named() -> None:
    rules = replace(STRICT.defaults, fallback="docs/setup.md")
    talk = talk_of(policy=replace(STRICT, defaults=rules))
    talk.server(question(7, SECRET))
    assert talk.session.stopped is not None
    assert talk.session.stopped.data["fallback"] == "docs/setup.md"


def test_who_asks_again_is_stopped_again() -> None:
    talk = talk_of()
    for id_ in (7, 8):
        talk.server(question(id_, SECRET))
        assert talk.session.stopped is not None
    assert talk.story[2:] == [
        "requested open round 2 [secret_field]",
        "refused blocked by policy round 2 [secret_field]",
    ]
    assert talk.elicitations == 1


def test_a_late_answer_to_a_stopped_question_changes_nothing() -> None:
    talk = talk_of()
    talk.server(question(7, SECRET))
    talk.client({"jsonrpc": "2.0", "id": 7, "result": {"action": "accept", "content": {}}})
    assert talk.story[2:] == ["noted [duplicate_answer]"]


def test_an_error_that_sends_somebody_to_a_bad_address() -> None:
    talk = talk_of()
    talk.server(url_required(1, BAD_PAGE, url_params("other", message="And this")))
    stopped = talk.session.stopped
    assert stopped is not None
    ((way, line),) = refuse(Direction.SERVER_TO_CLIENT, b'{"id":1,"error":{"code":1}}', stopped)
    assert way is Direction.SERVER_TO_CLIENT
    assert b"hunter2" not in line
    assert talk.story == [
        "requested open [credential_in_url url_userinfo]",
        "refused blocked by policy [credential_in_url url_userinfo]",
        "requested open",
        "refused blocked by policy",
        "resumed (error)",
        "resumed (error)",
    ]
    # The client calls anew: that is another operation.
    talk.client(call(2))
    talk.server(success(2))
    assert len(talk.receipts) == 6


def test_an_interim_result_with_one_bad_question_among_others() -> None:
    talk = talk_of(MODERN)
    talk.server(interim(1, {"bad": SECRET, "good": HARMLESS}, "s"))
    assert talk.session.stopped is not None
    assert talk.story == [
        "requested open [secret_field]",
        "refused blocked by policy [secret_field]",
        "requested open",
        "refused blocked by policy",
        "resumed (error)",
        "resumed (error)",
    ]


def test_a_later_round_may_be_what_is_bad() -> None:
    talk = talk_of(MODERN)
    talk.server(interim(1, {"k": HARMLESS}, "s1"))
    talk.wait(seconds=5)
    talk.client(retry(2, {"k": {"action": "accept", "content": {}}}, "s1"))
    assert talk.session.stopped is None
    talk.server(interim(2, {"k2": SECRET}, "s2"))
    assert talk.session.stopped is not None
    assert talk.story[-3:] == [
        "refused blocked by policy [secret_field]",
        "resumed (error)",
        "resumed (error)",
    ]


def snapshot(status: str, **members: object) -> dict[str, Any]:
    return {"taskId": "t", "status": status, "createdAt": "2026-11-30T00:00:00Z", **members}


def test_each_poll_of_a_task_is_stopped_and_recorded_once() -> None:
    talk = talk_of(MODERN)
    talk.server(result(1, resultType="task", **snapshot("working")))
    asked = {"k": {"method": "elicitation/create", "params": SECRET}}
    for id_ in (2, 3):
        talk.client(request(id_, "tasks/get", {"taskId": "t"}))
        talk.server(result(id_, **snapshot("input_required", inputRequests=asked)))
        assert talk.session.stopped is not None
    told = snapshot("input_required", inputRequests=asked)
    talk.server(notification("notifications/tasks", **told))
    assert talk.session.stopped is not None
    talk.client(request(4, "tasks/get", {"taskId": "t"}))
    talk.server(result(4, **snapshot("completed", result={"content": []})))
    assert talk.session.stopped is None
    assert talk.story == [
        "requested open [secret_field]",
        "refused blocked by policy [secret_field]",
        "resumed (success)",
    ]


def test_a_completion_of_what_was_stopped_is_known_to_be_none() -> None:
    talk = talk_of()
    talk.server(question(7, BAD_PAGE))
    talk.server(completion("pay"))
    assert talk.session.stopped is None
    assert talk.story[2:] == ["noted [unknown_completion_id]"]


@pytest.mark.parametrize("enforcement", [Enforcement.OBSERVE, Enforcement.WARN])
def test_a_policy_that_does_not_enforce_stops_nothing(enforcement: Enforcement) -> None:
    talk = talk_of(policy=replace(BUILT_IN, enforcement=enforcement))
    talk.server(question(7, SECRET))
    assert talk.session.stopped is None
    assert talk.story == ["requested open [secret_field]"]
    assert talk.receipts[0].decision is Decision.BLOCK


def test_a_recording_is_told_as_it_was() -> None:
    talk = talk_of(vantage=Vantage.REPLAY)
    talk.server(question(7, SECRET))
    assert talk.story == ["requested open [secret_field]"]
    assert talk.receipts[0].decision is Decision.BLOCK


def test_a_finding_of_the_session_can_block_as_well() -> None:
    talk = Conversation(policy=STRICT)
    talk.server(question(7, HARMLESS))  # nobody has called anything
    assert talk.session.stopped is not None
    assert talk.story[1] == "refused blocked by policy [no_originating_request]"


def test_what_only_warns_goes_on() -> None:
    talk = talk_of()
    talk.server(question(7, form_params("See https://docs.example/")))
    assert talk.session.stopped is None
    assert talk.receipts[0].decision is Decision.WARN
