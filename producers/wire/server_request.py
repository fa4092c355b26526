"""Carrier of 2025-06-18 and 2025-11-25: the server's own request ``elicitation/create``.

Pairs the client's response with the question by JSON-RPC id *with its type*; a
lenient reading of the id is tried only where nothing else matches, and marked.

Sources: MCP 2025-06-18 and 2025-11-25, "Elicitation"; JSON-RPC 2.0 §4, §5.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from elicitation_receipts.producers.wire.adoption import Adoption
from elicitation_receipts.producers.wire.answer import Judgement, judge
from elicitation_receipts.producers.wire.completions import Completions
from elicitation_receipts.producers.wire.latest import Latest
from elicitation_receipts.producers.wire.ledger import Ledger
from elicitation_receipts.producers.wire.life import Elicitation, Operation, ProtocolIds
from elicitation_receipts.producers.wire.message import (
    Key,
    Message,
    repeats,
    repeats_anywhere,
)
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.peers import Peers
from elicitation_receipts.producers.wire.question import Question, read_question
from elicitation_receipts.producers.wire.task import Tasks
from elicitation_receipts.producers.wire.trace import trace_of
from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    DecidedBy,
    FindingName,
    Outcome,
    ReferenceKind,
)

#: Ids remembered per session: of all the server's requests, and of ended questions.
_REMEMBERED: Final = 65_536
_REMEMBERED_QUESTIONS: Final = 4_096

#: JSON-RPC: invalid request, method not found, invalid params. A client that cannot ask.
_CANNOT_ASK: Final = (-32600, -32601, -32602)
_INVALID_PARAMS: Final = -32602

#: Carriers whose next round may come as a request.
_OURS: Final = (Carrier.SERVER_REQUEST, Carrier.TASK)


class _Put(NamedTuple):
    """One round of a question, as it was put under an id."""

    elicitation: Elicitation
    round: int

    @property
    def is_open(self) -> bool:
        """This round, and no later one, waits for its answer."""
        return self.elicitation.is_open and self.elicitation.round == self.round


class ServerRequests:
    """The server's requests of one session, as far as they are questions."""

    def __init__(
        self, ledger: Ledger, completions: Completions, tasks: Tasks, adoption: Adoption
    ) -> None:
        self._ledger = ledger
        self._completions = completions
        self._tasks = tasks
        self._adoption = adoption
        self._questions: dict[Key, list[_Put]] = {}
        self._others: set[Key] = set()
        self._ended: Latest[Key, list[_Put]] = Latest(_REMEMBERED_QUESTIONS)
        self._used: Latest[Key, None] = Latest(_REMEMBERED)
        #: Answers still due to questions that shared an id: none of them is a second answer.
        self._shared: dict[Key, int] = {}

    def on_other_request(self, message: Message) -> None:
        """A request of the server that is no question: its response is none of ours."""
        if message.has_usable_id:
            self._others.add(message.key)
            self._use(message.key)

    def on_question(
        self,
        message: Message,
        operation: Operation | None,
        peers: Peers,
        at: Moment,
        findings: list[FindingName],
    ) -> None:
        """``elicitation/create``. ``findings``: what the session saw wrong with its coming now."""
        found = list(findings)
        if peers.is_modern:
            found.append(FindingName.RETIRED_CODE)
        if message.in_batch:
            found.append(FindingName.BATCH_ARRAY)
        if repeats(message.members):
            found.append(FindingName.DUPLICATE_MEMBER)
        question = read_question(message.members.get("params"), peers.revision)
        key = message.key
        carrier = Carrier.SERVER_REQUEST
        if operation is not None and operation is self._tasks.operation_of(message.params, at):
            carrier = Carrier.TASK
            if (waiting := self._waiting_in_task(question, operation)) is not None:
                # Fetched again under a new id while unanswered: the same question.
                self._await(key, message, waiting)
                return
        if any(self._ledger.recognize(orphan, question) for orphan in self._adopt(key, at)):
            return  # what an earlier watcher saw delivered is delivered again
        protocol_ids = self._protocol_ids(message, question, operation)
        if not message.has_usable_id:
            found.append(FindingName.MALFORMED_MESSAGE)
        elif self._is_duplicate(key, peers):
            found.append(FindingName.DUPLICATE_ID)
        elicitation = self._ledger.ask(
            carrier,
            question,
            operation,
            peers,
            at,
            protocol_ids=protocol_ids,
            findings=found,
            previous=self._earlier_round(question, operation),
            trace=trace_of(message.params),
        )
        self._await(key, message, elicitation)
        if elicitation.stopped is not None:
            self._end(key)  # it has its answer, from us
        if question.elicitation_id is not None:
            self._completions.expect(question.elicitation_id, elicitation)

    def on_repeated(self, key: Key) -> None:
        """A question is delivered once more: what stopped it stops it again."""
        for put in self._ended.get(key, ()):
            self._ledger.stop_again(put.elicitation)

    def is_stopped(self, key: Key) -> bool:
        """Whether policy stopped the question put under ``key``."""
        return any(put.elicitation.stopped is not None for put in self._ended.get(key, ()))

    def _await(self, key: Key, message: Message, elicitation: Elicitation) -> None:
        if message.has_usable_id:
            self._expect(key, elicitation)

    def _expect(self, key: Key, elicitation: Elicitation) -> None:
        put = _Put(elicitation, elicitation.round)
        puts = self._questions.setdefault(key, [])
        if put not in puts:  # it may be fetched again under the id it had
            puts.append(put)
        self._use(key)

    def _adopt(self, key: Key, at: Moment) -> list[Elicitation]:
        """The questions an earlier watcher saw put under an id, waiting from here on."""
        orphans = self._adoption.requested_by(ReferenceKind.QUESTION_ID, key, at)
        for orphan in orphans:
            self._expect(key, orphan)
        return orphans

    def _waiting_in_task(self, question: Question, operation: Operation) -> Elicitation | None:
        digest = self._ledger.digest(question)
        for elicitation in operation.elicitations:
            if elicitation.is_open and digest is not None and elicitation.digest == digest:
                return elicitation
        return None

    def on_response(self, message: Message, peers: Peers, at: Moment) -> None:
        """A response of the client."""
        key = message.key
        if message.in_batch:
            # An answer inside an array is not paired: no revision in use has batches.
            self._ledger.note([FindingName.BATCH_ARRAY], at, peers=peers)
            return
        if self._tasks.on_client_response(message, at):
            self._others.discard(key)
        elif key in self._questions:
            self._settle(key, message, at, lenient=False)
        elif key in self._others:
            self._others.discard(key)
        elif key in self._ended:
            self._answered_before(key, message, at)
        elif self._adopt(key, at):
            self._settle(key, message, at, lenient=False)
        elif (meant := self._lenient(message.id)) is not None:
            self._settle(meant, message, at, lenient=True)
        elif self._adoption.midway:
            pass  # it may answer what was asked before
        elif "error" not in message.members or message.members.get("id") is not None:
            # `id: null` in an error response is what JSON-RPC prescribes for an unreadable request.
            self._ledger.note([FindingName.UNKNOWN_RESPONSE_ID], at, peers=peers)

    def reopen(self, elicitation: Elicitation) -> None:
        """Its answer was not delivered: another one to the same id is expected."""
        put = _Put(elicitation, elicitation.round)
        for key, ended in list(self._ended.items()):
            if put in ended:
                del self._ended[key]
                self._questions.setdefault(key, []).append(put)

    def on_cancelled(self, key: Key, at: Moment) -> None:
        """The server cancels its own question. After an answer that changes nothing."""
        self._adopt(key, at)
        for put in self._questions.get(key, []):
            if put.is_open:
                elicitation = put.elicitation
                self._ledger.refuse(elicitation, Outcome.WITHDRAWN, DecidedBy.RUNTIME, at)
        self._end(key)

    def _settle(self, key: Key, message: Message, at: Moment, *, lenient: bool) -> None:
        waiting = [put.elicitation for put in self._questions[key] if put.is_open]
        if len(waiting) > 1:
            for elicitation in waiting:
                self._ledger.answer(elicitation, Judgement(Outcome.AMBIGUOUS), at)
            self._shared[key] = len(waiting) - 1
        elif waiting:
            self._pair(waiting[0], message, at, lenient=lenient)
        else:
            self._end(key)
            self._answered_before(key, message, at)
        self._end(key)

    def _pair(
        self, elicitation: Elicitation, message: Message, at: Moment, *, lenient: bool
    ) -> None:
        found = [FindingName.ID_NOT_VERBATIM] if lenient else []
        members = message.members
        if repeats(members, "id", "method", "result", "error"):
            verdict = Judgement(Outcome.MALFORMED, findings=(FindingName.DUPLICATE_MEMBER,))
        elif "result" in members and "error" in members:
            verdict = Judgement(Outcome.MALFORMED, findings=(FindingName.MALFORMED_MESSAGE,))
        elif "error" in members:
            self._refuse(elicitation, message, at, found)
            return
        elif self._tasks.taken_over(elicitation, members.get("result")):
            return
        else:
            verdict = judge(elicitation.question, members.get("result"))
            if repeats_anywhere(members):
                found.append(FindingName.DUPLICATE_MEMBER)
        self._ledger.answer(elicitation, verdict, at, findings=found, lenient=lenient)

    def _refuse(
        self, elicitation: Elicitation, message: Message, at: Moment, found: list[FindingName]
    ) -> None:
        question = elicitation.question
        declared = elicitation.peers.declares(question.mode)
        if declared and not question.is_defective:
            found.append(FindingName.ERROR_ANSWER)
        blames_question = message.error_code == _INVALID_PARAMS and question.is_defective
        cannot_ask = message.error_code in _CANNOT_ASK and not blames_question
        outcome = Outcome.UNSUPPORTED if cannot_ask or not declared else Outcome.ERRORED
        self._ledger.refuse(elicitation, outcome, DecidedBy.RUNTIME, at, found)

    def _answered_before(self, key: Key, message: Message, at: Moment) -> None:
        if "result" not in message.members:
            return  # an error to a question that is over (a cancelled one, say) answers nothing
        if self._shared.get(key, 0) > 0:
            self._shared[key] -= 1
            return
        for put in self._ended.get(key, []):
            self._ledger.note_repetition(put.elicitation, at, round_=put.round)

    def _lenient(self, value: object) -> Key | None:
        """The one outstanding id that is the same integer but for type, padding or sign."""
        number = _as_integer(value)
        if number is None:
            return None
        outstanding = [*self._questions, *self._others]
        same = [key for key in outstanding if _as_integer(key[1]) == number]
        return same[0] if len(same) == 1 and same[0] in self._questions else None

    def _earlier_round(self, question: Question, operation: Operation | None) -> Elicitation | None:
        """The elicitation this question is the next round of, if it is one."""
        if operation is None:
            return None
        digest = self._ledger.digest(question)
        for elicitation in reversed(operation.elicitations):
            if elicitation.carrier is Carrier.URL_REQUIRED_ERROR and (
                elicitation is self._completions.find(question.elicitation_id)
                or (digest is not None and elicitation.digest == digest)
            ):
                return elicitation  # the retry after -32042 is met by the same question
            if elicitation.carrier not in _OURS or elicitation.is_running:
                continue
            if digest is not None and elicitation.digest == digest:
                return elicitation
            if (
                elicitation.outcome is Outcome.INVALID
                and elicitation is operation.elicitations[-1]
                and elicitation.question.shape == question.shape
            ):
                return elicitation
        return None

    def _is_duplicate(self, key: Key, peers: Peers) -> bool:
        if peers.is_modern:
            return key in self._questions or key in self._others
        return key in self._used

    def _use(self, key: Key) -> None:
        self._used[key] = None

    def _end(self, key: Key) -> None:
        puts = self._questions.pop(key, None)
        if puts is None:
            return
        self._ended[key] = puts

    @staticmethod
    def _protocol_ids(
        message: Message, question: Question, operation: Operation | None
    ) -> ProtocolIds:
        found = []
        if message.has_usable_id:
            found.append((ReferenceKind.QUESTION_ID, json.dumps(message.id)))
        if question.elicitation_id is not None:
            found.append((ReferenceKind.ELICITATION_ID, question.elicitation_id))
        if operation is not None:
            found.extend(operation.protocol_ids)
        return tuple(found)


def _as_integer(value: object) -> int | None:
    """The integer an id means to a lenient reader, without its sign: ``7``, ``"007"``, ``7.0``."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return abs(number) if isinstance(value, str) or number == value else None
