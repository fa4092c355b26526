"""Carrier of 2025-11-25: error -32042, "URL elicitation required", and the client's retry.

Nothing on the wire answers it: the client's consent shows in its retry, the
completion in the retry's success.

Sources: MCP 2025-11-25 "Elicitation", URL elicitation required error; the code is
retired in 2026-07-28.
"""

from __future__ import annotations

from typing import Final

from elicitation_receipts.producers.wire.completions import Completions
from elicitation_receipts.producers.wire.ledger import Ledger
from elicitation_receipts.producers.wire.life import Elicitation, Operation
from elicitation_receipts.producers.wire.message import Message, as_object
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.question import Question, read_question
from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    FindingName,
    OperationResult,
    ReferenceKind,
)

CODE: Final = -32042


class UrlRequired:
    """Questions that came as an error."""

    def __init__(self, ledger: Ledger, completions: Completions) -> None:
        self._ledger = ledger
        self._completions = completions

    def on_error(self, operation: Operation, message: Message, at: Moment) -> bool:
        """Record each entry. False where there is none: then it is an error like any other."""
        data = as_object(as_object(message.members.get("error")).get("data"))
        entries = data.get("elicitations")
        if not isinstance(entries, list) or not entries:
            return False
        peers = operation.peers
        findings = [FindingName.RETIRED_CODE] if peers.is_modern else []
        if message.in_batch:
            findings.append(FindingName.BATCH_ARRAY)
        for entry in entries:
            question = read_question(entry, peers.revision)
            protocol_ids = [*operation.protocol_ids]
            if question.elicitation_id is not None:
                protocol_ids.append((ReferenceKind.ELICITATION_ID, question.elicitation_id))
            elicitation = self._ledger.ask(
                Carrier.URL_REQUIRED_ERROR,
                question,
                operation,
                peers,
                at,
                protocol_ids=tuple(protocol_ids),
                findings=findings,
                previous=self._earlier_round(operation, question),
            )
            if question.elicitation_id is not None:
                self._completions.expect(question.elicitation_id, elicitation)
        operation.waiting = Carrier.URL_REQUIRED_ERROR
        return True

    @staticmethod
    def survives(operation: Operation, result: OperationResult) -> bool:
        """Whether a retry that fails leaves a question of ours open: the next may succeed."""
        return result is not OperationResult.SUCCESS and any(
            elicitation.carrier is Carrier.URL_REQUIRED_ERROR and elicitation.is_open
            for elicitation in operation.elicitations
        )

    def _earlier_round(self, operation: Operation, question: Question) -> Elicitation | None:
        digest = self._ledger.digest(question)
        for elicitation in operation.elicitations:
            if elicitation.carrier is not Carrier.URL_REQUIRED_ERROR:
                continue
            same_id = elicitation is self._completions.find(question.elicitation_id)
            if same_id or (digest is not None and elicitation.digest == digest):
                return elicitation
        return None
