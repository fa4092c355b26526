"""Replay: a recording played to the pure core, at the recorded times."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid5

from elicitation_receipts.producers.recordings.recording import Recording, RecordingError
from elicitation_receipts.producers.recordings.traffic import (
    End,
    Frame,
    Line,
    Request,
    Response,
    Traffic,
)
from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.stdio.lines import DEFAULT_LIMIT
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.exchange import Exchange, Exchanges
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.scribe import Post
from elicitation_receipts.producers.wire.session import Session
from elicitation_receipts.schemas.keys import TenantKeys
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Event

#: Names the streams of recordings (RFC 9562, UUID version 5).
_NAMESPACE: Final = UUID("a3c1b0de-6b0e-4d52-9f0c-7d5b3a9e4f61")
_DIGEST: Final = b"elicitation-receipts/recording/v1"

#: In a pause nobody speaks, but what waited too long ends: looked for once a minute, and in
#: a long pause so many times.
_TICK_US: Final = 60_000_000
_TICKS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Step:
    """What was seen (None: time passing, and at last the end) and the receipts it left."""

    at: int
    seen: Traffic | None
    receipts: list[Receipt]


def stream_of(recording: Recording, keys: TenantKeys) -> UUID:
    """The stream of a recording's receipts: the same for the same file and tenant."""
    return uuid5(_NAMESPACE, keys.reference.mac(_DIGEST, recording.digest).hex())


def replay(
    recording: Recording,
    keys: TenantKeys,
    post: Post,
    random: Callable[[int], bytes] = os.urandom,
) -> Iterator[Step]:
    """Play a recording from its first message to its end, which ends what is still open.

    Raises :class:`RecordingError` (``replay_failed``) where the core does.
    """
    stream_id = stream_of(recording, keys)
    player = _Player(Redactor(keys.tenant, stream_id, keys, random), post, str(stream_id))
    now = recording.traffic[0].at
    try:
        for seen in recording.traffic:
            for at in _ticks(now, seen.at):
                yield Step(at, None, player.on_tick(at))
            now = max(now, seen.at)
            yield Step(seen.at, seen, player.on_traffic(seen))
        yield Step(now, None, player.on_end(now))
    except Exception as error:
        raise RecordingError(
            "replay_failed",
            f"{recording.path}, line or entry {seen.place}: {type(error).__name__}; "
            "this is a defect, please report it",
        ) from error


def stream(
    recording: Recording,
    keys: TenantKeys,
    post: Post,
    random: Callable[[int], bytes] = os.urandom,
) -> list[Receipt]:
    """The whole stream of a recording, from its ``stream_opened`` to its ``stream_closed``.

    Raises as :func:`replay`.
    """
    times = [seen.at for seen in recording.traffic]

    def of_stream(event: Event, at: int, **policy: Any) -> Receipt:
        return Receipt(
            receipt_id=UUID(bytes=random(16), version=4),
            stream_id=stream_of(recording, keys),
            event=event,
            tenant=keys.tenant,
            vantage=post.vantage,
            producer_name=post.producer_name,
            producer_version=post.producer_version,
            occurred_at=at,
            **policy,
        )

    return [
        of_stream(Event.STREAM_OPENED, times[0]),
        of_stream(
            Event.POLICY_LOADED,
            times[0],
            policy_id=post.policy.id,
            policy_version=post.policy.version,
            policy_digest=post.policy.digest,
        ),
        *(one for step in replay(recording, keys, post, random) for one in step.receipts),
        of_stream(Event.STREAM_CLOSED, max(times)),
    ]


def _ticks(start: int, end: int) -> range:
    return range(start + _TICK_US, end, max(_TICK_US, (end - start) // _TICKS))


class _Player:
    """The core of each connection in a recording, made when it first speaks."""

    def __init__(self, redactor: Redactor, post: Post, name: str) -> None:
        self._redactor = redactor
        self._post = post
        self._name = name
        self._session: Session | None = None
        self._servers: dict[str, Exchanges] = {}
        self._exchanges: dict[str, Exchange] = {}

    def on_traffic(self, seen: Traffic) -> list[Receipt]:
        at = _moment(seen.at)
        match seen:
            case Line():
                return self._on_line(seen, at)
            case Request():
                return self._on_request(seen, at)
            case Response():
                return self._exchanges[seen.exchange].on_status(seen.status, seen.headers, at)
            case Frame():
                exchange = self._exchanges[seen.exchange]
                if _is_oversized(seen.data):
                    return exchange.on_oversized(Direction.SERVER_TO_CLIENT, at)
                return exchange.on_frame(seen.data, at, seen.event_id)
            case End():
                return self._exchanges.pop(seen.exchange).on_end(at)

    def on_tick(self, at: int) -> list[Receipt]:
        return [receipt for core in self._cores for receipt in core.on_tick(_moment(at))]

    def on_end(self, at: int) -> list[Receipt]:
        return [receipt for core in self._cores for receipt in core.on_close(_moment(at))]

    @property
    def _cores(self) -> list[Session | Exchanges]:
        return [*([self._session] if self._session else []), *self._servers.values()]

    def _on_line(self, line: Line, at: Moment) -> list[Receipt]:
        if self._session is None:
            self._session = Session(self._redactor, self._post, self._name)
        if _is_oversized(line.raw):
            return self._session.on_oversized(line.direction, at)
        return self._session.on_frame(line.direction, line.raw, at)

    def _on_request(self, request: Request, at: Moment) -> list[Receipt]:
        if request.server not in self._servers:
            name = f"{self._name} {request.server}"
            self._servers[request.server] = Exchanges(self._redactor, self._post, name)
        server = self._servers[request.server]
        principal = request.headers.get("authorization")
        exchange = server.open(request.method, request.headers, principal)
        self._exchanges[request.exchange] = exchange
        if _is_oversized(request.body):
            return exchange.on_oversized(Direction.CLIENT_TO_SERVER, at)
        return exchange.on_request(request.body, at)


def _moment(at: int) -> Moment:
    return Moment(at, at)


def _is_oversized(message: bytes) -> bool:
    """As where it went by live, where its newline counts, too."""
    return len(message) >= DEFAULT_LIMIT
