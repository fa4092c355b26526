"""Carrier "task", in its three shapes: snapshots, related requests, elicitations run as tasks."""

from __future__ import annotations

from typing import Any

import pytest
from conversation import (
    DECLINED,
    MODERN,
    Conversation,
    accepted,
    answer,
    call,
    decline,
    error,
    form_params,
    notification,
    question,
    request,
    result,
    url_params,
)

from elicitation_receipts.schemas.vocabulary import Carrier, Mode, Presentation, TaskStatus

RELATED = "io.modelcontextprotocol/related-task"
#: As the conversation's clock begins.
CREATED = "2026-09-21T14:13:20+00:00"
MAIN = {"branch": "main"}


def asking(**questions: dict[str, Any]) -> dict[str, Any]:
    requests = {
        key: {"method": "elicitation/create", "params": params} for key, params in questions.items()
    }
    return {"status": "input_required", "inputRequests": requests}


def started(**task: Any) -> Conversation:
    """A tool call that goes on as a task (the extension of 2026-07-28)."""
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(result(1, resultType="task", taskId="t", status="working", **task))
    return talk


def poll(talk: Conversation, id_: int, **snapshot: Any) -> None:
    talk.client(request(id_, "tasks/get", {"taskId": "t"}))
    talk.server(result(id_, taskId="t", **snapshot))
    talk.wait(seconds=1)


def update(talk: Conversation, id_: int, **answers: Any) -> None:
    talk.client(request(id_, "tasks/update", {"taskId": "t", "inputResponses": answers}))
    talk.server(result(id_))


DONE = {"status": "completed", "result": {"content": []}}


# Snapshots: the extension of 2026-07-28


def test_a_snapshot_puts_a_question_and_an_update_answers_it() -> None:
    talk = started()
    poll(talk, 2, **asking(k=form_params()))
    update(talk, 3, k=accepted(MAIN))
    poll(talk, 4, **DONE)
    assert talk.story == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]
    put, _, resumed = talk.receipts
    assert (put.carrier, put.mode) == (Carrier.TASK, Mode.TASK_INPUT)
    assert put.presentation is Presentation.FORM
    assert put.task is not None
    assert put.task.status_to is TaskStatus.INPUT_REQUIRED
    assert resumed.task is not None
    assert resumed.task.status_from is TaskStatus.INPUT_REQUIRED
    assert resumed.task.status_to is TaskStatus.COMPLETED


def test_a_poll_that_repeats_a_key_is_the_same_round() -> None:
    talk = started()
    for id_ in (2, 3, 4):
        poll(talk, id_, **asking(k=form_params()))
    assert talk.story == ["requested open"]


def test_a_key_that_was_gone_and_comes_back_is_the_next_round() -> None:
    talk = started()
    poll(talk, 2, **asking(k=form_params()))
    update(talk, 3, k=DECLINED)
    poll(talk, 4, status="working")
    poll(talk, 5, **asking(k=form_params("Which branch, please?")))
    assert talk.story[2:] == ["requested open round 2 [reask_after_refusal]"]
    assert talk.elicitations == 1


def test_a_key_reused_for_another_shape_is_another_question() -> None:
    talk = started()
    poll(talk, 2, **asking(k=form_params()))
    update(talk, 3, k=accepted(MAIN))
    poll(talk, 4, status="working")
    poll(talk, 5, **asking(k=form_params(properties={"tag": {"type": "string", "title": "T"}})))
    assert talk.elicitations == 2


def test_some_keys_are_answered_and_others_follow() -> None:
    talk = started()
    poll(talk, 2, **asking(a=form_params(), b=url_params(None)))
    update(talk, 3, a=accepted(MAIN))
    poll(talk, 4, **asking(b=url_params(None), c=form_params("Which tag?")))
    update(talk, 5, b=accepted(), c=DECLINED)
    poll(talk, 6, **DONE)
    assert (
        talk.story
        == [
            "requested open",
            "requested open",
            "answered accepted by person_claimed",
            "requested open",
            "answered consented by person_claimed",
            "answered declined by person_claimed",
            "resumed (success)",
            "resumed (success)",
            "resumed (success)",
        ]
        or talk.story[-1] == "abandoned unproven by runtime"
    )
    assert talk.elicitations == 3


def test_a_key_nobody_asked_for_is_named_on_what_is_answered_with_it() -> None:
    talk = started()
    poll(talk, 2, **asking(k=form_params()))
    update(talk, 3, k=DECLINED, z=DECLINED)
    update(talk, 4, z=DECLINED)
    assert talk.story[1:] == [
        "answered declined by person_claimed [unknown_response_key]",
        "noted [unknown_response_key]",
    ]


def test_a_second_answer_is_a_finding_and_so_is_one_after_the_end() -> None:
    talk = started()
    poll(talk, 2, **asking(k=form_params()))
    update(talk, 3, k=DECLINED)
    update(talk, 4, k=accepted(MAIN))
    poll(talk, 5, **DONE)
    update(talk, 6, k=accepted(MAIN))
    assert talk.story[2:] == [
        "noted [duplicate_answer]",
        "resumed (success)",
        "noted [answer_after_end]",
    ]


