"""Which operation a client's request belongs to: a new one, or one that waits for its retry.

From 2026-07-28 a retry is a request of its own: it is joined by the ``requestState``
it echoes, else by equal method, name and arguments after the interim result. The
retry after a -32042 (2025-11-25) has nothing but the latter.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Final

from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.wire.adoption import Adoption
from elicitation_receipts.producers.wire.latest import Latest
from elicitation_receipts.producers.wire.life import Operation
from elicitation_receipts.producers.wire.message import Key, Message, as_object, id_key, is_too_deep
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.peers import Peers
from elicitation_receipts.schemas.digest import canonical_digest
from elicitation_receipts.schemas.vocabulary import Carrier, FindingName

#: Operations remembered after their end, to recognise a state used again.
_REMEMBERED: Final = 1_024


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a client's originating request turned out to be.

    ``operation``   the operation it starts or continues
    ``is_retry``    it continues one
    ``candidates``  more than one operation could be meant: none is guessed
    ``findings``    what was odd about the retry
    ``is_nobodys``  nothing says what it would be a retry of: whatever it answers was asked
                    of somebody, and nobody can tell of whom
    """

    operation: Operation
    is_retry: bool = False
    candidates: tuple[Operation, ...] = ()
    findings: tuple[FindingName, ...] = ()
    is_nobodys: bool = False


class Operations:
    """The operations of one session.

    ``join_by_arguments``: whether equal arguments may join a retry to what it retries. Not
    where requests of different people meet: they may well call the same tool alike.
    """

    def __init__(
        self, redactor: Redactor, adoption: Adoption, *, join_by_arguments: bool = True
    ) -> None:
        self._redactor = redactor
        self._adoption = adoption
        self._join_by_arguments = join_by_arguments
        self.outstanding: dict[Key, Operation] = {}
        self.waiting: dict[Operation, None] = {}
        self._by_state: Latest[bytes, list[Operation]] = Latest(_REMEMBERED)

    def arrive(self, message: Message, method: str, peers: Peers, at: Moment) -> Arrival:
        """Take in an originating request."""
        params = message.params
        name = params.get("uri" if method == "resources/read" else "name")
        name = name if isinstance(name, str) else None
        asked = [method, name, params.get("arguments") or {}]
        # Equal to nothing where it cannot be compared: what nests too deep is never joined.
        arguments = self._redactor.random(32) if is_too_deep(asked) else _canonical(asked)
        state = _state_digest(params.get("requestState"))
        matches = self._matches(arguments, state)
        if state is not None and not matches:
            matches = self._adopt(params["requestState"], method, name, arguments, at)
        is_nobodys = state is None and not self._join_by_arguments
        if is_nobodys:
            # Equal calls may be other people's: one that answers leaves none of them certain.
            answered = as_object(params.get("inputResponses")).keys()
            matches = [match for match in matches if not answered.isdisjoint(match.keys)]
        if len(matches) == 1 and not is_nobodys:
            operation = matches[0]
            findings = self._retry_findings(operation, message, arguments, state)
            operation.earlier_ids.add(id_key(operation.request_id))
            operation.request_id = message.id
            operation.peers = peers
            operation.waiting = None
            self.waiting.pop(operation, None)
            self.outstanding[message.key] = operation
            return Arrival(operation, is_retry=True, findings=findings)
        operation = Operation(
            id=self._redactor.new_id(),
            method=method,
            name=name,
            arguments=arguments,
            request_id=message.id,
            started_at=at,
            peers=peers,
        )
        self.outstanding[message.key] = operation
        if matches:
            for candidate in matches:
                self.waiting.pop(candidate, None)
            return Arrival(operation, candidates=tuple(matches), is_nobodys=is_nobodys)
        findings = (FindingName.STATE_INVENTED,) if state is not None else ()
        return Arrival(operation, findings=findings, is_nobodys=is_nobodys)

    def _adopt(
        self, state: str, method: str, name: str | None, arguments: bytes, at: Moment
    ) -> list[Operation]:
        """What an earlier watcher saw waiting for the retry that echoes ``state``."""
        adopted = self._adoption.retried(state, method, name, at)
        asked = self._redactor.operation(method, name)
        for operation in adopted:
            if self._redactor.operation(operation.method, operation.name) == asked:
                operation.method, operation.name = method, name
                operation.arguments = arguments  # as far as anybody can tell
            self.issue(operation, state)
        return adopted

    def _matches(self, arguments: bytes, state: bytes | None) -> list[Operation]:
        if state is not None:
            issuers = self._by_state.get(state, [])
            same = [operation for operation in issuers if operation.arguments == arguments]
            if issuers:
                return _still_open(same or issuers)
        return [
            operation
            for operation in self.waiting
            # A task goes on by itself: an equal call is another one.
            if operation.task is None and operation.arguments == arguments
        ]

    def _retry_findings(
        self, operation: Operation, message: Message, arguments: bytes, state: bytes | None
    ) -> tuple[FindingName, ...]:
        found = []
        if operation.arguments != arguments:
            found.append(FindingName.ARGUMENTS_CHANGED)
        if id_key(message.id) in operation.earlier_ids | {id_key(operation.request_id)}:
            found.append(FindingName.ID_REUSED_ON_RETRY)
        if state is None:
            if operation.current_state is not None:
                found.append(FindingName.STATE_NOT_ECHOED)
        elif state not in operation.states:
            found.append(FindingName.STATE_INVENTED)
        else:
            if operation.states[state]:
                found.append(FindingName.STATE_REUSED)
            operation.states[state] = True
        return tuple(found)

    def wait(self, operation: Operation, at: Moment) -> None:
        """The operation got an interim result: it goes on when its retry comes."""
        operation.waiting_since = at
        self.waiting[operation] = None

    def undelivered(self, operation: Operation, at: Moment) -> None:
        """Its last request never reached the server: a retry may be sent again, else it is over."""
        for key in [key for key, one in self.outstanding.items() if one is operation]:
            del self.outstanding[key]
        if operation.keys:
            operation.waiting = Carrier.MULTI_ROUND_TRIP
            self.wait(operation, at)
        else:
            self.end(operation)

    def issue(self, operation: Operation, state: object) -> None:
        """An interim result carried ``requestState`` (None: it had none)."""
        digest = operation.current_state = _state_digest(state)
        if digest is None:
            return
        operation.states[digest] = False
        # Who asks now comes before who asked with an equal state and is done.
        issuers = self._by_state.pop(digest, [])
        running = [issuer for issuer in issuers if not issuer.ended and issuer is not operation]
        self._by_state[digest] = [*running, operation]

    def end(self, operation: Operation) -> None:
        """The operation is over; only the states it issued are remembered for a while."""
        operation.ended = True
        self.waiting.pop(operation, None)


def _state_digest(state: object) -> bytes | None:
    """Digest of a ``requestState``, compared in memory only; None where there is none."""
    if not isinstance(state, str):
        return None
    return hashlib.sha256(state.encode("utf-8", "surrogatepass")).digest()


def _still_open(operations: list[Operation]) -> list[Operation]:
    """Those that have not ended; where all have, the last: its retry was sent once more."""
    return [operation for operation in operations if not operation.ended] or operations[-1:]


def _canonical(value: object) -> bytes:
    """A digest equal for equal JSON. Compared in memory only, never written."""
    try:
        return canonical_digest(value)
    except Exception:  # noqa: BLE001  (such as what Unicode does not have: compared as it was sent)
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()
