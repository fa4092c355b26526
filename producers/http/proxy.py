"""Proxy: stands in front of a Streamable HTTP MCP server and lets everything pass.

A thin shell around a pure core, on aiohttp. A request's body is read whole, since that
is one message; a response passes event by event. Paths are the upstream's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Final

from aiohttp import (
    ClientError,
    ClientHandlerType,
    ClientRequest,
    ClientResponse,
    ClientSession,
    ClientSSLError,
    ClientTimeout,
    DummyCookieJar,
    StreamReader,
    TCPConnector,
    hdrs,
    web,
)
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from elicitation_receipts.producers.http import resource_metadata
from elicitation_receipts.producers.http.event_stream import EventSplitter
from elicitation_receipts.producers.http.forwarding import (
    VIA,
    check_addressee,
    check_target,
    end_to_end,
)
from elicitation_receipts.producers.http.watcher import (
    HttpWatcher,
    Judged,
    WatchedExchange,
    may_be_mcp,
)
from elicitation_receipts.producers.stdio.lines import DEFAULT_LIMIT, Fragment
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.schemas.errors import ProxyError, ReceiptsError

#: Shorter than servers keep a connection that idles (5 s with uvicorn and Node.js), so that
#: no request is sent on one that is just being closed.
_KEEP_ALIVE_SECONDS: Final = 3.0
_CONNECT_SECONDS: Final = 30.0
#: How long the server is given to take an error in place of an answer.
_TELL_SECONDS: Final = 10.0
#: How long requests under way may take to end once the proxy is stopped.
STOP_SECONDS: Final = 5.0
#: Connections that may wait to be accepted: clients come back all at once.
_BACKLOG: Final = 1024
#: Tokens are long.
_LONGEST_FIELD: Final = 64 * 1024

#: JSON-RPC: an error of the server's own. Without an id: it answers no message (MCP).
_SERVER_ERROR: Final = -32000

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"

#: Where a response of ours keeps the names of the fields the upstream sent.
_SENT: Final = web.ResponseKey("sent", frozenset[str])

#: aiohttp would add these of its own accord where the client sent none.
_NOT_OURS: Final = (hdrs.USER_AGENT, hdrs.ACCEPT, hdrs.ACCEPT_ENCODING, hdrs.CONTENT_TYPE)


class Proxy:
    """Forwards to ``upstream`` and has ``watcher`` see what passes.

    ``upstream``        the MCP server's address; a path other than ``/`` is where MCP is spoken,
                        and only what goes there is watched
    ``names``           host names, in lower case, clients may know us by, beside addresses
    ``public_origin``   ``https://host:port`` OAuth clients know us by; None: none are served
    ``subject_header``  the field in which a gateway before us names whom it authenticated
    ``say``             one line for whoever runs us
    ``limit``           bytes a message may have to be read
    """

    def __init__(
        self,
        upstream: URL,
        watcher: HttpWatcher,
        say: Callable[[str], None],
        *,
        names: Iterable[str] = (),
        public_origin: str | None = None,
        subject_header: str | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> None:
        self._origin = str(upstream.origin())
        self._path = upstream.raw_path if upstream.raw_path != "/" else None
        self._watcher = watcher
        self._say = say
        self._names = frozenset(names)
        self._public_origin = public_origin
        self._subject_header = subject_header.lower() if subject_header else None
        self._limit = limit
        self._client: ClientSession
        #: GET streams: they never end by themselves.
        self._standing: set[asyncio.Task[object]] = set()
        self._refused_once = False

    @contextlib.asynccontextmanager
    async def listening(self, host: str, port: int) -> AsyncIterator[int]:
        """Serve while the block runs; gives the port. Raises ``listen_failed``."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        app.on_response_prepare.append(_take_back_own_fields)
        app.on_shutdown.append(self._end_standing)
        runner = web.AppRunner(
            app,
            access_log=None,
            auto_decompress=False,
            handler_cancellation=True,  # a client that goes away is noticed by the server
            max_field_size=_LONGEST_FIELD,
            max_line_size=_LONGEST_FIELD,
            shutdown_timeout=STOP_SECONDS,
        )
        async with ClientSession(
            connector=TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_SECONDS),
            timeout=ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=_NOT_OURS,
            max_field_size=_LONGEST_FIELD,
            max_line_size=_LONGEST_FIELD,
        ) as self._client:
            await runner.setup()
            try:
                await web.TCPSite(runner, host, port, backlog=_BACKLOG).start()
                yield int(runner.addresses[0][1])
            except OSError as error:
                raise ProxyError(
                    "listen_failed", f"cannot listen on {host}:{port} ({error.strerror})"
                ) from error
            finally:
                await runner.cleanup()

    async def _end_standing(self, _app: web.Application) -> None:
        for task in self._standing:
            task.cancel()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        try:
            fields = request.headers
            check_addressee(fields.get(hdrs.HOST), fields.get(hdrs.ORIGIN), self._names)
            check_target(request.raw_path)
        except ProxyError as error:
            return _refusal(403, error)
        try:
            if self._is_watched(request):
                return await self._watched(request)
            async with self._forward(request, _body_of(request)) as answer:
                return await self._pass_back(request, answer)
        except ProxyError as error:
            return _refusal(502, error)

    def _is_watched(self, request: web.Request) -> bool:
        path = request.raw_path.partition("?")[0]
        return may_be_mcp(request.method, path, request.content_type, self._path)

    async def _watched(self, request: web.Request) -> web.StreamResponse:
        fields = _by_name(request.headers)
        subject = None
        principal = fields.get("authorization")
        if self._subject_header is not None:
            principal = subject = _text(fields.get(self._subject_header))
        exchange = self._watcher.open(request.method, fields, principal, subject)
        task = asyncio.current_task()
        if request.method == hdrs.METH_GET and task is not None:
            self._standing.add(task)
            task.add_done_callback(self._standing.discard)
        try:
            body = await self._read_request(request, exchange)
            if isinstance(body, web.Response):
                return body
            async with self._forward(request, body) as answer:
                await exchange.status(answer.status, _by_name(answer.headers))
                return await self._pass_back(request, answer, exchange)
        finally:
            exchange.end()

    # From the client

    async def _read_request(
        self, request: web.Request, exchange: WatchedExchange
    ) -> bytes | AsyncIterator[bytes] | web.Response | None:
        """The body to send, or what the client is told instead."""
        if not request.can_read_body:
            return None
        if _is_encoded(request.headers):
            exchange.encoded()
            return request.content.iter_any()
        body = await _read(request.content, self._limit)
        if len(body) > self._limit:
            await exchange.oversized(Direction.CLIENT_TO_SERVER)
            return _rest(body, request.content)
        judged = await exchange.request(body)
        return judged.on if judged.on is not None else _json_response(200, judged.back or b"")

    @contextlib.asynccontextmanager
    async def _forward(
        self, request: web.Request, body: bytes | AsyncIterator[bytes] | None
    ) -> AsyncIterator[ClientResponse]:
        """Send the request on. Raises ``upstream_not_trusted``, ``upstream_unreachable``."""
        fields = self._fields_for_upstream(request, body)
        has_no_length = body is None and hdrs.CONTENT_LENGTH not in fields
        try:
            answer = await self._client.request(
                request.method,
                URL(self._origin + request.raw_path, encoded=True),
                headers=fields,
                data=body,
                allow_redirects=False,
                middlewares=(_without_length,) if has_no_length else (),
            )
        except ClientSSLError as error:
            raise ProxyError(
                "upstream_not_trusted",
                f"no authority we trust vouches for the certificate of {self._origin};"
                " SSL_CERT_FILE names others",
            ) from error
        except (ClientError, OSError, TimeoutError, ValueError) as error:
            raise ProxyError(
                "upstream_unreachable",
                f"no answer from {self._origin} ({type(error).__name__}); check that it runs",
            ) from error
        async with answer:
            yield answer

    def _fields_for_upstream(
        self, request: web.Request, body: bytes | AsyncIterator[bytes] | None
    ) -> CIMultiDict[str]:
        fields = CIMultiDict(end_to_end(request.headers.items()))
        fields.popall(hdrs.HOST, None)  # the client sets the upstream's
        fields.popall(hdrs.EXPECT, None)  # we have said "continue" ourselves
        if isinstance(body, bytes):
            fields.popall(hdrs.CONTENT_LENGTH, None)  # set from the body, which may be another
        # So that it can be read on its way. Who sends codings nobody asked for is passed unread.
        fields[hdrs.ACCEPT_ENCODING] = "identity"
        fields.add(hdrs.VIA, VIA)
        return fields

    # From the server

    async def _pass_back(
        self,
        request: web.Request,
        answer: ClientResponse,
        exchange: WatchedExchange | None = None,
    ) -> web.StreamResponse:
        response = self._begin(answer)
        is_empty = request.method == hdrs.METH_HEAD or answer.status in (204, 304)
        kind = answer.content_type
        if kind == _JSON and resource_metadata.is_metadata(request.raw_path) and not is_empty:
            origin = self._needed_origin()

            async def moved(text: bytes) -> bytes:
                return resource_metadata.moved(text, origin)

            body = await self._whole(answer, response, moved)
        elif exchange is None or is_empty or kind not in (_JSON, _EVENTS):
            body = answer.content.iter_any()
        elif _is_encoded(answer.headers):
            exchange.encoded()
            body = answer.content.iter_any()
        elif kind == _EVENTS:
            body = self._events(request, answer.content, exchange)
        else:
            body = await self._whole(
                answer, response, lambda text: self._message(request, text, exchange), exchange
            )
        await response.prepare(request)
        await self._write(request, response, body)
        return response

    def _begin(self, answer: ClientResponse) -> web.StreamResponse:
        fields = CIMultiDict(end_to_end(answer.headers.items()))
        if answer.status == 401:
            challenges = fields.popall(hdrs.WWW_AUTHENTICATE, [])
            for challenge in challenges:
                fields.add(hdrs.WWW_AUTHENTICATE, self._challenge(challenge))
        response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=fields)
        response[_SENT] = frozenset(name.lower() for name in fields)
        return response

    async def _write(
        self, request: web.Request, response: web.StreamResponse, body: AsyncIterator[bytes]
    ) -> None:
        try:
            async for data in body:
                await response.write(data)
            await response.write_eof()
        except (ClientError, OSError):
            # One side is gone in the middle: the other must not take what there is for all.
            if request.transport is not None:
                request.transport.abort()

    async def _whole(
        self,
        answer: ClientResponse,
        response: web.StreamResponse,
        change: Callable[[bytes], Awaitable[bytes]],
        exchange: WatchedExchange | None = None,
    ) -> AsyncIterator[bytes]:
        """The body after ``change``, or as it comes where it is too long to be read."""
        try:
            body = await _read(answer.content, self._limit)
        except (ClientError, OSError) as error:
            raise ProxyError(
                "upstream_unreachable", f"{self._origin} broke off in the middle of its answer"
            ) from error
        if len(body) > self._limit:
            if exchange is not None:
                await exchange.oversized(Direction.SERVER_TO_CLIENT)
            return _rest(body, answer.content)
        body = await change(body)
        response.headers[hdrs.CONTENT_LENGTH] = str(len(body))
        return _only(body)

    async def _message(self, request: web.Request, body: bytes, exchange: WatchedExchange) -> bytes:
        return await self._told(request, await exchange.body(body))

    async def _events(
        self, request: web.Request, content: StreamReader, exchange: WatchedExchange
    ) -> AsyncIterator[bytes]:
        """The bytes of an event stream, each event once it may go on."""
        splitter = EventSplitter(self._limit)
        async for chunk in content.iter_any():
            for part in splitter.feed(chunk):
                yield await self._told(request, await exchange.event(part))
        if (rest := splitter.end()) is not None:
            yield rest.data if isinstance(rest, Fragment) else rest.raw

    async def _told(self, request: web.Request, judged: Judged) -> bytes:
        """What the client is told; the server is told what became of its message."""
        if judged.back is not None:
            await self._tell_server(request, judged.back)
        return judged.on or b""

    async def _tell_server(self, request: web.Request, body: bytes) -> None:
        """Answer a question that may not be put, as the client would: by a POST of its own."""
        fields = self._fields_for_upstream(request, body)
        fields.popall("Last-Event-ID", None)
        fields[hdrs.CONTENT_TYPE] = _JSON
        fields[hdrs.ACCEPT] = f"{_JSON}, {_EVENTS}"
        url = URL(self._origin + request.raw_path, encoded=True)
        timeout = ClientTimeout(total=_TELL_SECONDS)
        with contextlib.suppress(ClientError, OSError, TimeoutError):
            async with self._client.post(url, headers=fields, data=body, timeout=timeout):
                pass

    # OAuth

    def _challenge(self, challenge: str) -> str:
        if not resource_metadata.is_named_in(challenge):
            return challenge
        return resource_metadata.moved_challenge(challenge, self._needed_origin())

    def _needed_origin(self) -> str:
        if self._public_origin is not None:
            return self._public_origin
        error = ProxyError(
            "upstream_needs_public_url",
            "the server wants OAuth, whose clients believe it only under their own address for"
            " it; give --public-url, the address at which clients reach this proxy",
        )
        if not self._refused_once:
            self._refused_once = True
            self._say(str(error))
        raise error


