"""A watcher: the pure core of a session, a clock, and the sealer its receipts go through.

A message that leaves receipts goes on once they are durable; any other goes on at
once. One direction never waits for the other's disk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.producers.record import Recorded, Recorder
from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.seal import Sealer
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.refusal import not_written, refuse
from elicitation_receipts.producers.wire.scribe import Post
from elicitation_receipts.producers.wire.session import Session
from elicitation_receipts.producers.wire.stamp import stamp
from elicitation_receipts.schemas.vocabulary import Proof

Passage = list[tuple[Direction, bytes]]


class Watcher:
    """Watches one connection. Safe for one thread a direction, and any number for the rest.

    ``renewed``, asked about once a second, gives the policy that takes the place of the one before.
    ``say`` is told of questions that a policy warns of.
    """

    def __init__(
        self,
        redactor: Redactor,
        post: Post,
        name: str,
        sealer: Sealer,
        recorded: Recorded | None = None,
        renewed: Callable[[], Policy | None] = lambda: None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._renewed = renewed
        self._post = post
        self._session = Session(redactor, post, name)
        self._recorder = Recorder(redactor, sealer, recorded, say)

    def observe(self, direction: Direction, line: bytes) -> Passage:
        """What to send where instead of ``line``: itself, unless it may not go on.

        That is: policy stops a question in it, or its receipts must not be lost.
        """
        entry = self._recorder.record(
            lambda at: self._session.on_frame(direction, line, at), lambda: self._session.stopped
        )
        is_written = entry.wait()
        if entry.stopped is not None:
            return refuse(direction, line, entry.stopped)
        if is_written or self._recorder.may_lose:
            stamps = self._post.stamps and entry.puts_question
            return [(direction, stamp(line, self._post.policy) if stamps else line)]
        self._recorder.locked(lambda: self._session.retract(entry.receipts))
        return refuse(direction, line, not_written(entry.reason))

    def observe_oversized(self, direction: Direction) -> None:
        """A line too long to be read goes by."""
        self._recorder.record(lambda at: self._session.on_oversized(direction, at)).wait()

    def tick(self) -> None:
        """Let time pass: a new policy comes into force, questions that waited too long end."""
        policy = self._renewed()
        if policy is not None:
            self._recorder.use_policy(policy, lambda: self._use(policy))
        self._recorder.record(self._session.on_tick).wait()

    def _use(self, policy: Policy) -> None:
        self._post = replace(self._post, policy=policy)
        self._session.use_policy(policy)

    # What a server says of itself, see `Session`

    def record_completion(self, question: str, proof: Proof) -> bool:
        """Whether that completed a question. Returns once it is written, or lost."""
        entry = self._recorder.record(lambda at: self._session.on_completion(question, proof, at))
        entry.wait()
        return entry.completes_question

    def record_subject(self, subject: str) -> None:
        self._recorder.locked(lambda: self._session.on_subject(subject))

    def record_checkpoint(self, task_id: str, version: int) -> bool:
        return self._recorder.locked(lambda: self._session.on_checkpoint(task_id, version))

    def on_fault(self, direction: Direction | None) -> None:
        """The core failed on a message, which went on unread: what it would have left is lost."""
        if direction is not None:
            self._recorder.count_lost()

    def close(self) -> None:
        """The connection ended."""
        self._recorder.record(self._session.on_close).wait()
