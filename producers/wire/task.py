"""Carrier "task": a question put while durable work waits in status ``input_required``.

Three shapes: a task-augmented tool call whose questions name the task in ``_meta``
(2025-11-25); an elicitation the client itself runs as a task (2025-11-25); a task
whose snapshots list ``inputRequests``, answered by ``tasks/update`` (the extension
of 2026-07-28).

Sources: MCP 2025-11-25 "Tasks" (SEP-1686); extension ``io.modelcontextprotocol/tasks``
(SEP-2663).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from elicitation_receipts.producers.wire.adoption import Adoption
from elicitation_receipts.producers.wire.answer import judge
from elicitation_receipts.producers.wire.latest import Latest
from elicitation_receipts.producers.wire.ledger import Ledger
from elicitation_receipts.producers.wire.life import Elicitation, Operation, TaskState
from elicitation_receipts.producers.wire.message import (
    ABSENT,
    Key,
    Message,
    as_object,
    repeats_anywhere,
)
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.operations import Operations
from elicitation_receipts.producers.wire.peers import Peers
from elicitation_receipts.producers.wire.question import read_question
from elicitation_receipts.schemas.datum import LATEST_MICROS
from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    DecidedBy,
    FindingName,
    OperationResult,
    Outcome,
    ReferenceKind,
    TaskStatus,
)

_RELATED: Final = "io.modelcontextprotocol/related-task"
#: Tasks, and requests about them, remembered in a session.
_REMEMBERED: Final = 4_096
_ENDED: Final = (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED)


class Tasks:
    """The tasks of one session, on either side."""

    def __init__(self, ledger: Ledger, operations: Operations, adoption: Adoption) -> None:
        self._ledger = ledger
        self._operations = operations
        self._adoption = adoption
        self._of_server: Latest[str, Operation] = Latest(_REMEMBERED)
        self._of_client: Latest[str, Elicitation] = Latest(_REMEMBERED)
        #: Outstanding requests about tasks: method and task id, by direction and JSON-RPC id.
        self._client_asks: Latest[Key, tuple[str, str]] = Latest(_REMEMBERED)
        self._server_asks: Latest[Key, tuple[str, str]] = Latest(_REMEMBERED)

    # Tasks the server runs

    def started_by(self, operation: Operation, result: dict[str, Any], at: Moment) -> bool:
        """Whether ``result`` only says that the operation goes on as a task."""
        task = as_object(result.get("task")) or (
            result if result.get("resultType") == "task" else {}
        )
        task_id = task.get("taskId")
        if not isinstance(task_id, str):
            return False
        operation.task = TaskState(task_id)
        operation.waiting = Carrier.TASK
        self._of_server[task_id] = operation
        self._observe(operation, task, at)
        return True

    def operation_of(self, params: dict[str, Any], at: Moment) -> Operation | None:
        """The operation whose task a question names in its ``_meta``."""
        return self._find(as_object(as_object(params.get("_meta")).get(_RELATED)), at)

    def _find(self, params: dict[str, Any], at: Moment) -> Operation | None:
        """The operation whose task is named there."""
        task_id = params.get("taskId")
        if not isinstance(task_id, str):
            return None
        if task_id not in self._of_server:
            adopted = self._adoption.task(task_id, at)
            if adopted is not None:
                self._of_server[task_id] = adopted
        return self._of_server.get(task_id)

    def on_client_request(self, method: str, message: Message, at: Moment) -> None:
        """``tasks/get``, ``tasks/result``, ``tasks/update`` or ``tasks/cancel`` of the client."""
        task_id = message.params.get("taskId")
        if not isinstance(task_id, str):
            return
        operation = self._find(message.params, at)
        if operation is None and method != "tasks/get":
            return
        self._client_asks[message.key] = (method, task_id)
        if operation is None:
            pass  # what it is told may be news
        elif method == "tasks/update":
            self._on_update(operation, message, at)
        elif method == "tasks/cancel":
            self._withdraw(operation, at)

    def on_server_response(self, message: Message, peers: Peers, at: Moment) -> None:
        """The server's response to one of those."""
        asked = self._client_asks.pop(message.key, None)
        if asked is None:
            return
        method, task_id = asked
        result = as_object(message.members.get("result"))
        if method == "tasks/get":
            self.on_status({**result, "taskId": task_id}, peers, at)
        elif method == "tasks/result" and task_id in self._of_server:
            self._finish(self._of_server[task_id], message.members, at)

    def on_status(self, params: dict[str, Any], peers: Peers, at: Moment) -> None:
        """``notifications/tasks/status`` (2025-11-25), ``notifications/tasks`` (extension)."""
        operation = self._find(params, at)
        if operation is None and "inputRequests" in params:
            operation = self._begun_unseen(params.get("taskId"), peers, at)
        if operation is not None:
            self._observe(operation, params, at)

    def _begun_unseen(self, task_id: object, peers: Peers, at: Moment) -> Operation | None:
        """A task whose start nobody watched asks all the same."""
        if not isinstance(task_id, str):
            return None
        operation = self._of_server[task_id] = Operation(
            id=self._ledger.redactor.new_id(),
            method=None,
            name=None,
            arguments=b"",
            request_id=ABSENT,
            started_at=at,
            peers=peers,
            waiting=Carrier.TASK,
            task=TaskState(task_id),
            unseen=True,
        )
        return operation

    def _observe(self, operation: Operation, snapshot: dict[str, Any], at: Moment) -> None:
        """A snapshot of the task: its status, and what it asks or gives with it."""
        status = _status(snapshot)
        if operation.ended or operation.task is None or status is None:
            return
        operation.task.status = status
        operation.task.expires_at = _expiry(snapshot) or operation.task.expires_at
        requests = as_object(snapshot.get("inputRequests"))
        self._adoption.name_keys(operation, requests)
        if status is TaskStatus.INPUT_REQUIRED:
            for key, request in requests.items():
                self._on_input_request(operation, key, request, at)
        if "inputRequests" in snapshot or status is not TaskStatus.INPUT_REQUIRED:
            operation.asked_keys = set(requests)
        if status is TaskStatus.CANCELLED:
            self._withdraw(operation, at)
        elif status in _ENDED and ("result" in snapshot or "error" in snapshot):
            self._finish(operation, snapshot, at)

    def _on_input_request(
        self, operation: Operation, key: str, request: object, at: Moment
    ) -> None:
        if as_object(request).get("method") != "elicitation/create":
            operation.keys.setdefault(key, None)
            return
        earlier = operation.keys.get(key)
        peers = operation.peers
        question = read_question(as_object(request).get("params"), peers.revision)
        same = earlier is not None and self._ledger.recognize(earlier, question)
        if earlier is not None and same and key in operation.asked_keys:
            # The poll repeats a question it has shown before, or would have shown.
            self._ledger.stop_again(earlier)
            return
        operation.keys[key] = self._ledger.ask(
            Carrier.TASK,
            question,
            operation,
            peers,
            at,
            protocol_ids=(*operation.protocol_ids, (ReferenceKind.REQUEST_KEY, key)),
            findings=([FindingName.DUPLICATE_MEMBER] if repeats_anywhere(request) else []),
            previous=earlier if same else None,
        )

    def _on_update(self, operation: Operation, message: Message, at: Moment) -> None:
        """``inputResponses`` for some of the keys; the others may follow later."""
        answers = as_object(message.params.get("inputResponses"))
        odd = []
        self._adoption.name_keys(operation, answers)
        if not operation.unseen and any(key not in operation.keys for key in answers):
            odd.append(FindingName.UNKNOWN_RESPONSE_KEY)
        for key, response in answers.items():
            elicitation = operation.keys.get(key)
            if elicitation is None:
                continue
            if elicitation.is_open:
                verdict = judge(elicitation.question, response)
                self._ledger.answer(elicitation, verdict, at, findings=odd)
            else:
                self._ledger.note_repetition(elicitation, at, odd)
            odd = []
        if odd:
            self._ledger.note(odd, at, operation=operation, peers=operation.peers)

    def _finish(self, operation: Operation, members: dict[str, Any], at: Moment) -> None:
        if operation.ended:
            return
        result = as_object(members.get("result"))
        if "error" in members:
            kind, shown = OperationResult.ERROR, members["error"]
        elif result.get("isError") is True:
            kind, shown = OperationResult.TOOL_ERROR, result
        else:
            kind, shown = OperationResult.SUCCESS, result
        if operation.task is not None and operation.task.status not in _ENDED:
            failed = kind is OperationResult.ERROR
            operation.task.status = TaskStatus.FAILED if failed else TaskStatus.COMPLETED
        self._ledger.finish(operation, kind, shown, at)
        self._operations.end(operation)

    def _withdraw(self, operation: Operation, at: Moment) -> None:
        self._operations.end(operation)
        for elicitation in operation.elicitations:
            if elicitation.is_open:
                self._ledger.refuse(elicitation, Outcome.WITHDRAWN, DecidedBy.UNKNOWN, at)

    def checkpoint(self, task_id: str, version: int) -> bool:
        """The server saved the task's state. False where no such task is known."""
        operation = self._of_server.get(task_id)
        if operation is None or operation.task is None:
            return False
        operation.task.checkpoint = version
        return True

    # Elicitations the client runs as tasks

    def taken_over(self, elicitation: Elicitation, result: object) -> bool:
        """Whether the client answered a question with a task of its own: it stays open."""
        task = as_object(as_object(result).get("task"))
        task_id = task.get("taskId")
        if not isinstance(task_id, str):
            return False
        elicitation.carrier = Carrier.TASK
        elicitation.task = TaskState(task_id, _status(task) or TaskStatus.WORKING, _expiry(task))
        elicitation.protocol_ids = (*elicitation.protocol_ids, (ReferenceKind.TASK_ID, task_id))
        self._of_client[task_id] = elicitation
        return True

    def on_server_request(self, method: str, message: Message) -> None:
        """The server polls a task the client runs."""
        task_id = message.params.get("taskId")
        if isinstance(task_id, str) and task_id in self._of_client and message.has_usable_id:
            self._server_asks[message.key] = (method, task_id)

    def on_client_response(self, message: Message, at: Moment) -> bool:
        """Whether this was the response to such a poll."""
        asked = self._server_asks.pop(message.key, None)
        if asked is None:
            return False
        method, task_id = asked
        elicitation = self._of_client.get(task_id)
        result = as_object(message.members.get("result"))
        if method == "tasks/get":
            self.on_client_status({**result, "taskId": task_id}, at)
        elif method == "tasks/result" and elicitation is not None and elicitation.is_open:
            self._settle(elicitation, message, at)
        return True

    def on_client_status(self, params: dict[str, Any], at: Moment) -> None:
        """The status of a task the client runs: polled, or ``notifications/tasks/status``."""
        task_id, status = params.get("taskId"), _status(params)
        elicitation = self._of_client.get(task_id) if isinstance(task_id, str) else None
        if elicitation is None or elicitation.task is None or status is None:
            return
        elicitation.task.status = status
        if elicitation.is_open and status is TaskStatus.CANCELLED:
            self._ledger.refuse(elicitation, Outcome.WITHDRAWN, DecidedBy.UNKNOWN, at)

    def _settle(self, elicitation: Elicitation, message: Message, at: Moment) -> None:
        if "error" in message.members:
            found = [] if elicitation.question.is_defective else [FindingName.ERROR_ANSWER]
            self._ledger.refuse(elicitation, Outcome.ERRORED, DecidedBy.RUNTIME, at, found)
            return
        verdict = judge(elicitation.question, message.members.get("result"))
        self._ledger.answer(elicitation, verdict, at)


def _status(task: dict[str, Any]) -> TaskStatus | None:
    try:
        return TaskStatus(task["status"])
    except (KeyError, ValueError):
        return None


def _expiry(task: dict[str, Any]) -> int | None:
    """When the task's time to live ends, UTC microseconds; None where it has none."""
    milliseconds = task.get("ttlMs", task.get("ttl"))
    created = task.get("createdAt")
    if not isinstance(milliseconds, int | float) or not isinstance(created, str):
        return None
    try:
        expiry = int(datetime.fromisoformat(created).timestamp() * 1e6) + int(milliseconds * 1_000)
    except (ValueError, OverflowError):
        return None
    return expiry if 0 <= expiry <= LATEST_MICROS else None  # beyond what a receipt can say
