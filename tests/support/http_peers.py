"""Both ends of HTTP without a library in between: what is sent and received is bytes.

A :class:`Upstream` gives each request the answer a test has put there and keeps what it got.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

#: Fields that a proxy sets anew on their way.
OF_THE_WAY = ("host", "via", "accept-encoding", "connection", "transfer-encoding")


@dataclass
class Message:
    """A request or response: its first line, its fields in their order, its body."""

    first: str
    fields: list[tuple[str, str]]
    body: bytes = b""

    def field(self, name: str) -> str | None:
        found = [value for key, value in self.fields if key.lower() == name.lower()]
        return found[0] if found else None

    @property
    def status(self) -> int:
        return int(self.first.split()[1])

    @property
    def essence(self) -> tuple[str, list[tuple[str, str]], bytes]:
        """What must be the same with and without a proxy in between."""
        kept = sorted(pair for pair in self.fields if pair[0].lower() not in OF_THE_WAY)
        # The length may be told by chunks instead.
        kept = [pair for pair in kept if pair[0].lower() != "content-length"]
        return self.first, kept, self.body


async def read_head(reader: asyncio.StreamReader) -> Message:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    pairs = [line.partition(":") for line in lines]
    return Message(first, [(name, value.strip()) for name, _, value in pairs])


async def read_body(reader: asyncio.StreamReader, message: Message, *, to_end: bool) -> None:
    """``to_end``: without a length the body goes on until the connection ends."""
    if (message.field("transfer-encoding") or "").lower() == "chunked":
        while chunk := await read_chunk(reader):
            message.body += chunk
    elif (length := message.field("content-length")) is not None:
        message.body = await reader.readexactly(int(length))
    elif to_end:
        message.body = await reader.read()


async def read_chunk(reader: asyncio.StreamReader) -> bytes:
    size = int((await reader.readline()).strip(), 16)
    return (await reader.readexactly(size + 2))[:-2]


Writer = asyncio.StreamWriter


@dataclass
class Upstream:
    """A server on 127.0.0.1. ``answer`` writes bytes for a request."""

    answer: Callable[[Message, Writer], Awaitable[None]]
    got: list[Message] = field(default_factory=list)
    port: int = 0
    #: Set when a client hung up before it was answered.
    left: asyncio.Event = field(default_factory=asyncio.Event)

    @contextlib.asynccontextmanager
    async def running(self, **options: object) -> AsyncIterator[Upstream]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, **options)  # type: ignore[arg-type]
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            message = await read_head(reader)
            await read_body(reader, message, to_end=False)
            self.got.append(message)
            answering = asyncio.ensure_future(self.answer(message, writer))
            leaving = asyncio.ensure_future(reader.read(1))
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                self.left.set()
                answering.cancel()
            leaving.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def saying(*parts: bytes) -> Callable[[Message, Writer], Awaitable[None]]:
    """An answer of these bytes, one after the other."""

    async def answer(_message: Message, writer: Writer) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()

    return answer


@contextlib.asynccontextmanager
async def connected(
    port: int, request: bytes
) -> AsyncIterator[tuple[asyncio.StreamReader, Writer]]:
    """A connection on which a request was sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        await writer.drain()
        yield reader, writer
    finally:
        writer.close()


async def exchange(port: int, request: bytes) -> Message:
    """Send a request, read the answer."""
    async with connected(port, request) as (reader, _):
        message = await read_head(reader)
        if not request.startswith(b"HEAD") and message.status not in (204, 304):
            await read_body(reader, message, to_end=True)
        return message


def post(body: bytes, *fields: str, path: str = "/mcp", method: str = "POST") -> bytes:
    """A request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *fields]
    if method == "POST":
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def json_answer(body: bytes, *fields: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", *fields]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
