"""The ASGI middleware: the application is as without it, each question waits for its receipt."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from conversation import KEYS, accept, call, decline, form, request, success, told, url
from http_peers import connected, exchange, post, read_chunk, read_head
from http_watching import receipts_in, watching

from elicitation_receipts.producers.http.asgi import App, Message, Middleware, Receive, Scope, Send
from elicitation_receipts.producers.http.watcher import HttpWatcher
from elicitation_receipts.producers.seal import WhenFull
from elicitation_receipts.schemas import digest
from elicitation_receipts.schemas.errors import HomeError, UsageError
from elicitation_receipts.schemas.lock import FileLock
from elicitation_receipts.schemas.vocabulary import Event, FindingName, Vantage

SESSION = "Mcp-Session-Id: one"
JSON = (b"content-type", b"application/json")
EVENTS = (b"content-type", b"text/event-stream")


def run(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await test

    asyncio.run(bounded())


def text(message: object) -> bytes:
    return json.dumps(message).encode()


def event(message: object, id_: str | None = None) -> bytes:
    named = f"id: {id_}\n" if id_ else ""
    return f"event: message\n{named}data: {json.dumps(message)}\n\n".encode()


class Scripted:
    """An application that answers with what a test says, and keeps what it was asked."""

    def __init__(self, *parts: bytes, fields: tuple[tuple[bytes, bytes], ...] = (EVENTS,)) -> None:
        self.parts = parts
        self.fields = fields
        self.got: list[tuple[str, bytes]] = []
        self.lives: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for _ in range(2):
                kind = (await receive())["type"]
                self.lives.append(kind)
                await send({"type": f"{kind}.complete"})
            return
        body = b""
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message["body"]
            if not message.get("more_body"):
                break
        self.got.append((scope["method"], body))
        is_answer = b"tools/call" not in body and scope["method"] == "POST"
        if is_answer and EVENTS in self.fields:
            await send({"type": "http.response.start", "status": 202, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await send({"type": "http.response.start", "status": 200, "headers": list(self.fields)})
        for part in self.parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


@contextlib.asynccontextmanager
async def served(app: App) -> AsyncIterator[int]:
    """``app`` behind a real server; gives the port."""
    config = uvicorn.Config(app, port=0, log_level="error", date_header=False)  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    try:
        while not server.started:
            await asyncio.sleep(0.01)
            assert not serving.done()
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await serving


def opener(
    home: Path, when_full: WhenFull = WhenFull.DROP, warnings: list[str] | None = None
) -> Callable[[], AbstractContextManager[HttpWatcher]]:
    return lambda: watching(home, vantage=Vantage.ASGI, when_full=when_full, warnings=warnings)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


SCRIPTS = {
    "json": Scripted(b'{"jsonrpc": ', b'"2.0"}', fields=(JSON, (b"x-odd", b"1"))),
    "json with its length": Scripted(b"{}", fields=(JSON, (b"content-length", b"2"))),
    "no JSON": Scripted(b"{not json", fields=(JSON,)),
    "text": Scripted(b"a", b"b", fields=((b"content-type", b"text/plain"),)),
    "compressed": Scripted(
        gzip.compress(b"{}", mtime=0), fields=(JSON, (b"content-encoding", b"gzip"))
    ),
    "events": Scripted(b": beat\r\n\r\n", event(form(7), "1") + b"data", b": x\n\ndata: half"),
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
@pytest.mark.parametrize("method", ["POST", "GET", "HEAD"])
def test_an_exchange_is_the_same_with_and_without_it(
    home: Path, script: Scripted, method: str
) -> None:
    request = (
        post(text(call(1)), SESSION, method=method)
        if method == "POST"
        else post(b"", SESSION, method=method)
    )

    async def test() -> None:
        script.got.clear()
        async with served(script) as port:
            bare = await exchange(port, request)
        async with served(Middleware(script, opener(home))) as port:
            through = await exchange(port, request)
        assert through.essence == bare.essence
        assert script.got[0] == script.got[1]

    run(test())


def test_the_life_of_the_application_goes_by_it(home: Path) -> None:
    script = Scripted()

    async def test() -> None:
        async with served(Middleware(script, opener(home))):
            assert script.lives == ["lifespan.startup"]
        assert script.lives == ["lifespan.startup", "lifespan.shutdown"]

    run(test())


def test_a_server_that_could_not_write_does_not_start() -> None:
    said: list[Message] = []

    def start() -> AbstractContextManager[HttpWatcher]:
        raise HomeError("home_unwritable", "check it")

    async def receive() -> Message:
        return {"type": "lifespan.startup"}

    async def send(message: Message) -> None:
        said.append(message)

    script = Scripted()
    run(Middleware(script, start)({"type": "lifespan"}, receive, send))
    assert said == [
        {"type": "lifespan.startup.failed", "message": "receipts: home_unwritable: check it"}
    ]
    assert script.lives == []


def test_a_conversation_leaves_its_receipts(home: Path) -> None:
    script = Scripted(event(form(7), "1"), event(success(1), "2"))

    async def test() -> None:
        async with served(Middleware(script, opener(home))) as port:
            await exchange(port, post(text(call(1)), SESSION))
            await exchange(port, post(text(accept(7, {"branch": "main"})), SESSION))

    run(test())
    assert {receipt.vantage for receipt in receipts_in(home)} == {Vantage.ASGI}
    assert told(receipts_in(home))[0].startswith("requested open")


def test_a_question_outlives_a_worker(home: Path) -> None:
    script = Scripted(event(form(7), "1"))

    async def test() -> None:
        for message in (call(1), decline(7)):
            async with served(Middleware(script, opener(home))) as port:
                await exchange(port, post(text(message), SESSION))

    run(test())
    assert told(receipts_in(home)) == ["requested open", "answered declined by person_claimed"]


def test_an_event_passes_while_its_stream_goes_on(home: Path) -> None:
    go_on = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [EVENTS]})
        first = event(form(7)) + b"data: ha"
        await send({"type": "http.response.body", "body": first, "more_body": True})
        await go_on.wait()
        await send({"type": "http.response.body", "body": b"lf\n\n"})

    async def test() -> None:
        async with (
            served(Middleware(app, opener(home))) as port,
            connected(port, post(text(call(1)), SESSION)) as (reader, _),
        ):
            await read_head(reader)
            assert await read_chunk(reader) == event(form(7))
            assert [receipt.event for receipt in receipts_in(home)] == [Event.REQUESTED]
            go_on.set()
            assert await read_chunk(reader) == b"data: half\n\n"

    run(test())


def test_what_is_too_long_passes_and_is_named(home: Path) -> None:
    long = text({"padding": "x" * 500})

    async def test() -> None:
        for fields, parts in (((EVENTS,), (b"data: ", long, b"\n\n")), ((JSON,), (long,))):
            script = Scripted(*parts, fields=fields)
            async with served(Middleware(script, opener(home), limit=400)) as port:
                got = await exchange(port, post(text(call(1)), SESSION))
                assert got.body == b"".join(parts)
                await exchange(port, post(long, SESSION))
            assert script.got[-1] == ("POST", long)

    run(test())
    found = [item.name for one in receipts_in(home) for item in one.findings]
    assert found.count(FindingName.OVERSIZED_MESSAGE) == 5


def test_what_is_compressed_is_accounted_for(home: Path) -> None:
    warnings: list[str] = []

    async def test() -> None:
        app = Middleware(SCRIPTS["compressed"], opener(home, warnings=warnings))
        async with served(app) as port:
            await exchange(port, post(text(call(1)), SESSION))

    run(test())
    assert [one.split(":")[0] for one in warnings] == ["content_encoded"]
    assert [receipt.event for receipt in receipts_in(home)] == [Event.LOST]


def test_only_where_mcp_is_spoken_anything_is_read(home: Path) -> None:
    script = Scripted(event(form(7)))

    async def test() -> None:
        async with served(Middleware(script, opener(home), path="/mcp")) as port:
            await exchange(port, post(text(call(1)), path="/other"))

    run(test())
    assert receipts_in(home) == []


def test_whom_the_server_has_authenticated_stands_on_the_receipts(home: Path) -> None:
    script = Scripted(event(form(7)))

    async def test() -> None:
        app = Middleware(script, opener(home), subject=lambda scope: scope["path"])
        async with served(app) as port:
            for path in ("/ada", "/bob", "/ada"):
                await exchange(port, post(text(call(1)), path=path))

    run(test())
    first, second, third = (receipt.subject_ref for receipt in receipts_in(home))
    assert first == third != second
    assert None not in (first, second)


# What the server says of itself


def test_what_the_wire_does_not_show_is_recorded(home: Path) -> None:
    script = Scripted(event(url(7)))
    recorded: list[bool] = []

    async def callback(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/callback":
            receipts: Middleware = scope["elicitation_receipts"]
            done = await receipts.record_completion("ceremony", "authenticated_callback")
            recorded.append(done)
        await script(scope, receive, send)

    async def test() -> None:
        app = Middleware(callback, opener(home), path="/mcp")
        async with served(app) as port:
            await exchange(port, post(text(call(1)), SESSION))
            await app.record_subject("ada", {"headers": [(b"mcp-session-id", b"one")]})
            await exchange(port, post(text(accept(7)), SESSION))
            await app.record_subject("bob", "another session")
            for _ in range(2):
                await exchange(port, post(b"{}", path="/callback"))
            assert not await app.record_checkpoint("no such task", 1)

    run(test())
    assert recorded == [True, False]
    put, consented, completed = receipts_in(home)
    assert told([consented, completed]) == [
        "answered consented by person_claimed",
        "completed completed by runtime (authenticated_callback)",
    ]
    assert put.subject_ref is None
    assert (
        consented.subject_ref
        == completed.subject_ref
        == digest.keyed(KEYS.reference, "subject", "ada")
    )


def test_a_checkpoint_stands_on_the_receipts_of_its_task(home: Path) -> None:
    begun = {"resultType": "task", "taskId": "t", "status": "working"}
    asking = {"status": "input_required", "inputRequests": {"k": form(0)}}
    script = Scripted(fields=(JSON,))

    async def test() -> None:
        app = Middleware(script, opener(home))
        async with served(app) as port:
            script.parts = (text({"jsonrpc": "2.0", "id": 1, "result": begun}),)
            await exchange(port, post(text(call(1)), SESSION))
            assert await app.record_checkpoint("t", 4)
            script.parts = (text({"jsonrpc": "2.0", "id": 2, "result": asking}),)
            await exchange(port, post(text(request(2, "tasks/get", {"taskId": "t"})), SESSION))

    run(test())
    (put,) = receipts_in(home)
    assert put.task is not None
    assert put.task.checkpoint == 4


RECORDS: dict[str, Callable[[Middleware], Coroutine[Any, Any, Any]]] = {
    "proof_invalid": lambda app: app.record_completion("q", "server_notification"),  # type: ignore[arg-type]
    "session_missing": lambda app: app.record_subject("ada", {"headers": []}),
    "checkpoint_invalid": lambda app: app.record_checkpoint("t", -1),
}


@pytest.mark.parametrize("reason", RECORDS)
def test_what_cannot_be_recorded_is_named(home: Path, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        run(RECORDS[reason](Middleware(Scripted(), opener(home))))


# Rather no message than no receipt


def test_a_question_that_cannot_be_recorded_is_not_put(home: Path) -> None:
    script = Scripted(event(form(7), "1"), event(success(1), "2"))

    async def test() -> None:
        async with served(Middleware(script, opener(home, WhenFull.BLOCK))) as port:
            with FileLock(home / "spool.lock"):
                got = await exchange(port, post(text(call(1)), SESSION))
            assert got.body == b"event: message\nid: 1\n\n" + event(success(1), "2")

    run(test())
    method, body = script.got[-1]
    assert (method, json.loads(body)["id"]) == ("POST", 7)
    assert json.loads(body)["error"]["code"] == -32603


def test_a_retry_that_cannot_be_recorded_is_refused(home: Path) -> None:
    asked = {
        "resultType": "input_required",
        "inputRequests": {"k": {"method": "elicitation/create", "params": form(0)["params"]}},
    }
    script = Scripted(text({"jsonrpc": "2.0", "id": 1, "result": asked}), fields=(JSON,))
    retry = call(2)
    retry["params"]["inputResponses"] = {"k": {"action": "decline"}}

    async def test() -> None:
        async with served(Middleware(script, opener(home, WhenFull.BLOCK))) as port:
            await exchange(port, post(text(call(1)), "Authorization: me"))
            with FileLock(home / "spool.lock"):
                got = await exchange(port, post(text(retry), "Authorization: me"))
        assert json.loads(got.body)["id"] == 2
        assert "receipt_not_written" in json.loads(got.body)["error"]["message"]

    run(test())
    assert len(script.got) == 1