def test_a_status_that_is_pushed_tells_what_a_poll_would() -> None:
    talk = started()
    talk.server(notification("notifications/tasks", taskId="t", **asking(k=form_params())))
    talk.server(notification("notifications/tasks", taskId="t", **DONE))
    assert talk.story == [
        "requested open",
        "abandoned abandoned by runtime (success) [resume_without_answer unanswered]",
    ]


def test_a_task_that_fails_ends_its_operation() -> None:
    talk = started()
    poll(talk, 2, **asking(k=form_params()))
    update(talk, 3, k=DECLINED)
    poll(talk, 4, status="failed", error={"code": -32603, "message": "no"})
    assert talk.story[2:] == ["resumed (error)"]


@pytest.mark.parametrize("by_status", [False, True])
def test_a_cancelled_task_withdraws_what_it_asked(by_status: bool) -> None:
    talk = started()
    poll(talk, 2, **asking(k=form_params()))
    if by_status:
        poll(talk, 3, status="cancelled")
    else:
        talk.client(request(3, "tasks/cancel", {"taskId": "t"}))
    assert talk.story[1:] == ["refused withdrawn by unknown"]


def test_its_time_ends_a_question() -> None:
    talk = started(createdAt=CREATED, ttlMs=30_000)
    poll(talk, 2, **asking(k=form_params()))
    talk.wait(seconds=10)
    assert talk.story == ["requested open"]
    talk.wait(seconds=60)
    assert talk.story[1:] == ["expired expired by runtime [task_expired unanswered]"]
    assert talk.receipts[0].expires_at is not None


def test_without_one_the_wait_does_not_end_a_task() -> None:
    """A task goes on by itself, and may ask however late."""
    talk = started()
    talk.wait(seconds=7_200)
    poll(talk, 2, **asking(k=form_params()))
    assert talk.story == ["requested open"]


# A call run as a task, whose questions name it (2025-11-25)


def related(id_: int, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return question(id_, {**(params or form_params()), "_meta": {RELATED: {"taskId": "t"}}})


def called() -> Conversation:
    talk = Conversation()
    talk.client(call(1))
    talk.server(result(1, task={"taskId": "t", "status": "working"}))
    return talk


def test_a_question_that_names_a_task_belongs_to_it() -> None:
    talk = called()
    talk.client(call(2))  # outstanding as well: it is not what asks
    talk.server(related(7))
    talk.wait(seconds=1)
    talk.client(decline(7))
    talk.client(request(3, "tasks/result", {"taskId": "t"}))
    talk.server(result(3, content=[]))
    assert talk.story == [
        "requested open",
        "answered declined by person_claimed",
        "resumed (success)",
    ]
    assert {receipt.carrier for receipt in talk.receipts} == {Carrier.TASK}
    assert None not in {receipt.operation_id for receipt in talk.receipts}


@pytest.mark.parametrize("again", [7, 8])
def test_unanswered_and_fetched_again_it_is_the_same_question(again: int) -> None:
    talk = called()
    talk.server(related(7))
    talk.server(related(again))
    talk.wait(seconds=1)
    talk.client(decline(again))
    assert talk.story == ["requested open", "answered declined by person_claimed"]


def test_a_task_whose_result_is_an_error_ends() -> None:
    talk = called()
    talk.server(related(7))
    talk.client(request(3, "tasks/result", {"taskId": "t"}))
    talk.server(error(3, -32603))
    assert talk.story[1:] == [
        "abandoned abandoned by runtime (error) [resume_without_answer unanswered]"
    ]


# An elicitation that the client runs as a task (2025-11-25)


def taken_over() -> Conversation:
    talk = Conversation()
    talk.client(call(1))
    talk.server(question(7, {**form_params(), "task": {"ttl": 60_000}}))
    talk.wait(seconds=1)
    talk.client(result(7, task={"taskId": "c", "status": "working"}))
    talk.server(request(8, "tasks/result", {"taskId": "c"}))
    return talk


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (answer(8, accepted(MAIN)), "answered accepted by person_claimed"),
        (answer(8, DECLINED), "answered declined by person_claimed"),
        (error(8, -32603), "refused errored by runtime [error_answer]"),
    ],
)
def test_its_result_is_the_answer(given: dict[str, Any], told: str) -> None:
    talk = taken_over()
    assert talk.story == ["requested open"]
    talk.client(given)
    assert talk.story[1:] == [told]
    assert [receipt.carrier for receipt in talk.receipts] == [Carrier.SERVER_REQUEST, Carrier.TASK]


def test_if_the_client_cancels_it_the_question_is_withdrawn() -> None:
    talk = taken_over()
    talk.client(notification("notifications/tasks/status", taskId="c", status="cancelled"))
    assert talk.story[1:] == ["refused withdrawn by unknown"]