async def _without_length(request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
    """aiohttp gives a request without a body a length of 0 where the client sent none."""
    request.headers.popall(hdrs.CONTENT_LENGTH, None)
    return await send(request)


async def _take_back_own_fields(_request: web.Request, response: web.StreamResponse) -> None:
    """aiohttp adds fields of its own where the upstream sent none."""
    for name in (hdrs.SERVER, hdrs.DATE, hdrs.CONTENT_TYPE):
        if name.lower() not in response.get(_SENT, (name.lower(),)):
            response.headers.popall(name, None)


def _by_name(fields: CIMultiDictProxy[str]) -> dict[str, str]:
    return {name.lower(): value for name, value in fields.items()}


def _text(field: str | None) -> str | None:
    """A field's value as text; bytes that are none stay apart from each other."""
    if field is None:
        return None
    return field.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _is_encoded(fields: CIMultiDictProxy[str]) -> bool:
    return fields.get(hdrs.CONTENT_ENCODING, "identity").strip().lower() != "identity"


def _body_of(request: web.Request) -> AsyncIterator[bytes] | None:
    return request.content.iter_any() if request.can_read_body else None


async def _read(content: StreamReader, limit: int) -> bytes:
    """All of it; where it is more than ``limit`` bytes, its beginning, and more than that."""
    held = bytearray()
    async for chunk in content.iter_any():
        held += chunk
        if len(held) > limit:
            break
    return bytes(held)


async def _rest(begun: bytes, content: StreamReader) -> AsyncIterator[bytes]:
    yield begun
    async for chunk in content.iter_any():
        yield chunk


async def _only(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _refusal(status: int, error: ReceiptsError) -> web.Response:
    body = {"jsonrpc": "2.0", "error": {"code": _SERVER_ERROR, "message": str(error)}}
    return _json_response(status, json.dumps(body).encode())


def _json_response(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, content_type=_JSON)
