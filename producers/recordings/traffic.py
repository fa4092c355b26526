"""Recorded traffic: what was on the wire and when, whatever format told it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from elicitation_receipts.producers.wire.direction import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """``at``: UTC microseconds. ``place``: number of the line or entry in its file, from 1."""

    at: int
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(_Seen):
    """One message of a connection with one stream each way, such as stdio."""

    direction: Direction
    raw: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(_Seen):
    """An HTTP request. Header names are in lower case; ``exchange`` joins its response to it."""

    exchange: str
    server: str
    method: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Response(_Seen):
    """Status and headers of a response."""

    exchange: str
    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame(_Seen):
    """A response's JSON body, or the data of one event of its event stream."""

    exchange: str
    data: bytes
    event_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class End(_Seen):
    """Nothing more comes on an exchange."""

    exchange: str


Traffic = Line | Request | Response | Frame | End


class BrokenError(Exception):
    """A file is not what its format says. The text names the place, never what stands there."""


def as_bytes(text: str) -> bytes:
    """A recorded text as it was sent.

    A lone surrogate is how a recorder keeps a byte that was no UTF-8: it is none here either.
    """
    return text.encode("utf-8", "surrogatepass")
