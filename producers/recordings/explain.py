"""Explains a replay, message by message: what was seen, what it left, and why.

Kinds, names of a closed vocabulary, numbers and our own words: nothing from the traffic but
what may stand in a receipt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final
from uuid import UUID

from elicitation_receipts.producers.recordings.replay import Step
from elicitation_receipts.producers.recordings.traffic import End, Frame, Line, Request, Response
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.message import Message, parse
from elicitation_receipts.schemas.receipt import Receipt, Validation
from elicitation_receipts.schemas.vocabulary import (
    ORIGINATING_METHODS,
    DecidedBy,
    Event,
    FindingName,
    Outcome,
    Proof,
)

_INDENT: Final = " " * 12
_TO: Final = {Direction.CLIENT_TO_SERVER: "client", Direction.SERVER_TO_CLIENT: "server"}

#: The methods that the core looks at. Any other is not repeated.
_METHODS: Final = ORIGINATING_METHODS | {
    "elicitation/create",
    "initialize",
    "notifications/cancelled",
    "notifications/elicitation/complete",
    "notifications/initialized",
    "notifications/tasks",
    "notifications/tasks/status",
    "server/discover",
    "tasks/cancel",
    "tasks/get",
    "tasks/result",
    "tasks/update",
}

_BECAUSE: Final = {
    DecidedBy.PERSON_CLAIMED: "the client says so, and late enough for a person",
    DecidedBy.AUTOMATIC_SUSPECTED: "the client says so, sooner than a person could",
    DecidedBy.POLICY: "the policy stopped it",
    DecidedBy.RUNTIME: "no person had a part in it",
    DecidedBy.UNKNOWN: "who it was cannot be told",
}

_PROVED_BY: Final = {
    Proof.SERVER_NOTIFICATION: "the server says that it is complete",
    Proof.OPERATION_RESULT: "the client tried again, and the operation succeeded",
    Proof.STATUS_CHECK: "the server looked",
    Proof.AUTHENTICATED_CALLBACK: "the server was called back",
}

_MEANS: Final = {
    Outcome.CONSENTED: "consent to open an address completes nothing",
    Outcome.UNPROVEN: "consented to, and never shown to be complete",
    Outcome.UNSUPPORTED: "the client cannot ask this",
    Outcome.ABANDONED: "ended without an answer",
}

#: What each finding says, in a few words.
SAYS: Final = {
    FindingName.SECRET_FIELD: "a form asks for a secret",
    FindingName.DATA_CLASS_PROHIBITED: "it asks for data the policy prohibits",
    FindingName.APPROVAL_AS_FIELD: "approval is a field, where accept and decline should say it",
    FindingName.REDACTION_FAILED: "redaction failed: nothing derived from content was written",
    FindingName.CREDENTIAL_IN_URL: "the address holds a credential",
    FindingName.CONTENT_ON_URL_ANSWER: "the answer to a URL question has content",
    FindingName.CONTENT_ON_REFUSAL: "a decline or cancel has content",
    FindingName.ARGUMENTS_CHANGED: "the retry echoes the state with another call",
    FindingName.IDENTITY_MISMATCH: "answered by another than was asked",
    FindingName.VALUE_LEAKED_IN_ERROR: "an error of the operation repeats what was submitted",
    FindingName.BEFORE_INITIALIZED: "asked before the session was initialized",
    FindingName.MODE_NOT_DECLARED: "the client did not declare this mode",
    FindingName.MODE_NOT_ALLOWED: "the policy does not allow this mode",
    FindingName.OVERSIZED_MESSAGE: "a message too long to be read",
    FindingName.NO_ORIGINATING_REQUEST: "no request of the client led to this question",
    FindingName.UNKNOWN_MODE: "the protocol does not know this mode",
    FindingName.MIXED_MODE_MEMBERS: "members of the other mode",
    FindingName.MISSING_MESSAGE: "the question has no message",
    FindingName.MISSING_ELICITATION_ID: "`elicitationId` is missing",
    FindingName.MISSING_REQUESTED_SCHEMA: "`requestedSchema` is missing",
    FindingName.SCHEMA_OFF_SUBSET: "the schema is outside of what the protocol allows",
    FindingName.EMPTY_SCHEMA: "the form has no field",
    FindingName.DUPLICATE_ID: "an id was used twice",
    FindingName.ID_NOT_VERBATIM: "the answer's id is not the question's, only much like it",
    FindingName.ID_REUSED_ON_RETRY: "the retry has the id of the request before",
    FindingName.UNKNOWN_RESPONSE_ID: "an answer to nothing that was asked",
    FindingName.DUPLICATE_MEMBER: "an object names a member twice",
    FindingName.BATCH_ARRAY: "the message stands in an array",
    FindingName.MALFORMED_MESSAGE: "the message is not what the protocol says",
    FindingName.ERROR_ANSWER: "an error answers a well-formed question of a declared mode",
    FindingName.ACCEPT_SCHEMA_MISMATCH: "the accepted content does not satisfy the schema",
    FindingName.UNASKED_FIELD: "a field nobody asked for",
    FindingName.UNKNOWN_RESPONSE_KEY: "an answer under a key that was never asked",
    FindingName.MISSING_RESPONSE: "the retry leaves out an answer",
    FindingName.STATE_NOT_ECHOED: "the retry does not echo the `requestState`",
    FindingName.STATE_INVENTED: "a `requestState` this operation was never given",
    FindingName.UNKNOWN_COMPLETION_ID: "a completion of nothing that is waited for",
    FindingName.RETIRED_CODE: "a code the revision no longer has",
    FindingName.UNKNOWN_ACTION: "the action is none of the protocol's three",
    FindingName.ANSWER_NOT_DELIVERED: "HTTP refused the answer: the server never got it",
    FindingName.PROOF_INSUFFICIENT: "the policy asks for a stronger proof",
    FindingName.RECEIPT_FIELD_MISSING: "a field the policy requires is missing",
    FindingName.STATE_REUSED: "a `requestState` used a second time",
    FindingName.DUPLICATE_ANSWER: "a second answer; the first counts",
    FindingName.ANSWER_AFTER_END: "an answer after the end; it changes nothing",
    FindingName.DUPLICATE_COMPLETION: "completed once already",
    FindingName.DUPLICATE_EFFECT: "the operation took effect twice",
    FindingName.UNANSWERED: "no answer of any kind came",
    FindingName.TASK_EXPIRED: "the task's time to live ran out",
    FindingName.RESUME_WITHOUT_ANSWER: "the operation ended without waiting for the answer",
    FindingName.URL_IN_TEXT: "an address in a text",
    FindingName.URL_NOT_HTTPS: "the address is not https",
    FindingName.URL_SCHEME: "the address is neither http nor https",
    FindingName.URL_USERINFO: "the address holds a user name",
    FindingName.URL_PUNYCODE: "the address's host is not plain ASCII",
    FindingName.URL_MIXED_SCRIPT: "the address's host mixes scripts",
    FindingName.URL_IP_LITERAL: "the address's host is a number",
    FindingName.URL_ORIGIN_NOT_ALLOWED: "the policy does not list the address's origin",
    FindingName.REASK_LOOP: "asked again and again",
    FindingName.REASK_AFTER_REFUSAL: "asked again after a decline or cancel",
    FindingName.REASK_AFTER_ACCEPT: "asked again after a valid answer",
    FindingName.IMPLAUSIBLE_LATENCY: "answered sooner than a person could",
    FindingName.NEEDLESS_QUESTION: "asks what is known already",
    FindingName.TOO_MANY_FIELDS: "more fields than the policy's limit",
    FindingName.VALUE_LIMIT: "a longer text or more choices than the policy's limit",
    FindingName.MISSING_DESCRIPTION: "a field has neither title nor description",
}


def explain(steps: Iterable[Step]) -> Iterator[str]:
    """A replay's steps in lines of text. Seconds count from the first message."""
    started: int | None = None
    questions: dict[UUID, int] = {}
    for step in steps:
        started = step.at if started is None else started
        if step.receipts or not isinstance(step.seen, End | None):
            yield f"{(step.at - started) / 1_000_000:10.3f}  {_seen(step)}"
        for receipt in step.receipts:
            yield from _left(receipt, questions)


