"""Streamable HTTP as the core sees it: exchanges in, receipts out.

Which session a request belongs to, on which stream an answer travels, and what the
status of a response says. Bodies arrive as frames: a JSON body is one, each event of
an event stream is one. No socket, no header is changed here.

Sources: MCP 2025-11-25 and 2026-07-28 "Transports", Streamable HTTP (session
management, resumability); WHATWG HTML, server-sent events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.latest import Latest
from elicitation_receipts.producers.wire.message import parse
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.orphans import Orphans
from elicitation_receipts.producers.wire.refusal import Refusal
from elicitation_receipts.producers.wire.scribe import Post
from elicitation_receipts.producers.wire.session import Session
from elicitation_receipts.producers.wire.stream import Stream
from elicitation_receipts.producers.wire.trace import read_traceparent
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Proof

#: Event ids remembered per session, to know one that is delivered again.
_REMEMBERED_EVENTS: Final = 65_536

#: A day: who has said nothing for so long, and has nothing open, is forgotten.
_SILENT_US: Final = 86_400_000_000

_SESSION_ID: Final = "mcp-session-id"


@dataclass(slots=True, eq=False)
class _Place:
    """A session and what HTTP knows of it. ``id`` None: requests that belong to no session."""

    session: Session
    id: str | None = None
    #: The stream each event came on, by its id.
    events: Latest[str, Stream] = field(default_factory=lambda: Latest(_REMEMBERED_EVENTS))
    last_at: Moment | None = None
    #: Whom the server has said it is with, for requests that say nothing themselves.
    subject: str | None = None


class Exchanges:
    """All HTTP traffic between clients and one server.

    A request with an ``Mcp-Session-Id`` belongs to that session. One without (2026-07-28)
    belongs to its principal, as far as one can be told, else to nobody: then only a
    ``requestState`` joins a retry to what it retries, never an equal call.
    """

    def __init__(self, redactor: Redactor, post: Post, name: str) -> None:
        self._redactor = redactor
        self._post = post
        self._name = name
        self._orphans = Orphans()
        self._sessions: dict[str, _Place] = {}
        self._principals: dict[str, _Place] = {}
        self._nobody = self._place(name, orphans=self._orphans, join_by_arguments=False)

    def open(
        self,
        method: str,
        headers: Mapping[str, str],
        principal: str | None,
        subject: str | None = None,
    ) -> Exchange:
        """A request arrives. ``headers``: names in lower case; ``principal``: who sends it.

        The principal is compared in memory only: a credential serves, and never leaves.
        ``subject``: the name of whom somebody before us has authenticated; a keyed reference
        to it stands on the receipts.
        """
        session_id = headers.get(_SESSION_ID)
        if session_id is not None:
            place = self._sessions.get(session_id) or self._enter(
                session_id, self._place(session_id, orphans=self._orphans, midway=True)
            )
        elif principal is not None:
            # Named at random: not even a reference to a credential is ever written.
            place = self._principals.get(principal) or self._place(
                f"{self._name} {self._redactor.new_id()}", orphans=self._orphans
            )
            self._principals[principal] = place
        else:
            place = self._nobody
        return Exchange(self, place, method, headers, subject)

    def offer(self, orphans: Iterable[Receipt]) -> None:
        """What watchers before this one left open, see :class:`Orphans`."""
        self._orphans.offer(orphans)

    def _place(self, name: str, **options: Any) -> _Place:
        return _Place(Session(self._redactor, self._post, name, **options))

    def new_session(self) -> _Place:
        """For an ``initialize``: its session has no id before the response names one."""
        return self._place(f"{self._name} {self._redactor.new_id()}")

    def _enter(self, session_id: str, place: _Place) -> _Place:
        place.id = session_id
        self._sessions[session_id] = place
        return place

    def named(self, place: _Place, session_id: str) -> None:
        """A response names the session that its ``initialize`` began."""
        if place.id is None and session_id not in self._sessions:
            self._enter(session_id, place)
            place.session.rename(session_id)

    def ended(self, place: _Place, at: Moment) -> list[Receipt]:
        """A session ended: deleted by the client, or unknown to the server."""
        if place.id is None:
            return []
        self._sessions.pop(place.id, None)
        return place.session.on_close(at)

    def use_policy(self, policy: Policy) -> None:
        """From now on judge by ``policy``, see :meth:`Session.use_policy`."""
        self._post = replace(self._post, policy=policy)
        for place in self._all():
            place.session.use_policy(policy)

    def on_tick(self, at: Moment) -> list[Receipt]:
        """Time passed: end what waited too long, forget who has been silent for a day."""
        receipts = [receipt for place in self._all() for receipt in place.session.on_tick(at)]
        for places in (self._sessions, self._principals):
            for name, place in list(places.items()):
                is_silent = place.last_at is not None and at.since(place.last_at) > _SILENT_US
                if is_silent and place.session.is_idle:
                    del places[name]
        return receipts

    # What a server says of itself, see `Session`

    def on_completion(self, question: str, proof: Proof, at: Moment) -> list[Receipt]:
        """It proved that a URL ceremony is complete, in whichever session it was asked for."""
        expecting = [place for place in self._all() if place.session.expects(question)]
        place = expecting[0] if len(expecting) == 1 else self._nobody
        return place.session.on_completion(question, proof, at)

    def on_subject(self, session_id: str, subject: str) -> None:
        """It authenticated whom a session is with. Raises :class:`DigestError`."""
        place = self._sessions.get(session_id)
        if place is not None:
            place.session.on_subject(subject)
            place.subject = subject

    def on_checkpoint(self, task_id: str, version: int) -> bool:
        """It saved a task's state. False where no such task is known."""
        return any(place.session.on_checkpoint(task_id, version) for place in self._all())

    def on_close(self, at: Moment) -> list[Receipt]:
        """Nothing more will be seen: the watcher stops, or a recording ends."""
        return [receipt for place in self._all() for receipt in place.session.on_close(at)]

    def _all(self) -> list[_Place]:
        return [*self._sessions.values(), *self._principals.values(), self._nobody]


