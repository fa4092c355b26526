"""URL questions, and what says that one is complete: a notification, or the server itself.

Sources: MCP 2025-11-25 "Elicitation", ``notifications/elicitation/complete``.
"""

from __future__ import annotations

from typing import Any, Final

from elicitation_receipts.producers.wire.adoption import Adoption
from elicitation_receipts.producers.wire.latest import Latest
from elicitation_receipts.producers.wire.ledger import Ledger
from elicitation_receipts.producers.wire.life import Elicitation
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.peers import Peers
from elicitation_receipts.schemas.vocabulary import (
    FindingName,
    Outcome,
    Presentation,
    Proof,
    ReferenceKind,
)

#: Identifiers remembered per session.
_REMEMBERED: Final = 4_096


class Completions:
    """Pairs completion notifications with URL questions of one session."""

    def __init__(self, ledger: Ledger, adoption: Adoption) -> None:
        self._ledger = ledger
        self._adoption = adoption
        self._expected: Latest[str, Elicitation] = Latest(_REMEMBERED)

    def expect(self, elicitation_id: str, elicitation: Elicitation) -> None:
        """A URL question was put under ``elicitation_id``."""
        self._expected[elicitation_id] = elicitation

    def find(self, elicitation_id: str | None) -> Elicitation | None:
        """The question put under ``elicitation_id``."""
        return None if elicitation_id is None else self._expected.get(elicitation_id)

    def on_notification(self, params: dict[str, Any], peers: Peers, at: Moment) -> None:
        """The server says that a ceremony is complete: once, for a question still running."""
        elicitation_id = params.get("elicitationId")
        if not isinstance(elicitation_id, str):
            self._ledger.note([FindingName.MISSING_ELICITATION_ID], at, peers=peers)
            return
        elicitation = self._expected.get(elicitation_id) or self._adopted(elicitation_id, at)
        if elicitation is None:
            if not self._adoption.midway:
                self._ledger.note([FindingName.UNKNOWN_COMPLETION_ID], at, peers=peers)
        elif elicitation.outcome is Outcome.COMPLETED:
            if elicitation.recorded_complete:
                elicitation.recorded_complete = False  # a second notification is one too many
                return
            self._ledger.note([FindingName.DUPLICATE_COMPLETION], at, elicitation)
        elif not elicitation.is_running:
            # The question has ended: nothing waits for this completion.
            self._ledger.note([FindingName.UNKNOWN_COMPLETION_ID], at, elicitation)
        else:
            self._ledger.complete(elicitation, Proof.SERVER_NOTIFICATION, at)

    def expects(self, question: str) -> bool:
        """Whether a record of ``question`` means one of this session, see :meth:`on_record`."""
        return question in self._expected or bool(self._waiting_with(question))

    def on_record(self, question: str, proof: Proof, peers: Peers, at: Moment) -> None:
        """The server itself has proof. ``question``: the ``elicitationId`` or else the URL.

        From 2026-07-28 on a URL question has no id. A URL that several wait with names none.
        """
        elicitation = self._expected.get(question) or self._adopted(question, at)
        if elicitation is None:
            waiting = self._waiting_with(question)
            elicitation = waiting[0] if len(waiting) == 1 else None
        if elicitation is None or not (
            elicitation.is_running or elicitation.outcome is Outcome.COMPLETED
        ):
            self._ledger.note([FindingName.UNKNOWN_COMPLETION_ID], at, elicitation, peers=peers)
        elif elicitation.is_running:
            self._ledger.complete(elicitation, proof, at)

    def _waiting_with(self, url: str) -> list[Elicitation]:
        return [
            running
            for running in self._ledger.running.values()
            if running.question.presentation is Presentation.URL and running.question.url == url
        ]

    def _adopted(self, elicitation_id: str, at: Moment) -> Elicitation | None:
        for elicitation in self._adoption.find(ReferenceKind.ELICITATION_ID, elicitation_id, at):
            self.expect(elicitation_id, elicitation)
        return self._expected.get(elicitation_id)
