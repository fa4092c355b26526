"""The things a watcher follows: an operation, and the elicitations within it.

State only; the rules that change it stand in ``ledger`` (what happens to an
elicitation) and in the carriers (which message belongs to which).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from uuid import UUID

from elicitation_receipts.producers.policy import Rules
from elicitation_receipts.producers.wire.message import ABSENT, Key
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.peers import Peers
from elicitation_receipts.producers.wire.question import Question
from elicitation_receipts.producers.wire.refusal import Refusal
from elicitation_receipts.producers.wire.trace import Trace
from elicitation_receipts.schemas.receipt import Keyed, Receipt
from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    Mode,
    Outcome,
    ReferenceKind,
    TaskStatus,
)

#: Outcomes after which a round may still get its answer or its proof.
_RUNNING = (Outcome.OPEN, Outcome.CONSENTED)


@dataclass(slots=True)
class TaskState:
    """A task as last seen. ``expires_at``: UTC microseconds, None where it does not expire."""

    id: str
    status: TaskStatus = TaskStatus.WORKING
    expires_at: int | None = None
    #: Version of the state the server saved for it last, None where it said nothing.
    checkpoint: int | None = None


#: Ids from the wire, by kind. Memory only: a receipt holds keyed references to them.
ProtocolIds = tuple[tuple[ReferenceKind, str], ...]


@dataclass(slots=True, eq=False)
class Elicitation:
    """One question within one operation, through all its rounds."""

    id: UUID
    carrier: Carrier
    operation: Operation | None
    peers: Peers
    question: Question
    #: The policy's rules for the operation, as they were when the round began.
    rules: Rules
    digest: Keyed | None
    asked_at: Moment
    last_at: Moment
    protocol_ids: ProtocolIds = ()
    outcome: Outcome = Outcome.OPEN
    round: int = 1
    attempt: int = 0
    #: When the policy's time for this round is over, in UTC microseconds; None: never.
    deadline: int | None = None
    #: How the rounds before ended, and how many answers each had: a late one may still come.
    past: dict[int, tuple[Outcome, int]] = field(default_factory=dict)
    #: The task that carries it, and the task's status on the receipt before.
    task: TaskState | None = None
    last_status: TaskStatus | None = None
    #: The trace its request named, else that of its operation.
    trace: Trace | None = None
    #: Whom the server had authenticated when the question was put; None: it said nothing.
    subject: Keyed | None = None
    #: Completed by the server's own record: the notification that follows tells nothing new.
    recorded_complete: bool = False
    #: Why policy stopped it; None: it did not.
    stopped: Refusal | None = None
    #: False where only its refusal was seen (-32021): there is no text to digest.
    question_seen: bool = True
    #: Texts of what was submitted, to notice one in an error. Memory only.
    submitted: set[str] = field(default_factory=set)
    #: The newest receipt an earlier watcher wrote of this round; None: it was put before us.
    adopted: Receipt | None = None

    @property
    def mode(self) -> Mode:
        """The policy's word: a question a task carries is task input, whatever it looks like."""
        return Mode.TASK_INPUT if self.carrier is Carrier.TASK else self.question.mode

    @property
    def expires_at(self) -> int | None:
        """When the time that policy or task gave runs out, in UTC microseconds."""
        given = (self.deadline, self.task.expires_at if self.task else None)
        return min((at for at in given if at is not None), default=None)

    @property
    def is_open(self) -> bool:
        """Waiting for an answer."""
        return self.outcome is Outcome.OPEN

    @property
    def is_running(self) -> bool:
        """Waiting for an answer or, after consent, for its proof."""
        return self.outcome in _RUNNING

    @property
    def waits_for_the_client(self) -> bool:
        """Running, and no connection will say that nothing more comes: a time limit does."""
        if self.carrier is Carrier.SERVER_REQUEST or not self.is_running:
            return False
        return self.operation is None or not self.operation.is_in_flight


@dataclass(slots=True, eq=False)
class Operation:
    """One originating client request with all its retries.

    ``arguments`` is the canonical form of method, name and arguments, as a digest:
    two requests with equal ones may be the same operation. ``method`` None, ``request_id``
    absent: its request was not seen.
    """

    id: UUID
    method: str | None
    name: str | None
    arguments: bytes
    request_id: object
    started_at: Moment
    peers: Peers
    elicitations: list[Elicitation] = field(default_factory=list)
    #: Carrier of the interim result the operation waits on; None: no interim result.
    waiting: Carrier | None = None
    waiting_since: Moment | None = None
    #: The JSON-RPC ids of its earlier requests, with their types.
    earlier_ids: set[Key] = field(default_factory=set)
    #: Digests of the `requestState`s issued; the value says whether each was used since.
    states: dict[bytes, bool] = field(default_factory=dict)
    #: The state of the last interim result, None where it had none.
    current_state: bytes | None = None
    #: `inputRequests` keys, ours and other kinds: elicitation or None.
    keys: dict[str, Elicitation | None] = field(default_factory=dict)
    #: The keys of the last interim result.
    asked_keys: set[str] = field(default_factory=set)
    #: The task it goes on as, where the server made it one.
    task: TaskState | None = None
    trace: Trace | None = None
    #: It began before we watched: not all that was asked in it is known.
    unseen: bool = False
    ended: bool = False

    @property
    def protocol_ids(self) -> ProtocolIds:
        """What a question asked in it can be found by, beside its own ids."""
        found = []
        if self.request_id is not ABSENT:
            found.append((ReferenceKind.OPERATION_REQUEST_ID, json.dumps(self.request_id)))
        if self.task is not None:
            found.append((ReferenceKind.TASK_ID, self.task.id))
        return tuple(found)

    @property
    def is_in_flight(self) -> bool:
        """Its request, or the last retry of it, has no response yet."""
        return not self.ended and self.waiting is None
