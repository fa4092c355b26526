"""ASGI middleware: watches an MCP server in Python from in front of its application.

It needs no framework. The application gets the request's messages as they came, and what it
sends goes on as it is, event by event; only what is no MCP goes by unseen.

Source: ASGI 3, HTTP & WebSocket and Lifespan message formats.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractContextManager
from typing import Any, Final, Literal

from elicitation_receipts.producers.http.event_stream import EventSplitter
from elicitation_receipts.producers.http.watcher import (
    HttpWatcher,
    Judged,
    WatchedExchange,
    may_be_mcp,
)
from elicitation_receipts.producers.own_records import check_version, own_proof
from elicitation_receipts.producers.stdio.lines import DEFAULT_LIMIT, Fragment
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.schemas.errors import ReceiptsError, UsageError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
#: Names whom the server has authenticated, from a request's scope; None: nobody.
Subject = Callable[[Scope], str | None]

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
#: How long the application is given to take an error in place of an answer.
_TELL_SECONDS: Final = 10.0


class Middleware:
    """Watches what an application is asked and answers.

    ``start``    opens and closes the watcher; it may block
    ``path``     where MCP is spoken; None: anywhere
    ``subject``  whom the server has authenticated; None: the Authorization header tells users
                 apart
    ``limit``    bytes a message may have to be read

    The watcher is opened as the server starts (ASGI lifespan), else with the first request. If
    it cannot be opened, the server does not start. Whatever a request reaches finds this object
    in its scope, as ``elicitation_receipts``.
    """

    def __init__(
        self,
        app: App,
        start: Callable[[], AbstractContextManager[HttpWatcher]],
        *,
        path: str | None = None,
        subject: Subject | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> None:
        self._app = app
        self._start = start
        self._path = path
        self._subject = subject
        self._limit = limit
        self._opening = asyncio.Lock()
        self._opened: AbstractContextManager[HttpWatcher] | None = None
        self._watcher: HttpWatcher

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "elicitation_receipts": self}
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        elif scope["type"] == "http" and self._is_watched(scope):
            await self._open()
            await self._watch(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    # What a server says of itself

    async def record_completion(
        self, question: str, proof: Literal["authenticated_callback", "status_check"]
    ) -> bool:
        """The server knows by itself that a URL ceremony is complete. True: it completed one.

        As with :meth:`ServerRecords.record_completion`, in whichever session it was asked for:
        ``question`` is its ``elicitationId`` or else its URL. Raises ``proof_invalid``.
        """
        kind = own_proof(proof)
        await self._open()
        return await self._watcher.record_completion(question, kind)

    async def record_subject(self, subject: str, session: str | Scope) -> None:
        """The server has authenticated whom a session is with.

        ``session``: its ``Mcp-Session-Id``, or the scope of one of its requests. What has no
        session (from 2026-07-28 on) is told by the middleware's argument ``subject`` instead;
        here it raises ``session_missing``.
        """
        if not isinstance(session, str):
            session = _by_name(session["headers"]).get("mcp-session-id", "")
        if not session:
            raise UsageError("session_missing", "a request without Mcp-Session-Id has no session")
        await self._open()
        self._watcher.record_subject(session, subject)

    async def record_checkpoint(self, task_id: str, version: int) -> bool:
        """The server saved the state of a task. False: no such task was seen to start.

        ``version`` (0 or more) stands on every receipt of the task from here on. Raises
        ``checkpoint_invalid``.
        """
        check_version(version)
        await self._open()
        return self._watcher.record_checkpoint(task_id, version)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown."):
                await self._close()
            await send(message)

        try:
            await self._open()
        except ReceiptsError as error:
            await receive()
            await send({"type": "lifespan.startup.failed", "message": f"receipts: {error}"})
            return
        try:
            await self._app(scope, receive, sending)
        finally:
            await self._close()

    async def _open(self) -> None:
        async with self._opening:
            if self._opened is None:
                opened = self._start()
                self._watcher = await asyncio.to_thread(opened.__enter__)
                self._opened = opened

    async def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await asyncio.to_thread(opened.__exit__, None, None, None)

    def _is_watched(self, scope: Scope) -> bool:
        content_type = _by_name(scope["headers"]).get("content-type", "")
        return may_be_mcp(scope["method"], scope["path"], content_type, self._path)

    async def _watch(self, scope: Scope, receive: Receive, send: Send) -> None:
        fields = _by_name(scope["headers"])
        subject = self._subject(scope) if self._subject else None
        principal = fields.get("authorization") if self._subject is None else subject
        exchange = self._watcher.open(scope["method"], fields, principal, subject)
        tell = _Teller(self._app, scope)
        answering = _Answering(exchange, send, tell, self._limit, is_head=scope["method"] == "HEAD")
        asking = _Asking(exchange, receive, answering, self._limit, _is_encoded(fields))
        try:
            await self._app(scope, asking.receive, answering.send)
        finally:
            exchange.end()


class _Asking:
    """The request on its way to the application: its messages, once the body is whole."""

    def __init__(
        self,
        exchange: WatchedExchange,
        receive: Receive,
        answering: _Answering,
        limit: int,
        is_encoded: bool,
    ) -> None:
        self._exchange = exchange
        self._receive = receive
        self._answering = answering
        self._limit = limit
        self._is_encoded = is_encoded
        self._is_read = False
        self._held: deque[Message] = deque()

    async def receive(self) -> Message:
        if not self._is_read:
            self._is_read = True
            await self._read()
        return self._held.popleft() if self._held else await self._receive()

    async def _read(self) -> None:
        body = bytearray()
        while True:
            message = await self._receive()
            self._held.append(message)
            if message["type"] != "http.request":
                return  # the client left in the middle of it
            body += message.get("body", b"")
            if len(body) > self._limit:
                await self._exchange.oversized(Direction.CLIENT_TO_SERVER)
                return
            if not message.get("more_body", False):
                break
        if self._is_encoded:
            if body:
                self._exchange.encoded()
            return
        text = bytes(body)
        judged = await self._exchange.request(text)
        if judged.on == text:
            return
        self._held.clear()
        if judged.on is not None:
            self._held.append({"type": "http.request", "body": judged.on, "more_body": False})
        else:
            await self._answering.instead(judged.back or b"")
            self._held.append({"type": "http.disconnect"})


class _Answering:
    """The response on its way to the client."""

    def __init__(
        self, exchange: WatchedExchange, send: Send, tell: _Teller, limit: int, *, is_head: bool
    ) -> None:
        self._exchange = exchange
        self._send = send
        self._tell = tell
        self._limit = limit
        self._is_head = is_head
        self._is_over = False
        self._pass = send  # how the body goes on
        self._splitter = EventSplitter(limit)
        self._start: Message = {}
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if self._is_over:
            return
        if message["type"] == "http.response.start":
            await self._begin(message)
        elif message["type"] == "http.response.body":
            await self._pass(message)
        else:
            await self._send(message)

    async def instead(self, body: bytes) -> None:
        """Answer in place of the application: its request does not go on."""
        self._is_over = True
        fields = [(b"content-type", _JSON.encode()), (b"content-length", b"%d" % len(body))]
        await self._send({"type": "http.response.start", "status": 200, "headers": fields})
        await self._send({"type": "http.response.body", "body": body})

    async def _begin(self, start: Message) -> None:
        fields = _by_name(start.get("headers", ()))
        await self._exchange.status(start["status"], fields)
        kind = fields.get("content-type", "").partition(";")[0].strip().lower()
        if self._is_head or kind not in (_JSON, _EVENTS):
            pass
        elif _is_encoded(fields):
            self._exchange.encoded()
        elif kind == _EVENTS:
            self._pass = self._pass_events
        else:
            # With its length, which may have to be another.
            self._start = start
            self._pass = self._hold_body
            return
        await self._send(start)

    async def _hold_body(self, message: Message) -> None:
        self._body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(self._body) > self._limit:
            await self._exchange.oversized(Direction.SERVER_TO_CLIENT)
            self._pass = self._send
            await self._send(self._start)
            await self._send({**message, "body": bytes(self._body)})
        elif not more:
            body = await self._told(await self._exchange.body(bytes(self._body)))
            await self._send(_with_length(self._start, len(body)))
            await self._send({**message, "body": body})

    async def _pass_events(self, message: Message) -> None:
        more = message.get("more_body", False)
        for part in self._splitter.feed(message.get("body", b"")):
            body = await self._told(await self._exchange.event(part))
            await self._send({"type": "http.response.body", "body": body, "more_body": True})
        if not more:
            rest = self._splitter.end()
            body = b"" if rest is None else rest.data if isinstance(rest, Fragment) else rest.raw
            await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _told(self, judged: Judged) -> bytes:
        if judged.back is not None:
            await self._tell(judged.back)
        return judged.on or b""


class _Teller:
    """Answers a question that may not be put, as the client would: by a request of its own."""

    def __init__(self, app: App, scope: Scope) -> None:
        self._app = app
        self._scope = scope

    async def __call__(self, body: bytes) -> None:
        own = (b"content-length", b"content-type", b"accept", b"last-event-id")
        fields = [pair for pair in self._scope["headers"] if pair[0].lower() not in own]
        fields += [
            (b"content-length", b"%d" % len(body)),
            (b"content-type", _JSON.encode()),
            (b"accept", f"{_JSON}, {_EVENTS}".encode()),
        ]
        messages: deque[Message] = deque([{"type": "http.request", "body": body}])

        async def receive() -> Message:
            return messages.popleft() if messages else {"type": "http.disconnect"}

        async def send(_message: Message) -> None:
            pass

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TELL_SECONDS):
                await self._app({**self._scope, "method": "POST", "headers": fields}, receive, send)


def _by_name(fields: Any) -> dict[str, str]:
    return {
        name.decode("latin-1").lower(): value.decode("utf-8", "surrogateescape")
        for name, value in fields
    }


def _is_encoded(fields: dict[str, str]) -> bool:
    return fields.get("content-encoding", "identity").strip().lower() != "identity"


def _with_length(start: Message, length: int) -> Message:
    fields = [
        (name, b"%d" % length if name.lower() == b"content-length" else value)
        for name, value in start.get("headers", ())
    ]
    return {**start, "headers": fields}
