"""Reads traffic from an HTTP Archive, as browsers and proxies export it.

An archive says when a request was sent and when its response had ended, not when each
event of an event stream came, except where Chrome adds it. There what can be known is
kept: a server's request came before its answer was sent and, in its stream, after the
earlier one was answered. In those bounds a question is taken to have come as early as it
can have, anything else as late: neither makes a person's answer look automatic.

Other traffic in the archive than JSON-RPC over HTTP is left out.

Source: HTTP Archive 1.2.
"""

from __future__ import annotations

import base64
import binascii
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from elicitation_receipts.producers.http.event_stream import Event, EventSplitter
from elicitation_receipts.producers.recordings.traffic import (
    BrokenError,
    End,
    Frame,
    Request,
    Response,
    Traffic,
    as_bytes,
)
from elicitation_receipts.producers.wire.message import Key, Message, as_object, parse
from elicitation_receipts.schemas.datum import LATEST_MICROS

_METHODS: Final = ("POST", "GET", "DELETE")
_EVENT_STREAM: Final = "text/event-stream"
#: Parts of `timings` that pass before a response begins; `ssl` is a part of `connect`.
_BEFORE_RESPONSE: Final = ("blocked", "dns", "connect", "send", "wait")
#: A time after all others.
_NEVER: Final = LATEST_MICROS + 1


