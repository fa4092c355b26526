"""Many sessions at once: a server with a question open in each, and clients that answer them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from conversation import accept, call, form, success
from http_peers import EVENTS, Message, Upstream, Writer, connected, exchange, post, read_head

_ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"


def event(message: object) -> bytes:
    return f"data: {json.dumps(message)}\n\n".encode()


class AskingServer:
    """Asks once in each session, and goes on when it has the answer."""

    def __init__(self) -> None:
        self._answered: dict[str, asyncio.Event] = {}
        self.upstream = Upstream(self._answer)

    async def _answer(self, message: Message, writer: Writer) -> None:
        session = message.field("Mcp-Session-Id") or ""
        answered = self._answered.setdefault(session, asyncio.Event())
        if b"tools/call" not in message.body:
            answered.set()
            writer.write(_ACCEPTED)
            await writer.drain()
            return
        writer.write(EVENTS + event(form(7)))
        await writer.drain()
        await answered.wait()
        writer.write(event(success(1)))
        await writer.drain()


async def converse(
    port: int, sessions: int, all_open: Callable[[], Awaitable[None]]
) -> list[bytes]:
    """Hold ``sessions`` at once; what each was told.

    ``all_open`` runs while a question is open in each.
    """
    opened = asyncio.Barrier(sessions + 1)
    answer = asyncio.Event()

    async def one(number: int) -> bytes:
        session = f"Mcp-Session-Id: {number}"
        async with connected(port, post(json.dumps(call(1)).encode(), session)) as (reader, _):
            await read_head(reader)
            told = await reader.readuntil(event(form(7)))
            await opened.wait()
            await answer.wait()
            body = json.dumps(accept(7, {"branch": "main"})).encode()
            await exchange(port, post(body, session))
            return told + await reader.readuntil(event(success(1)))

    async def watch() -> None:
        await opened.wait()
        await all_open()
        answer.set()

    results = await asyncio.gather(watch(), *(one(number) for number in range(sessions)))
    return [told for told in results if told is not None]
