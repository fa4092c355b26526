"""Carrier of 2026-07-28: questions inside an interim result, answers inside the retry.

Sources: MCP 2026-07-28 "Multi round-trip requests" (SEP-2322): ``InputRequiredResult``,
``inputRequests``, ``inputResponses``, ``requestState``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from elicitation_receipts.producers.wire.adoption import Adoption
from elicitation_receipts.producers.wire.answer import Judgement, judge
from elicitation_receipts.producers.wire.ledger import Ledger
from elicitation_receipts.producers.wire.life import Elicitation, Operation
from elicitation_receipts.producers.wire.message import (
    ABSENT,
    Message,
    as_object,
    repeats,
    repeats_anywhere,
)
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.operations import Arrival, Operations
from elicitation_receipts.producers.wire.question import read_question
from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    FindingName,
    Mode,
    Outcome,
    ReferenceKind,
)

#: "Missing required client capability": the client was told before anything could be asked.
MISSING_CAPABILITY: Final = -32021


class RoundTrips:
    """Questions that came in an ``InputRequiredResult``."""

    def __init__(self, ledger: Ledger, operations: Operations, adoption: Adoption) -> None:
        self._ledger = ledger
        self._operations = operations
        self._adoption = adoption

    def on_interim(self, operation: Operation, message: Message, at: Moment) -> None:
        """``resultType: input_required``: each embedded ``elicitation/create`` puts a question."""
        result = as_object(message.members.get("result"))
        requests = as_object(result.get("inputRequests"))
        state = result.get("requestState")
        if not requests and not isinstance(state, str):
            self._ledger.note(
                [FindingName.MALFORMED_MESSAGE], at, operation=operation, peers=operation.peers
            )
        self._operations.issue(operation, state)
        self._adoption.name_keys(operation, requests)
        operation.waiting = Carrier.MULTI_ROUND_TRIP
        operation.asked_keys = set(requests)
        for key, request in requests.items():
            if as_object(request).get("method") != "elicitation/create":
                operation.keys[key] = None
                continue
            findings = [FindingName.BATCH_ARRAY] if message.in_batch else []
            if (
                repeats(message.members)
                or repeats(result)
                or repeats(requests, key)
                or repeats(request)
            ):
                findings.append(FindingName.DUPLICATE_MEMBER)
            operation.keys[key] = self._ask(operation, key, request, state, at, findings)

    def _ask(
        self,
        operation: Operation,
        key: str,
        request: dict[str, Any],
        state: object,
        at: Moment,
        findings: list[FindingName],
    ) -> Elicitation:
        peers = operation.peers
        question = read_question(request.get("params"), peers.revision)
        earlier = operation.keys.get(key)
        same = earlier is not None and self._ledger.recognize(earlier, question)
        protocol_ids = [*operation.protocol_ids, (ReferenceKind.REQUEST_KEY, key)]
        if isinstance(state, str):
            protocol_ids.append((ReferenceKind.REQUEST_STATE, state))
        return self._ledger.ask(
            Carrier.MULTI_ROUND_TRIP,
            question,
            operation,
            peers,
            at,
            protocol_ids=tuple(protocol_ids),
            findings=findings,
            previous=earlier if same else None,
        )

    def on_request(self, arrival: Arrival, message: Message, at: Moment) -> None:
        """An originating request: what it answers, if it is a retry."""
        operation = arrival.operation
        params = message.params
        responses = params.get("inputResponses", ABSENT)
        odd = list(arrival.findings)
        if arrival.candidates:
            for elicitation in _open_questions(arrival.candidates):
                self._ledger.answer(elicitation, Judgement(Outcome.AMBIGUOUS), at, findings=odd)
            return
        if responses is not ABSENT and not isinstance(responses, dict):
            odd.append(FindingName.MALFORMED_MESSAGE)
        answers = as_object(responses)
        self._adoption.name_keys(operation, answers)
        if not arrival.is_nobodys:
            odd.extend(self._unknown_keys(operation, answers))
        repetitions = []
        for key, response in answers.items():
            asked = operation.keys.get(key)
            if asked is None:
                continue
            if not asked.is_open:
                repetitions.append(asked)
                continue
            self._answer(asked, message, key, response, at, odd)
            odd = []
        for elicitation in repetitions:
            self._ledger.note_repetition(elicitation, at, odd)
            odd = []
        if arrival.is_retry and not operation.ended:
            for elicitation in self._left_out(operation, answers):
                self._ledger.note([FindingName.MISSING_RESPONSE, *odd], at, elicitation)
                odd = []
        if odd:
            self._ledger.note(odd, at, operation=operation, peers=operation.peers)

    def _answer(
        self,
        elicitation: Elicitation,
        message: Message,
        key: str,
        response: object,
        at: Moment,
        findings: list[FindingName],
    ) -> None:
        responses = message.params["inputResponses"]
        if repeats(message.members, "id", "method") or repeats(responses, key):
            verdict = Judgement(Outcome.MALFORMED, findings=(FindingName.DUPLICATE_MEMBER,))
        else:
            verdict = judge(elicitation.question, response)
            if repeats_anywhere(response):
                findings = [*findings, FindingName.DUPLICATE_MEMBER]
        request_id = (ReferenceKind.OPERATION_REQUEST_ID, json.dumps(message.id))
        self._ledger.answer(elicitation, verdict, at, findings=findings, protocol_ids=(request_id,))

    @staticmethod
    def _unknown_keys(operation: Operation, answers: dict[str, Any]) -> Iterator[FindingName]:
        if not operation.unseen and any(key not in operation.keys for key in answers):
            yield FindingName.UNKNOWN_RESPONSE_KEY

    @staticmethod
    def _left_out(operation: Operation, answers: dict[str, Any]) -> Iterator[Elicitation]:
        for key in sorted(operation.asked_keys):
            elicitation = operation.keys.get(key)
            if elicitation is not None and elicitation.is_open and key not in answers:
                yield elicitation
        for elicitation in operation.elicitations:
            # Its key is not known: it is none of those answered.
            if elicitation.adopted is not None and elicitation not in operation.keys.values():
                yield elicitation

    def on_missing_capability(self, operation: Operation, message: Message, at: Moment) -> None:
        """-32021: one elicitation for each mode the server would have needed; nobody was asked."""
        data = as_object(as_object(message.members.get("error")).get("data"))
        required = as_object(data.get("requiredCapabilities")).get("elicitation")
        if not isinstance(required, dict):
            return
        modes = [mode for mode in (Mode.FORM, Mode.URL) if mode.value in required]
        for mode in modes or [Mode.FORM]:
            self._ledger.ask_in_vain(mode, operation, operation.peers, at)


def _open_questions(operations: tuple[Operation, ...]) -> list[Elicitation]:
    return [item for operation in operations for item in operation.elicitations if item.is_open]