def read_har(content: bytes) -> list[Traffic]:
    """Raises :class:`BrokenError`."""
    try:
        archive = json.loads(content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise BrokenError(f"line {error.lineno}: no JSON") from None
    except (ValueError, RecursionError):
        raise BrokenError("line 1: no JSON") from None
    entries = as_object(as_object(archive).get("log")).get("entries")
    if not isinstance(entries, list):
        raise BrokenError("line 1: no HTTP Archive, it has no `log.entries`")
    read = [_Entry.read(place, as_object(entry)) for place, entry in enumerate(entries, start=1)]
    servers = {entry.server for entry in read if entry.is_rpc}
    spoken = [entry for entry in read if entry.server in servers and entry.method in _METHODS]
    answers = _Answers(spoken)
    traffic = [one for entry in spoken for one in _traffic(entry, answers)]
    # Stable: what happened at one time stays in the order of its exchange.
    return sorted(traffic, key=lambda one: one.at)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One exchange. Times are UTC microseconds; headers' names are in lower case."""

    place: int
    server: str
    method: str
    started: int
    answered: int
    ended: int
    request_headers: dict[str, str]
    request_body: bytes
    status: int
    response_headers: dict[str, str]
    response_body: bytes
    #: Time, data and id of each event, where the archive has them.
    timed_events: list[tuple[int, bytes, str | None]]

    @classmethod
    def read(cls, place: int, entry: dict[str, Any]) -> _Entry:
        request, response = as_object(entry.get("request")), as_object(entry.get("response"))
        started = _started(place, entry.get("startedDateTime"))
        timings = as_object(entry.get("timings"))
        ended = started + max(2, _micros(entry.get("time")))
        waited = sum(_micros(timings.get(name)) for name in _BEFORE_RESPONSE)
        server, method, status = request.get("url"), request.get("method"), response.get("status")
        if not isinstance(server, str) or not isinstance(method, str) or type(status) is not int:
            raise BrokenError(f"entry {place}: url, method or status is missing")
        return cls(
            place=place,
            server=server.partition("#")[0],
            method=method,
            started=started,
            # After the request, before the end, whatever was rounded.
            answered=min(started + max(1, waited), ended - 1),
            ended=ended,
            request_headers=_headers(request.get("headers")),
            request_body=_text(place, as_object(request.get("postData"))),
            status=status,
            response_headers=_headers(response.get("headers")),
            response_body=_text(place, as_object(response.get("content"))),
            timed_events=list(_timed_events(entry.get("_eventSourceMessages"))),
        )

    @property
    def is_rpc(self) -> bool:
        return self.method == "POST" and any("jsonrpc" in one.members for one in self.sent)

    @property
    def sent(self) -> tuple[Message, ...]:
        return parse(self.request_body).messages

    @property
    def session(self) -> tuple[str, str | None]:
        """What ids are unique within."""
        name = "mcp-session-id"
        return self.server, self.request_headers.get(name) or self.response_headers.get(name)

    @property
    def is_event_stream(self) -> bool:
        return self.response_headers.get("content-type", "").startswith(_EVENT_STREAM)


class _Answers:
    """When the client sent its answers to the server's requests."""

    def __init__(self, entries: Sequence[_Entry]) -> None:
        self._sent: dict[tuple[object, Key], list[int]] = {}
        for entry in sorted(entries, key=lambda one: one.started):
            for message in entry.sent:
                if message.is_response:
                    self._sent.setdefault((entry.session, message.key), []).append(entry.started)

    def time(self, entry: _Entry, data: bytes) -> int | None:
        """Of the answer to the request in an event of ``entry``; None where there is no request."""
        asked = [
            message.key
            for message in parse(data).messages
            if message.method is not None and message.has_usable_id
        ]
        if not asked:
            return None
        sent = (at for key in asked for at in self._sent.get((entry.session, key), ()))
        return min((at for at in sent if at > entry.answered), default=_NEVER)


def _traffic(entry: _Entry, answers: _Answers) -> Iterator[Traffic]:
    exchange, place = str(entry.place), entry.place
    yield Request(
        at=entry.started,
        place=place,
        exchange=exchange,
        server=entry.server,
        method=entry.method,
        headers=entry.request_headers,
        body=entry.request_body,
    )
    if entry.status == 0:  # how browsers record that no response came
        yield End(at=entry.ended, place=place, exchange=exchange)
        return
    yield Response(
        at=entry.answered,
        place=place,
        exchange=exchange,
        status=entry.status,
        headers=entry.response_headers,
    )
    for at, data, event_id in _frames(entry, answers):
        yield Frame(at=at, place=place, exchange=exchange, data=data, event_id=event_id)
    yield End(at=entry.ended, place=place, exchange=exchange)


def _frames(entry: _Entry, answers: _Answers) -> Iterator[tuple[int, bytes, str | None]]:
    if entry.timed_events:
        for at, data, event_id in entry.timed_events:
            yield min(max(at, entry.answered), entry.ended), data, event_id
    elif entry.is_event_stream:
        events = [
            event
            for event in EventSplitter(sys.maxsize).feed(entry.response_body)
            if isinstance(event, Event) and (event.data or event.id)
        ]
        times = _times(entry, [answers.time(entry, event.data) for event in events])
        for at, event in zip(times, events, strict=True):
            yield at, event.data, event.id
    elif entry.response_body:
        yield entry.ended, entry.response_body, None


def _times(entry: _Entry, answers: Sequence[int | None]) -> list[int]:
    """When each event came, see the head of this file. ``answers``: as :meth:`_Answers.time`."""
    latest: list[int] = []
    bound = entry.ended
    for answer in reversed(answers):
        # A microsecond before its answer: so it stays before it.
        bound = bound if answer is None else min(bound, answer - 1)
        latest.append(bound)
    latest.reverse()
    earliest = entry.answered
    times = latest.copy()
    for place, answer in enumerate(answers):
        if answer is not None:
            times[place] = min(earliest, latest[place])
            if answer != _NEVER:
                earliest = max(earliest, answer)
    for place in reversed(range(len(times) - 1)):
        times[place] = min(times[place], times[place + 1])
    return times


def _started(place: int, text: object) -> int:
    try:
        moment = datetime.fromisoformat(text if isinstance(text, str) else "")
    except ValueError:
        raise BrokenError(f"entry {place}: `startedDateTime` is no time") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    micros = round(moment.timestamp() * 1_000_000)
    if not 0 <= micros < LATEST_MICROS // 2:  # so that what takes long ends in time, too
        raise BrokenError(f"entry {place}: `startedDateTime` is no time a receipt can have")
    return micros


def _micros(milliseconds: object) -> int:
    """Microseconds; 0 for what is not known (-1, or missing)."""
    if not isinstance(milliseconds, int | float) or not 0 <= milliseconds * 1_000 <= LATEST_MICROS:
        return 0
    return round(milliseconds * 1_000)


def _headers(pairs: object) -> dict[str, str]:
    found = {}
    for pair in pairs if isinstance(pairs, list) else ():
        name, value = as_object(pair).get("name"), as_object(pair).get("value")
        if isinstance(name, str) and isinstance(value, str):
            found[name.lower()] = value
    return found


def _text(place: int, body: dict[str, Any]) -> bytes:
    text = body.get("text", "")
    if not isinstance(text, str):
        raise BrokenError(f"entry {place}: a body is no text")
    if body.get("encoding") != "base64":
        return as_bytes(text)
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BrokenError(f"entry {place}: a body is no base64") from None


def _timed_events(messages: object) -> Iterator[tuple[int, bytes, str | None]]:
    """Chrome's list: `time` (Unix seconds), `data`, `eventId`."""
    for message in messages if isinstance(messages, list) else ():
        members = as_object(message)
        time, data, event_id = (members.get(name) for name in ("time", "data", "eventId"))
        if isinstance(time, int | float) and isinstance(data, str):
            yield _micros(time * 1_000), as_bytes(data), event_id or None
