"""One session watched: frames and times in, receipts out.

Routes each message to the carrier it concerns and follows what belongs to the
session as a whole: who the peers are, which requests are outstanding, how it ends.
"""

from __future__ import annotations

from typing import Any, Final

from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.wire import round_trip, url_required
from elicitation_receipts.producers.wire.adoption import Adoption
from elicitation_receipts.producers.wire.completions import Completions
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.latest import Latest
from elicitation_receipts.producers.wire.ledger import Ledger
from elicitation_receipts.producers.wire.life import Elicitation, Operation
from elicitation_receipts.producers.wire.message import Key, Message, as_object, parse
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.operations import Operations
from elicitation_receipts.producers.wire.orphans import Orphans
from elicitation_receipts.producers.wire.refusal import Refusal
from elicitation_receipts.producers.wire.round_trip import RoundTrips
from elicitation_receipts.producers.wire.scribe import Post
from elicitation_receipts.producers.wire.server_request import ServerRequests
from elicitation_receipts.producers.wire.stream import Stream
from elicitation_receipts.producers.wire.task import Tasks
from elicitation_receipts.producers.wire.trace import trace_of
from elicitation_receipts.producers.wire.url_required import UrlRequired
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import (
    ORIGINATING_METHODS,
    Carrier,
    DecidedBy,
    Event,
    FindingName,
    OperationResult,
    Outcome,
    Proof,
)

#: The client's request ids remembered, to notice one used twice.
_REMEMBERED: Final = 65_536
#: Operations the client gave up, whose result may still come.
_REMEMBERED_CANCELLED: Final = 1_024


