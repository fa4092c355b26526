"""Reads traffic recorded as JSON lines, one message or piece of a message a line.

``ts`` (Unix seconds), ``dir`` (``c2s`` | ``s2c``), ``raw`` (the text) and, where the lines do
not stand in order, ``seq``. With ``conn`` it is HTTP: a request has ``http`` (request line),
``headers`` and its body in ``raw``; its response has ``http`` (status) and ``headers``; each
piece of the response's body is a line of its own.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from elicitation_receipts.producers.http.event_stream import Event, EventSplitter
from elicitation_receipts.producers.recordings.traffic import (
    BrokenError,
    End,
    Frame,
    Line,
    Request,
    Response,
    Traffic,
    as_bytes,
)
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.schemas.datum import LATEST_MICROS

_EVENT_STREAM: Final = "text/event-stream"
_STATUS: Final = re.compile(r"[0-9]{3}")


def read_json_lines(content: bytes) -> list[Traffic]:
    """Raises :class:`BrokenError`."""
    lines = [
        _Fields(place, _parse(place, line))
        for place, line in enumerate(content.split(b"\n"), start=1)
        if line.strip()
    ]
    if lines and all("seq" in line.members for line in lines):
        lines.sort(key=_Fields.seq)
    http = _Http()
    return [traffic for line in lines for traffic in http.read(line)] + http.end()


def _parse(place: int, line: bytes) -> dict[str, Any]:
    try:
        members = json.loads(line)
    except (ValueError, RecursionError):
        members = None
    if not isinstance(members, dict):
        raise BrokenError(f"line {place}: no JSON object (was the recording cut off?)")
    return members


@dataclass(frozen=True, slots=True)
class _Fields:
    """One line's members, read as the format says. Everything raises :class:`BrokenError`."""

    place: int
    members: Mapping[str, Any]

    def broken(self, what: str) -> BrokenError:
        return BrokenError(f"line {self.place}: {what}")

    def seq(self) -> int:
        seq: int = self._member("seq", int, "no whole number")
        return seq

    def at(self) -> int:
        seconds: float = self._member("ts", int | float, "no time in Unix seconds")
        micros = seconds * 1_000_000
        if not 0 <= micros <= LATEST_MICROS:  # nor is NaN
            raise self.broken("`ts` is no time in Unix seconds")
        return round(micros)

    def direction(self) -> Direction:
        try:
            return Direction(self._member("dir", str, "no direction"))
        except ValueError:
            raise self.broken("`dir` is neither c2s nor s2c") from None

    def raw(self) -> bytes:
        return as_bytes(self._member("raw", str, "no text"))

    def exchange(self) -> str:
        return str(self._member("conn", int | str, "neither number nor text"))

    def method(self) -> str:
        words = self._member("http", str, "no request line").split()
        if not words:
            raise self.broken("`http` is no request line")
        return str(words[0])

    def status(self) -> int:
        """From ``200``, ``"200 OK"`` or ``"HTTP/1.1 200 OK"``."""
        words = str(self._member("http", int | str, "no status")).split()
        numbers = [word for word in words[:2] if _STATUS.fullmatch(word)]
        if not numbers:
            raise self.broken("`http` is no status")
        return int(numbers[0])

    def headers(self) -> dict[str, str]:
        headers = self._member("headers", dict, "no object")
        if not all(isinstance(value, str) for value in headers.values()):
            raise self.broken("`headers` holds more than texts")
        return {name.lower(): value for name, value in headers.items()}

    def _member(self, name: str, kind: Any, otherwise: str) -> Any:
        value = self.members.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.broken(f"`{name}` is {'missing' if value is None else otherwise}")
        return value


class _Http:
    """Puts the pieces of HTTP exchanges together. Lines without ``conn`` are no HTTP."""

    def __init__(self) -> None:
        self._open: dict[str, _Exchange] = {}
        self._at = 0
        self._place = 0

    def read(self, line: _Fields) -> Iterator[Traffic]:
        self._at, self._place = line.at(), line.place
        if "conn" not in line.members:
            yield Line(at=self._at, place=self._place, direction=line.direction(), raw=line.raw())
        elif line.direction() is Direction.CLIENT_TO_SERVER:
            yield from self._request(line)
        else:
            yield from self._response(line)

    def end(self) -> list[Traffic]:
        """What is still open ends with the recording."""
        return [traffic for one in list(self._open.values()) for traffic in self._end(one)]

    def _request(self, line: _Fields) -> Iterator[Traffic]:
        name = line.exchange()
        # No line says that an exchange ended. This one's connection is used again; one that
        # was refused is over before the client tries again.
        for one in list(self._open.values()):
            if one.name == name or one.was_refused:
                yield from self._end(one)
        request = Request(
            at=self._at,
            place=self._place,
            exchange=name,
            server="",
            method=line.method(),
            headers=line.headers(),
            body=line.raw(),
        )
        self._open[name] = _Exchange(name)
        yield request

    def _response(self, line: _Fields) -> Iterator[Traffic]:
        exchange = self._open.get(line.exchange())
        if exchange is None:
            raise line.broken("a response without its request")
        if "http" in line.members:
            exchange.status = line.status()
            exchange.headers = line.headers()
            yield Response(
                at=self._at,
                place=self._place,
                exchange=exchange.name,
                status=exchange.status,
                headers=exchange.headers,
            )
        elif exchange.status is None:
            raise line.broken("a body without its status")
        for data, event_id in exchange.take(line.raw()):
            yield Frame(
                at=self._at,
                place=self._place,
                exchange=exchange.name,
                data=data,
                event_id=event_id,
            )

    def _end(self, exchange: _Exchange) -> Iterator[Traffic]:
        del self._open[exchange.name]
        if rest := exchange.rest():
            yield Frame(at=self._at, place=self._place, exchange=exchange.name, data=rest)
        yield End(at=self._at, place=self._place, exchange=exchange.name)


@dataclass(slots=True)
class _Exchange:
    """A response as far as it has come."""

    name: str
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    _body: bytearray = field(default_factory=bytearray)
    # The recording is in memory already: no event of it is too long to be held.
    _events: EventSplitter = field(default_factory=lambda: EventSplitter(sys.maxsize))

    @property
    def was_refused(self) -> bool:
        return self.status is not None and self.status >= 400

    def take(self, piece: bytes) -> Iterator[tuple[bytes, str | None]]:
        """A piece of the body: the data and id of each frame that it completes."""
        if self.headers.get("content-type", "").startswith(_EVENT_STREAM):
            for event in self._events.feed(piece):
                if isinstance(event, Event) and (event.data or event.id):
                    yield event.data, event.id
            return
        self._body += piece
        if _is_whole(self._body):
            yield self.rest(), None

    def rest(self) -> bytes:
        """What was held of a body that is no event stream."""
        rest = bytes(self._body)
        self._body.clear()
        return rest


def _is_whole(body: bytearray) -> bool:
    """Whether it is JSON to its end: of an object or array no beginning is."""
    if not body.rstrip().endswith((b"}", b"]")):
        return False
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