def _seen(step: Step) -> str:
    match step.seen:
        case Line(direction=direction, raw=raw):
            return f"{_TO[direction]}  {_messages(raw)}"
        case Request(method=method, body=body):
            return f"client  {method if method in ('GET', 'DELETE') else 'POST'} {_messages(body)}"
        case Response(status=status):
            return f"server  status {status}"
        case Frame(data=data):
            return f"server  {_messages(data)}"
        case End():
            return "server  end of the response"
    return "        time passed, or the recording ended"


def _messages(raw: bytes) -> str:
    if not raw:
        return "without a message"
    frame = parse(raw)
    if not frame.is_json:
        return "no JSON-RPC message"
    return ", ".join(_kind(message) for message in frame.messages) or "no message"


def _kind(message: Message) -> str:
    if message.is_response:
        return "error response" if "error" in message.members else "response"
    method = message.method if message.method in _METHODS else "of another method"
    return f"{'request' if 'id' in message.members else 'notification'} {method}"


def _left(receipt: Receipt, questions: dict[UUID, int]) -> Iterator[str]:
    if receipt.elicitation_id is None:
        yield f"{_INDENT}{receipt.event}, of no question"
    else:
        number = questions.setdefault(receipt.elicitation_id, len(questions) + 1)
        yield f"{_INDENT}question {number} {', '.join(_words(receipt))}"
    for reason in _reasons(receipt):
        yield f"{_INDENT}  {reason}"


def _words(receipt: Receipt) -> Iterator[str]:
    yield from dict.fromkeys(word.value for word in (receipt.event, receipt.outcome) if word)
    if receipt.event is Event.REQUESTED:
        yield f"round {receipt.round}"
        yield f"{receipt.mode} by {receipt.carrier}"
    if receipt.operation_result is not None:
        yield f"operation's result {receipt.operation_result}"
    if receipt.validation is not None and receipt.event in (Event.REQUESTED, Event.ANSWERED):
        yield _fields(receipt.validation, receipt.event)


def _reasons(receipt: Receipt) -> Iterator[str]:
    if receipt.outcome in _MEANS:
        yield f"{receipt.outcome}: {_MEANS[receipt.outcome]}"
    if receipt.proof is not None:
        yield f"{receipt.proof}: {_PROVED_BY[receipt.proof]}"
    elif receipt.decided_by is not None:
        yield f"{receipt.decided_by}: {_BECAUSE[receipt.decided_by]}"
    for finding in receipt.findings:
        yield f"{finding.name} ({finding.gate}): {SAYS[finding.name]}"


def _fields(validation: Validation, event: Event) -> str:
    if event is Event.REQUESTED:
        return f"fields {validation.requested}, required {validation.required}"
    failed = ", ".join(f"{one.field or 'object'} fails {one.keyword}" for one in validation.failed)
    return f"fields answered {validation.answered}{f', {failed}' if failed else ''}"