class Session:
    """The pure core of a watcher. Reads no clock and no file; not safe for two threads at once.

    ``name``     distinguishes this session from every other of the tenant; a keyed reference to
                 it stands on each receipt
    ``orphans``  what watchers before this one left open, and may be answered here
    ``midway``   the session began before anybody watched it, see :class:`Adoption`
    """

    def __init__(
        self,
        redactor: Redactor,
        post: Post,
        name: str,
        *,
        join_by_arguments: bool = True,
        orphans: Orphans | None = None,
        midway: bool = False,
    ) -> None:
        self._ledger = Ledger(redactor, post, name)
        self._adoption = adoption = Adoption(orphans or Orphans(), self._ledger, midway=midway)
        self._operations = Operations(redactor, adoption, join_by_arguments=join_by_arguments)
        self._completions = Completions(self._ledger, adoption)
        self._tasks = Tasks(self._ledger, self._operations, adoption)
        self._server_requests = ServerRequests(
            self._ledger, self._completions, self._tasks, adoption
        )
        self._url_required = UrlRequired(self._ledger, self._completions)
        self._round_trips = RoundTrips(self._ledger, self._operations, adoption)
        self._peers = adoption.peers
        self._initialized = midway
        self._client_requests: Latest[Key, str] = Latest(_REMEMBERED)
        self._client_ids: set[Key] = set()
        self._cancelled: Latest[Key, Operation] = Latest(_REMEMBERED_CANCELLED)
        #: The stream and the bytes of each question that waits for its answer.
        self._delivered: Latest[Key, tuple[Stream, bytes]] = Latest(_REMEMBERED)
        self._noted_once: set[object] = set()

    def on_frame(
        self, direction: Direction, raw: bytes, at: Moment, stream: Stream | None = None
    ) -> list[Receipt]:
        """Take in one frame (a line, a body, an event) and give the receipts it leaves.

        ``stream``: the one it came on, where the session has several.
        """
        frame = parse(raw, stream if stream is not None and stream.is_scope else None)
        if not frame.is_json:
            self._note_once(FindingName.MALFORMED_MESSAGE, direction, at)
        self._ledger.answered.clear()
        self._ledger.asked.clear()
        self._ledger.stopped = None
        self._expire(at)
        for message in frame.messages:
            if direction is Direction.CLIENT_TO_SERVER:
                self._from_client(message, at, stream)
            elif self._is_repeated(message, raw, stream):
                self._server_requests.on_repeated(message.key)
            else:
                self._from_server(message, at, stream)
        if self._ledger.stopped is not None:
            self._ledger.stop_asked(at)
        if stream is not None:
            stream.answered += self._ledger.answered
        return self._ledger.take()

    @property
    def stopped(self) -> Refusal | None:
        """Why the last frame may not go on: policy stopped a question in it. None: it may."""
        return self._ledger.stopped

    def on_undelivered(self, stream: Stream, at: Moment) -> list[Receipt]:
        """The server never got what the client sent on ``stream``: no answer in it counts."""
        for elicitation in stream.answered:
            self._ledger.undo_answer(elicitation, at)
            self._server_requests.reopen(elicitation)
        stream.answered.clear()
        operation = stream.operation
        if operation is not None and operation.is_in_flight:
            self._operations.undelivered(operation, at)
        return self._ledger.take()

    def use_policy(self, policy: Policy) -> None:
        """From now on judge by ``policy``. A round that has begun keeps the rules it began by."""
        self._ledger.use_policy(policy)

    @property
    def is_idle(self) -> bool:
        """Nothing is open and no request awaits its response."""
        return not self._ledger.running and not self._operations.outstanding

    def on_oversized(self, direction: Direction, at: Moment) -> list[Receipt]:
        """A message too long to read went by."""
        self._ledger.note([FindingName.OVERSIZED_MESSAGE], at, peers=self._peers)
        del direction  # either way it is one finding
        return self._ledger.take()

    def on_tick(self, at: Moment) -> list[Receipt]:
        """Time passed: end what has waited longer than the policy lets it."""
        self._expire(at)
        limit = self._ledger.policy.thresholds.silence_s * 1_000_000
        for elicitation in list(self._ledger.running.values()):
            silent = elicitation.expires_at is None and elicitation.waits_for_the_client
            if silent and at.since(elicitation.last_at) >= limit:
                self._ledger.abandon(elicitation, at)
        for operation in list(self._operations.waiting):
            since = operation.waiting_since
            # A task goes on by itself, and may ask however late.
            if operation.task is None and since is not None and at.since(since) >= limit:
                self._operations.end(operation)
        return self._ledger.take()

    def _expire(self, at: Moment) -> None:
        """End what has outlived the time that policy or task gave it."""
        for elicitation in list(self._ledger.running.values()):
            expires_at = elicitation.expires_at
            if expires_at is None or at.wall_us < expires_at:
                continue
            if elicitation.is_open:
                self._ledger.expire(elicitation, at)
            else:  # consented, and its session can no longer be completed
                self._ledger.abandon(elicitation, at)

    # What a server says of itself, and the wire does not

    def expects(self, question: str) -> bool:
        """Whether a completion recorded for ``question`` belongs here."""
        return self._completions.expects(question)

    def on_completion(self, question: str, proof: Proof, at: Moment) -> list[Receipt]:
        """It proved that a URL ceremony is complete, see :meth:`Completions.on_record`."""
        self._completions.on_record(question, proof, self._peers, at)
        return self._ledger.take()

    def on_subject(self, subject: str | None) -> None:
        """It authenticated whom it talks to. Raises :class:`DigestError`."""
        self._ledger.identify(subject)

    def on_checkpoint(self, task_id: str, version: int) -> bool:
        """It saved a task's state. False where no such task is known."""
        return self._tasks.checkpoint(task_id, version)

    def retract(self, receipts: list[Receipt]) -> None:
        """These receipts could not be written and their message did not go on.

        A question among them was never put: nothing more is recorded of it.
        """
        for receipt in receipts:
            if receipt.event is Event.REQUESTED and receipt.elicitation_id is not None:
                self._ledger.retract(receipt.elicitation_id)

    def on_close(self, at: Moment) -> list[Receipt]:
        """The connection ended: nothing can be answered or proved on it any more."""
        orphans = self._adoption.rest(at)
        self._abandon([*orphans, *self._ledger.running.values()], at)
        return self._ledger.take()

    def rename(self, name: str) -> None:
        """The session has got its name."""
        self._ledger.rename(name)

    def _abandon(self, elicitations: list[Elicitation], at: Moment) -> None:
        for elicitation in elicitations:
            if elicitation.is_running:
                self._ledger.abandon(elicitation, at)

    def _is_repeated(self, message: Message, raw: bytes, stream: Stream | None) -> bool:
        """Whether a question is delivered once more, on another stream, while it waits."""
        if stream is None or message.method != "elicitation/create":
            return False
        first, text = self._delivered.setdefault(message.key, (stream, raw))
        return text == raw and (
            first is not stream or self._server_requests.is_stopped(message.key)
        )

    # From the client

    def _from_client(self, message: Message, at: Moment, stream: Stream | None) -> None:
        if message.is_response:
            self._delivered.pop(message.key, None)
            self._server_requests.on_response(message, self._peers, at)
            return
        params = message.params
        match message.method:
            case "notifications/initialized":
                self._initialized = True
            case "notifications/cancelled":
                self._on_client_cancelled(message.key_of(params.get("requestId")), at)
            case "notifications/tasks/status":
                self._tasks.on_client_status(params, at)
            case str(method) if message.has_usable_id:
                self._on_client_request(method, message, at, stream)
            case _:
                pass

    def _on_client_request(
        self, method: str, message: Message, at: Moment, stream: Stream | None
    ) -> None:
        self._peers = self._peers.with_request_meta(message.params)
        if method == "initialize":
            self._peers = self._peers.with_initialize(message.params)
        key = message.key
        is_duplicate = key in (self._client_requests if self._peers.is_modern else self._client_ids)
        if len(self._client_ids) < _REMEMBERED:
            self._client_ids.add(key)
        self._client_requests[key] = method
        arrival = None
        if method in ORIGINATING_METHODS:
            if message.in_batch and "inputResponses" in message.params:
                # As every answer inside an array: recorded, not paired.
                self._ledger.note([FindingName.BATCH_ARRAY], at, peers=self._peers)
                return
            arrival = self._operations.arrive(message, method, self._peers, at)
            arrival.operation.trace = trace_of(message.params) or (stream.trace if stream else None)
            if stream is not None:
                stream.operation = arrival.operation
        is_reused_on_retry = arrival and FindingName.ID_REUSED_ON_RETRY in arrival.findings
        if is_duplicate and not is_reused_on_retry:  # the narrower name replaces the wider
            self._note_once(FindingName.DUPLICATE_ID, Direction.CLIENT_TO_SERVER, at)
        if arrival is not None:
            self._round_trips.on_request(arrival, message, at)
        elif method.startswith("tasks/"):
            self._tasks.on_client_request(method, message, at)

    def _on_client_cancelled(self, key: Key, at: Moment) -> None:
        operation = self._operations.outstanding.pop(key, None)
        for cancelled in [operation] if operation else self._adoption.operations_of(key, at):
            self._client_requests.pop(key, None)
            self._cancel(key, cancelled, at)

    def _cancel(self, key: Key, operation: Operation, at: Moment) -> None:
        self._operations.end(operation)
        self._cancelled[key] = operation
        for elicitation in operation.elicitations:
            if elicitation.is_open:
                self._ledger.refuse(elicitation, Outcome.WITHDRAWN, DecidedBy.UNKNOWN, at)

    # From the server

    def _from_server(self, message: Message, at: Moment, stream: Stream | None) -> None:
        if message.is_response:
            self._on_server_response(message, at)
            return
        match message.method:
            case "elicitation/create":
                self._on_question(message, at, stream)
            case "notifications/elicitation/complete":
                self._completions.on_notification(message.params, self._peers, at)
            case "notifications/cancelled":
                self._server_requests.on_cancelled(
                    message.key_of(message.params.get("requestId")), at
                )
            case "notifications/tasks/status" | "notifications/tasks":
                self._tasks.on_status(message.params, self._peers, at)
            case str(method):
                self._tasks.on_server_request(method, message)
                self._server_requests.on_other_request(message)
            case _:
                pass

    def _on_question(self, message: Message, at: Moment, stream: Stream | None) -> None:
        outstanding = list(self._operations.outstanding.values())
        operation = self._tasks.operation_of(message.params, at)
        if operation is None and stream is not None:
            operation = stream.operation
        # With several outstanding nothing else on the wire says which one asks.
        if operation is None and len(outstanding) == 1:
            operation = outstanding[0]
        findings = []
        if not self._initialized and not self._peers.is_modern:
            findings.append(FindingName.BEFORE_INITIALIZED)
        if not outstanding and operation is None and not self._adoption.midway:
            findings.append(FindingName.NO_ORIGINATING_REQUEST)
        self._server_requests.on_question(message, operation, self._peers, at, findings)

    def _on_server_response(self, message: Message, at: Moment) -> None:
        if message.members.keys().isdisjoint(("result", "error")):
            return  # delivers nothing
        key = message.key
        method = self._client_requests.pop(key, None)
        operation = self._operations.outstanding.pop(key, None)
        result = as_object(message.members.get("result"))
        self._peers = self._peers.with_result_meta(result)
        if method == "initialize":
            self._peers = self._peers.with_initialize_result(result)
        if operation is not None:
            operation.peers = operation.peers.with_result_meta(result)
            self._on_operation_response(operation, message, result, at)
            self._end_if_stopped(operation, at)
        elif (cancelled := self._cancelled.pop(key, None)) is not None:
            self._ledger.finish(cancelled, *_kind(message, result), at)
        elif method is not None:
            self._tasks.on_server_response(message, self._peers, at)
        else:
            for adopted in self._adoption.operations_of(key, at):
                self._on_operation_response(adopted, message, result, at)

    def _on_operation_response(
        self, operation: Operation, message: Message, result: dict[str, Any], at: Moment
    ) -> None:
        if operation.ended:
            return  # the repetition of an operation that has had its result
        if self._tasks.started_by(operation, result, at):
            self._operations.wait(operation, at)
            return
        if result.get("resultType") == "input_required":
            self._round_trips.on_interim(operation, message, at)
            self._operations.wait(operation, at)
            return
        if message.error_code == url_required.CODE and self._url_required.on_error(
            operation, message, at
        ):
            self._operations.wait(operation, at)
            return
        if message.error_code == round_trip.MISSING_CAPABILITY:
            self._round_trips.on_missing_capability(operation, message, at)
        kind, members = _kind(message, result)
        if self._url_required.survives(operation, kind):
            operation.waiting = Carrier.URL_REQUIRED_ERROR
            self._operations.wait(operation, at)
            return
        self._ledger.finish(operation, kind, members, at)
        self._operations.end(operation)

    def _end_if_stopped(self, operation: Operation, at: Moment) -> None:
        """Where a question in its result was stopped, the client is given an error for it."""
        if self._ledger.stopped is not None and not operation.ended:
            self._ledger.stop_asked(at)
            self._ledger.finish(operation, OperationResult.ERROR, None, at)
            self._operations.end(operation)

    def _note_once(self, finding: FindingName, direction: Direction, at: Moment) -> None:
        """A stray finding that would otherwise repeat with every message: once a session."""
        if (finding, direction) not in self._noted_once:
            self._noted_once.add((finding, direction))
            self._ledger.note([finding], at, peers=self._peers)


def _kind(message: Message, result: dict[str, Any]) -> tuple[OperationResult, object]:
    if "error" in message.members:
        return OperationResult.ERROR, message.members["error"]
    if result.get("isError") is True:
        return OperationResult.TOOL_ERROR, result
    return OperationResult.SUCCESS, result
