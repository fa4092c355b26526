"""What happens to an elicitation: the table of outcomes, one step at a time.

Carriers decide *which* elicitation a message belongs to and call a step here; every
step has one receipt written. Who decided, what is terminal, what is a finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from elicitation_receipts.producers.policy import Policy, Rules
from elicitation_receipts.producers.policy.words import Enforcement, FieldNames
from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.screening.screen import Context, screen_question
from elicitation_receipts.producers.wire.answer import Judgement
from elicitation_receipts.producers.wire.latest import Latest
from elicitation_receipts.producers.wire.leak import holds, texts_of
from elicitation_receipts.producers.wire.life import Elicitation, Operation, ProtocolIds
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.peers import Peers
from elicitation_receipts.producers.wire.question import Question
from elicitation_receipts.producers.wire.refusal import Refusal, blocked
from elicitation_receipts.producers.wire.scribe import Post, Scribe
from elicitation_receipts.producers.wire.trace import Trace
from elicitation_receipts.schemas.receipt import Keyed, Receipt, Validation
from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    DecidedBy,
    Decision,
    Event,
    FindingName,
    Mode,
    OperationResult,
    Outcome,
    Presentation,
    Proof,
    Vantage,
)

#: Equal questions remembered per session, to notice one asked again.
_REMEMBERED = 1_024

_REFUSALS = (Outcome.DECLINED, Outcome.CANCELLED)
#: Ended before or without an answer: one that comes now comes too late.
_ENDED_UNANSWERED = (Outcome.WITHDRAWN, Outcome.EXPIRED, Outcome.ABANDONED, Outcome.UNPROVEN)
#: What only the server itself can say.
_OWN_PROOFS = (Proof.STATUS_CHECK, Proof.AUTHENTICATED_CALLBACK)
#: Ended by silence: the operation going on later resumes nothing.
_NOT_RESUMED = (Outcome.ABANDONED, Outcome.UNPROVEN)


class Ledger:
    """Takes the steps of one session's elicitations and has each written."""

    def __init__(self, redactor: Redactor, post: Post, session: str) -> None:
        self.policy = post.policy
        self.redactor = redactor
        #: Whom the answers taken in since it was last emptied belong to.
        self.answered: list[Elicitation] = []
        #: What has been asked since it was last emptied.
        self.asked: list[Elicitation] = []
        #: Why what was taken in last may not go on; None: it may.
        self.stopped: Refusal | None = None
        #: Every elicitation still waiting for its answer or its proof, oldest first.
        self.running: dict[UUID, Elicitation] = {}
        self._is_replay = post.vantage is Vantage.REPLAY
        self._scribe = Scribe(redactor, post, session)
        self._recent: Latest[tuple[str | None, bytes], tuple[Outcome, Moment]] = Latest(_REMEMBERED)

    def use_policy(self, policy: Policy) -> None:
        """From now on judge by ``policy``."""
        self.policy = policy
        self._scribe.use_policy(policy)

    def take(self) -> list[Receipt]:
        """The receipts written since the last call, in order."""
        return self._scribe.take()

    @property
    def session_ref(self) -> Keyed:
        """What stands for the session on its receipts."""
        return self.redactor.session(self._scribe.session)

    @property
    def subject(self) -> Keyed | None:
        """Whom the server has authenticated, as far as anybody said."""
        return self._scribe.subject

    def rename(self, session: str) -> None:
        """The session has got its name."""
        self._scribe.session = session

    def identify(self, subject: str | None) -> None:
        """The server has authenticated whom it talks to: a reference stands on what follows.

        None: nobody says who it is.
        """
        self._scribe.subject = None if subject is None else self.redactor.subject(subject)

    # Steps in the life of an elicitation

    def ask(
        self,
        carrier: Carrier,
        question: Question,
        operation: Operation | None,
        peers: Peers,
        at: Moment,
        *,
        protocol_ids: ProtocolIds = (),
        findings: Sequence[FindingName] = (),
        previous: Elicitation | None = None,
        trace: Trace | None = None,
    ) -> Elicitation:
        """A question reaches the client. ``previous``: it is this elicitation's next round."""
        found = [*question.findings, *findings]
        rules = self._rules(operation)
        mode = Mode.TASK_INPUT if carrier is Carrier.TASK else question.mode
        ttl_s = self.policy.ttl.of(mode)
        deadline = None if ttl_s is None else at.wall_us + ttl_s * 1_000_000
        if not peers.declares(question.mode) and question.mode is not Mode.UNKNOWN:
            found.append(FindingName.MODE_NOT_DECLARED)
        digest = self.digest(question)
        if previous is None:
            elicitation = Elicitation(
                id=self.redactor.new_id(),
                carrier=carrier,
                operation=operation,
                peers=peers,
                question=question,
                rules=rules,
                digest=digest,
                asked_at=at,
                last_at=at,
                protocol_ids=protocol_ids,
                deadline=deadline,
                task=operation.task if operation else None,
                trace=trace or (operation.trace if operation else None),
                subject=self._scribe.subject,
            )
            if operation is not None:
                operation.elicitations.append(elicitation)
            found.extend(self._asked_again(elicitation, at))
            self._put(elicitation, found, at, first=True)
            return elicitation
        found.extend(self._asked_after(previous.outcome))
        previous.past[previous.round] = (previous.outcome, previous.attempt)
        previous.round += 1
        previous.carrier = carrier
        previous.attempt = 0
        previous.outcome = Outcome.OPEN
        previous.question = question
        previous.rules = rules
        previous.deadline = deadline
        previous.digest = digest
        previous.asked_at = at
        previous.peers = peers
        previous.subject = self._scribe.subject
        previous.protocol_ids = protocol_ids
        previous.adopted = None
        if previous.round >= self.policy.thresholds.reask_loop_round:
            found.append(FindingName.REASK_LOOP)
        self._put(previous, found, at, first=False)
        return previous

    def ask_in_vain(self, mode: Mode, operation: Operation, peers: Peers, at: Moment) -> None:
        """A client without ``mode`` was told so before anything could be asked (-32021).

        Of the question nothing is known but its mode.
        """
        elicitation = Elicitation(
            id=self.redactor.new_id(),
            carrier=Carrier.MULTI_ROUND_TRIP,
            operation=operation,
            peers=peers,
            question=Question(mode, Presentation(mode.value), "", None, None, None, ()),
            rules=self._rules(operation),
            digest=None,
            asked_at=at,
            last_at=at,
            question_seen=False,
        )
        self._write(
            Event.REQUESTED,
            elicitation,
            at,
            first=True,
            outcome=Outcome.OPEN,
            decision=Decision.NOT_EVALUATED,
        )
        self.refuse(elicitation, Outcome.UNSUPPORTED, DecidedBy.RUNTIME, at)

    def _put(
        self, elicitation: Elicitation, findings: Sequence[FindingName], at: Moment, *, first: bool
    ) -> None:
        """Policy judges the question, and where it enforces stops one before it is put."""
        question, operation = elicitation.question, elicitation.operation
        context = Context(
            method=operation.method if operation else None,
            name=operation.name if operation else None,
            mode=elicitation.mode,
        )
        screened = screen_question(question, findings, self.policy, context)
        self.asked.append(elicitation)
        self._write(
            Event.REQUESTED,
            elicitation,
            at,
            screened.findings,
            first=first,
            outcome=Outcome.OPEN,
            decision=screened.decision,
            derive=lambda _: {"validation": self._validation(question)},
        )
        if screened.blocking and self._enforces:
            elicitation.stopped = blocked(screened.blocking, self.policy, elicitation.rules)
            self.stopped = elicitation.stopped
            self.refuse(
                elicitation, Outcome.BLOCKED, DecidedBy.POLICY, at, findings=screened.blocking
            )

    @property
    def _enforces(self) -> bool:
        # What was recorded has gone on already.
        return self.policy.enforcement is Enforcement.ENFORCE and not self._is_replay

    def stop_asked(self, at: Moment) -> None:
        """The message that asked does not go on: nothing else in it is put either."""
        for elicitation in self.asked:
            if elicitation.is_open:
                elicitation.stopped = self.stopped
                self.refuse(elicitation, Outcome.BLOCKED, DecidedBy.POLICY, at)

    def stop_again(self, elicitation: Elicitation) -> None:
        """The question comes once more, as it was: it is stopped as before, or not at all."""
        self.stopped = self.stopped or elicitation.stopped

    def answer(
        self,
        elicitation: Elicitation,
        judgement: Judgement,
        at: Moment,
        *,
        findings: Sequence[FindingName] = (),
        lenient: bool = False,
        protocol_ids: ProtocolIds = (),
    ) -> None:
        """An answer arrived. ``lenient``: paired only by a lenient reading of its id."""
        found = [*judgement.findings, *findings]
        if elicitation.subject not in (None, self._scribe.subject):
            found.append(FindingName.IDENTITY_MISMATCH)
        decided_by = DecidedBy.PERSON_CLAIMED
        if lenient or judgement.outcome in (Outcome.MALFORMED, Outcome.AMBIGUOUS):
            decided_by = DecidedBy.UNKNOWN
        elif at.since(elicitation.asked_at) < self.policy.thresholds.automatic_below_ms * 1_000:
            decided_by = DecidedBy.AUTOMATIC_SUSPECTED
            found.append(FindingName.IMPLAUSIBLE_LATENCY)
        elicitation.attempt += 1
        elicitation.outcome = judgement.outcome
        self.answered.append(elicitation)
        self._remember(elicitation, at)
        elicitation.submitted.update(texts_of(judgement.content))
        self._write(
            Event.ANSWERED,
            elicitation,
            at,
            found,
            outcome=judgement.outcome,
            action=judgement.action,
            decided_by=decided_by,
            more_ids=protocol_ids,
            derive=lambda receipt_id: {
                "validation": self._validation(elicitation.question, judgement),
                "payload_digest": (
                    self.redactor.payload(receipt_id, judgement.content)
                    if judgement.content is not None
                    else None
                ),
            },
        )

    def _validation(
        self, question: Question, judgement: Judgement | None = None
    ) -> Validation | None:
        if judgement is not None and judgement.fault:
            raise ValueError("the answer could not be judged")
        return self.redactor.validation(
            question,
            judgement.answered if judgement else 0,
            judgement.failed if judgement else (),
            ordinals=self.policy.field_names is FieldNames.ORDINAL,
        )

    def undo_answer(self, elicitation: Elicitation, at: Moment) -> None:
        """The answer did not reach the server: the round is open again."""
        elicitation.outcome = Outcome.OPEN
        self._write(
            Event.NOTED,
            elicitation,
            at,
            [FindingName.ANSWER_NOT_DELIVERED],
            outcome=Outcome.OPEN,
        )

    def refuse(
        self,
        elicitation: Elicitation,
        outcome: Outcome,
        decided_by: DecidedBy,
        at: Moment,
        findings: Sequence[FindingName] = (),
    ) -> None:
        """Stopped before a person could answer."""
        elicitation.outcome = outcome
        self._write(
            Event.REFUSED, elicitation, at, findings, outcome=outcome, decided_by=decided_by
        )

    def complete(self, elicitation: Elicitation, proof: Proof, at: Moment) -> None:
        """A URL ceremony was shown to be complete, if the policy accepts the proof."""
        if not elicitation.rules.accepts(proof):
            self.note([FindingName.PROOF_INSUFFICIENT], at, elicitation)
            return
        elicitation.outcome = Outcome.COMPLETED
        elicitation.recorded_complete = proof in _OWN_PROOFS
        self._write(
            Event.COMPLETED,
            elicitation,
            at,
            outcome=Outcome.COMPLETED,
            decided_by=DecidedBy.RUNTIME,
            proof=proof,
        )

    def abandon(
        self,
        elicitation: Elicitation,
        at: Moment,
        *,
        findings: Sequence[FindingName] = (),
        operation_result: OperationResult | None = None,
    ) -> None:
        """A running question ends without an answer, or its consent without a proof."""
        found = list(findings)
        if elicitation.outcome is Outcome.CONSENTED:
            outcome = Outcome.UNPROVEN
        else:
            outcome = Outcome.ABANDONED
            if _went_unanswered(elicitation):
                found.append(FindingName.UNANSWERED)
        elicitation.outcome = outcome
        self._write(
            Event.ABANDONED,
            elicitation,
            at,
            found,
            outcome=outcome,
            decided_by=DecidedBy.RUNTIME,
            operation_result=operation_result,
        )

    def expire(self, elicitation: Elicitation, at: Moment) -> None:
        """The time its task or the policy gave ran out."""
        found = [FindingName.TASK_EXPIRED] if elicitation.task else []
        if _went_unanswered(elicitation):
            found.append(FindingName.UNANSWERED)
        elicitation.outcome = Outcome.EXPIRED
        self._write(
            Event.EXPIRED,
            elicitation,
            at,
            found,
            outcome=Outcome.EXPIRED,
            decided_by=DecidedBy.RUNTIME,
        )

    def note_repetition(
        self,
        elicitation: Elicitation,
        at: Moment,
        findings: Sequence[FindingName] = (),
        round_: int | None = None,
    ) -> None:
        """An answer to a round that has had one, or has ended: a finding, never an outcome.

        ``round_``: the round it answers, where that is not the last.
        """
        number = round_ or elicitation.round
        outcome, attempt = elicitation.past.get(number, (elicitation.outcome, elicitation.attempt))
        attempt += 1
        if number in elicitation.past:
            elicitation.past[number] = (outcome, attempt)
        else:
            elicitation.attempt = attempt
        over = elicitation.operation is not None and elicitation.operation.ended
        over = over or outcome in _ENDED_UNANSWERED
        name = FindingName.ANSWER_AFTER_END if over else FindingName.DUPLICATE_ANSWER
        self._write(Event.NOTED, elicitation, at, [name, *findings], round=number, attempt=attempt)

    def note(
        self,
        findings: Sequence[FindingName],
        at: Moment,
        elicitation: Elicitation | None = None,
        *,
        operation: Operation | None = None,
        peers: Peers | None = None,
    ) -> None:
        """A finding without an event of its own."""
        if elicitation is not None:
            self._write(Event.NOTED, elicitation, at, findings)
        else:
            self._scribe.stray(findings, at, operation, peers or Peers())

    def finish(
        self, operation: Operation, result: OperationResult, members: object, at: Moment
    ) -> None:
        """The operation delivers its final result: what was asked in it resumes or is abandoned.

        ``members``: the result or error itself, searched for submitted values where it is an error.
        """
        operation.ended = True
        operation.waiting = None
        for elicitation in operation.elicitations:
            findings = []
            if result is not OperationResult.SUCCESS and holds(members, elicitation.submitted):
                findings.append(FindingName.VALUE_LEAKED_IN_ERROR)
            elicitation.submitted.clear()
            if self._proved_by(elicitation, result):
                self.complete(elicitation, Proof.OPERATION_RESULT, at)
            elif elicitation.is_open:
                findings.append(FindingName.RESUME_WITHOUT_ANSWER)
                self.abandon(elicitation, at, findings=findings, operation_result=result)
            if elicitation.outcome not in _NOT_RESUMED:
                self._write(Event.RESUMED, elicitation, at, findings, operation_result=result)
            # Remembered for a while, to know what comes too late: without its weight.
            elicitation.question = elicitation.question.forget()

    @staticmethod
    def _proved_by(elicitation: Elicitation, result: OperationResult) -> bool:
        """Whether a final result proves a URL ceremony: only where the client retried for it."""
        if result is not OperationResult.SUCCESS or elicitation.question.mode is not Mode.URL:
            return False
        if elicitation.carrier is Carrier.MULTI_ROUND_TRIP:
            return elicitation.outcome is Outcome.CONSENTED
        # The client shows its consent to a -32042 by nothing but the retry.
        return elicitation.carrier is Carrier.URL_REQUIRED_ERROR and elicitation.is_running

    def retract(self, elicitation_id: UUID) -> None:
        """The question never reached the client and its receipt was never written."""
        elicitation = self.running.pop(elicitation_id, None)
        if elicitation is None:
            return
        elicitation.outcome = Outcome.BLOCKED
        if elicitation.operation is not None:
            elicitation.operation.elicitations.remove(elicitation)

    def _rules(self, operation: Operation | None) -> Rules:
        """The rules of the policy in force for an operation, as far as it is known."""
        if operation is None:
            return self.policy.defaults
        return self.policy.rules_for(operation.method, operation.name)

    # What an operation or a question is known by

    def digest(self, question: Question) -> Keyed | None:
        """The question's keyed digest; None where it has none, and none can be had."""
        if question.fault:
            return None
        try:
            return self.redactor.question(question)
        except Exception:  # noqa: BLE001  a question that cannot be digested is still recorded
            return None

    def recognize(self, elicitation: Elicitation, question: Question) -> bool:
        """Whether ``question`` is what ``elicitation`` asked last, or its next round may ask.

        Of one that an earlier watcher saw, only a question equal to the letter is known to be.
        """
        if elicitation.question.is_known:
            return elicitation.question.shape == question.shape
        digest = self.digest(question)
        if digest is None or digest != elicitation.digest:
            return False
        elicitation.question = question
        return True

    # Asked again?

    def _asked_after(self, outcome: Outcome) -> list[FindingName]:
        if outcome in _REFUSALS:
            return [FindingName.REASK_AFTER_REFUSAL]
        if outcome is Outcome.ACCEPTED:
            return [FindingName.REASK_AFTER_ACCEPT]
        return []

    def _asked_again(self, elicitation: Elicitation, at: Moment) -> list[FindingName]:
        """An equal question from the same tool, in this session, within the policy's window."""
        earlier = self._recent.get(_recent_key(elicitation))
        if earlier is None or elicitation.digest is None:
            return []
        outcome, then = earlier
        if at.since(then) > self.policy.thresholds.reask_window_s * 1_000_000:
            return []
        return self._asked_after(outcome)

    def _remember(self, elicitation: Elicitation, at: Moment) -> None:
        key = _recent_key(elicitation)
        self._recent.pop(key, None)
        self._recent[key] = (elicitation.outcome, at)

    def _write(
        self,
        event: Event,
        elicitation: Elicitation,
        at: Moment,
        findings: Iterable[FindingName] = (),
        **stated: Any,
    ) -> None:
        """Have the step written that ``elicitation`` has just taken, see :meth:`Scribe.write`."""
        if elicitation.is_running:
            self.running[elicitation.id] = elicitation
        else:
            self.running.pop(elicitation.id, None)
        self._scribe.write(event, elicitation, at, findings, **stated)


def _went_unanswered(elicitation: Elicitation) -> bool:
    # An answer to an adopted question may have passed while nobody watched.
    return elicitation.attempt == 0 and elicitation.adopted is None


def _recent_key(elicitation: Elicitation) -> tuple[str | None, bytes]:
    tool = elicitation.operation.name if elicitation.operation else None
    return tool, elicitation.digest.value if elicitation.digest else b""