class Exchange:
    """One request and its response. Made by :meth:`Exchanges.open`."""

    def __init__(
        self,
        exchanges: Exchanges,
        place: _Place,
        method: str,
        headers: Mapping[str, str],
        subject: str | None,
    ) -> None:
        self._exchanges = exchanges
        self._place = place
        self._method = method
        self._subject = subject
        self._stream = Stream(
            is_scope=place.id is None, trace=read_traceparent(headers.get("traceparent"))
        )
        if method == "GET" and (last := headers.get("last-event-id")) is not None:
            # A stream resumed is the stream that broke off.
            self._stream = place.events.get(last, self._stream)
        self._delivered = False
        #: Why the last frame may not go on, see :attr:`Session.stopped`; None: it may.
        self.stopped: Refusal | None = None

    def on_request(self, body: bytes, at: Moment) -> list[Receipt]:
        """The request's body, whole."""
        if not body:
            return []
        if self._place.id is None and _initializes(body):
            self._place = self._exchanges.new_session()
            self._stream.is_scope = False
        self._place.last_at = at
        return self._on_frame(Direction.CLIENT_TO_SERVER, body, at)

    def on_status(self, status: int, headers: Mapping[str, str], at: Moment) -> list[Receipt]:
        """The response's status and headers (names in lower case)."""
        session_id = headers.get(_SESSION_ID)
        if session_id is not None and status < 400:
            self._exchanges.named(self._place, session_id)
        self._delivered = status < 400
        if (self._method == "DELETE" and status < 400) or status == 404:
            return self._exchanges.ended(self._place, at)
        return []

    def on_frame(self, data: bytes, at: Moment, event_id: str | None = None) -> list[Receipt]:
        """A JSON body of the response, or one event's data. Empty data is no message."""
        self.stopped = None
        if event_id and self._place.id is not None:  # without a session they may well be equal
            events = self._place.events
            if event_id in events:
                return []  # delivered before: the same message
            events[event_id] = self._stream
        if not data:
            return []
        # A refusal that answers the request by its id came from the server itself.
        self._delivered = self._delivered or any(
            message.is_response and message.has_usable_id for message in parse(data).messages
        )
        return self._on_frame(Direction.SERVER_TO_CLIENT, data, at)

    def _on_frame(self, direction: Direction, data: bytes, at: Moment) -> list[Receipt]:
        session = self._place.session
        session.on_subject(self._subject if self._subject is not None else self._place.subject)
        receipts = session.on_frame(direction, data, at, self._stream)
        self.stopped = session.stopped
        return receipts

    def retract(self, receipts: list[Receipt]) -> None:
        """What left these receipts did not go on, see :meth:`Session.retract`."""
        self._place.session.retract(receipts)

    def forget(self, event_id: str | None) -> None:
        """The event did not go on: delivered once more, it is not the same message again."""
        if event_id:
            self._place.events.pop(event_id, None)

    def on_end(self, at: Moment) -> list[Receipt]:
        """The exchange is over. What a refused request carried was not delivered."""
        if self._delivered or self._method != "POST":
            return []
        return self._place.session.on_undelivered(self._stream, at)

    def on_oversized(self, direction: Direction, at: Moment) -> list[Receipt]:
        """A body or event too long to read went by."""
        return self._place.session.on_oversized(direction, at)


def _initializes(body: bytes) -> bool:
    return any(message.method == "initialize" for message in parse(body).messages)
