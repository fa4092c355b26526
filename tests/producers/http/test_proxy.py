"""The proxy: everything passes as without it, each question once its receipt is durable."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from conversation import accept, call, decline, form, success, told
from http_peers import (
    EVENTS,
    Message,
    Upstream,
    Writer,
    connected,
    exchange,
    json_answer,
    post,
    read_chunk,
    read_head,
    saying,
)
from http_watching import proxied, receipts_in

from elicitation_receipts.producers.http.proxy import STOP_SECONDS
from elicitation_receipts.producers.seal import WhenFull
from elicitation_receipts.schemas.lock import FileLock
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event, FindingName

SESSION = "Mcp-Session-Id: one"


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


def at(upstream: Upstream) -> str:
    return f"http://127.0.0.1:{upstream.port}/mcp"


@contextlib.asynccontextmanager
async def behind(
    home: Path, answer: Callable[[Message, Writer], Awaitable[None]], **options: Any
) -> AsyncIterator[tuple[Upstream, int]]:
    """A server and the port of the proxy before it."""
    async with (
        Upstream(answer).running() as upstream,
        proxied(home, at(upstream), **options) as port,
    ):
        yield upstream, port


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


# Everything passes


ANSWERS = {
    "json": json_answer(text(success(1)), "Mcp-Session-Id: one", "X-Odd-CASE: a, b"),
    "no fields": b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
    "its own date and server": json_answer(
        b"{}", "Server: theirs", "Date: Thu, 01 Jan 1970 00:00:00 GMT"
    ),
    "two cookies": json_answer(b"{}", "Set-Cookie: a=1; Path=/", "Set-Cookie: b=2"),
    "no JSON": json_answer(b"{not json"),
    "an error": json_answer(b"{}", status="404 Not Found"),
    "another reason": b"HTTP/1.1 418 Short and stout\r\nContent-Length: 2\r\n\r\n\xff\x00",
    "redirect": b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n",
    "nothing": b"HTTP/1.1 204 No Content\r\n\r\n",
    "compressed": json_answer(gzip.compress(text(form(7)), mtime=0), "Content-Encoding: gzip"),
    "chunks": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked"
    b"\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "until the end": b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nto the end",
    "events": EVENTS + b": hello\r\n\r\n" + event(form(7), "1") + b"retry: 5\n\ndata: half",
}
REQUESTS = {
    "post": post(text(call(1)), "Authorization: Bearer secret", "X-Odd-CASE: 1"),
    "odd target": post(b"{}", path="/mcp?a=%2F%7e&b=+&c"),
    "another path": post(b"a=1", path="/register/../x%2fy"),
    "delete": post(b"", SESSION, method="DELETE"),
    "options": post(b"", "Access-Control-Request-Method: POST", method="OPTIONS"),
    "head": post(b"", method="HEAD"),
    "get": post(b"", "Accept: text/event-stream", "Last-Event-ID: 4", method="GET"),
    "of this connection": post(b"{}", "Connection: X-Mine, keep-alive", "Keep-Alive: 5"),
    "no json": post(b"\xff\xfe not json"),
    "text in a field": post(b"{}", "X-Odd: MARK").replace(b"MARK", "café".encode()),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_the_same_with_and_without_it(home: Path, answer: bytes) -> None:
    async def test() -> None:
        async with Upstream(saying(answer)).running() as upstream:
            bare = await exchange(upstream.port, REQUESTS["post"])
            async with proxied(home, at(upstream)) as port:
                assert (await exchange(port, REQUESTS["post"])).essence == bare.essence

    run(test())


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_the_same_with_and_without_it(home: Path, request_: bytes) -> None:
    async def test() -> None:
        async with Upstream(saying(ANSWERS["json"])).running() as upstream:
            await exchange(upstream.port, request_)
            async with proxied(home, at(upstream)) as port:
                await exchange(port, request_)
            bare, through = upstream.got
            own = ("x-mine", "keep-alive")
            bare.fields = [pair for pair in bare.fields if pair[0].lower() not in own]
            assert through.essence == bare.essence
            assert through.field("content-length") == bare.field("content-length")
            assert through.field("host") == f"127.0.0.1:{upstream.port}"
            assert through.field("via") == "1.1 elicitation-receipts"

    run(test())


def test_what_concerns_one_connection_stays_on_it(home: Path) -> None:
    answer = json_answer(b"{}", "Connection: X-Theirs", "X-Theirs: 1", "Keep-Alive: timeout=1")

    async def test() -> None:
        async with behind(home, saying(answer)) as (upstream, port):
            got = await exchange(port, REQUESTS["of this connection"])
        assert (got.field("X-Theirs"), got.field("Keep-Alive")) == (None, None)
        assert upstream.got[0].field("Keep-Alive") is None

    run(test())


@pytest.mark.parametrize("side", ["request", "answer"])
def test_a_field_that_would_lose_bytes_is_refused(home: Path, side: str) -> None:
    odd, plain = b"caf\xe9", b"cafe"
    request = post(b"{}", "X-Odd: MARK").replace(b"MARK", odd if side == "request" else plain)
    answer = json_answer(b"{}", "X-Odd: MARK").replace(b"MARK", odd if side == "answer" else plain)

    async def test() -> None:
        async with behind(home, saying(answer)) as (upstream, port):
            got = await exchange(port, request)
        assert got.status == 502
        assert b"field_not_utf8: " in got.body
        assert len(upstream.got) == (side == "answer")

    run(test())


# Streams


def test_an_event_passes_while_its_stream_goes_on(home: Path) -> None:
    go_on = asyncio.Event()

    async def answer(_message: Message, writer: Writer) -> None:
        writer.write(EVENTS + b": beat\n\n" + event(form(7), "1") + b"data: ha")
        await writer.drain()
        await go_on.wait()
        writer.write(b"lf\n\n")
        await writer.drain()

    async def test() -> None:
        async with (
            behind(home, answer) as (_, port),
            connected(port, post(text(call(1)), SESSION)) as (reader, _),
        ):
            await read_head(reader)
            passed = await read_chunk(reader) + await read_chunk(reader)
            assert passed == b": beat\n\n" + event(form(7), "1")
            assert [receipt.event for receipt in receipts_in(home)] == [Event.REQUESTED]
            go_on.set()
            assert await read_chunk(reader) == b"data: half\n\n"

    run(test())


def test_a_stream_without_an_event_has_begun(home: Path) -> None:
    async def answer(_message: Message, writer: Writer) -> None:
        writer.write(EVENTS)
        await asyncio.Event().wait()

    async def test() -> None:
        async with (
            behind(home, answer) as (_, port),
            connected(port, post(b"", SESSION, method="GET")) as (reader, _),
        ):
            assert (await read_head(reader)).status == 200

    run(test())


@pytest.mark.parametrize("begun", [False, True], ids=["before the answer", "within a stream"])
def test_a_client_that_leaves_is_noticed_by_the_server(home: Path, begun: bool) -> None:
    async def answer(_message: Message, writer: Writer) -> None:
        if begun:
            writer.write(EVENTS)
        await asyncio.Event().wait()

    async def test() -> None:
        async with behind(home, answer) as (upstream, port):
            async with connected(port, post(text(call(1)))) as (reader, _):
                while not upstream.got:
                    await asyncio.sleep(0.01)
                if begun:
                    await read_head(reader)
            await upstream.left.wait()

    run(test())


def test_a_server_that_breaks_off_is_not_taken_to_have_finished(home: Path) -> None:
    broken = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    broken += b"\r\n8\r\n: beat\n\n\r\n"

    async def test() -> None:
        async with behind(home, saying(broken)) as (_, port):
            with pytest.raises((asyncio.IncompleteReadError, OSError, ValueError)):
                await exchange(port, post(text(call(1))))

    run(test())


def test_an_event_delivered_again_is_the_same_question(home: Path) -> None:
    answers = {
        "POST": EVENTS + event(form(7), "1"),
        "GET": EVENTS + event(form(7), "1") + event(success(1), "2"),
    }

    async def answer(message: Message, writer: Writer) -> None:
        accepted = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
        is_answer = b"result" in message.body
        writer.write(accepted if is_answer else answers[message.first.split()[0]])
        await writer.drain()

    async def test() -> None:
        async with behind(home, answer) as (upstream, port):
            await exchange(port, post(text(call(1)), SESSION))
            await exchange(port, post(text(accept(7, {"branch": "main"})), SESSION))
            await exchange(port, post(b"", SESSION, "Last-Event-ID: 0", method="GET"))
        assert upstream.got[-1].field("Last-Event-ID") == "0"

    run(test())
    story = told(receipts_in(home))
    assert story == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]


# What is too long, compressed or refused


def test_what_is_too_long_passes_and_is_named(home: Path) -> None:
    long = text({"padding": "x" * 500})
    stream = EVENTS + event(form(7) | {"padding": "x" * 500}) + event(form(8))

    async def test() -> None:
        async with behind(home, saying(stream), limit=400) as (upstream, port):
            got = await exchange(port, post(long, SESSION))
            assert got.body == stream[len(EVENTS) :]
            assert upstream.got[0].body == long
        async with behind(home, saying(json_answer(long)), limit=400) as (upstream, port):
            assert (await exchange(port, post(b"{}", SESSION))).body == long

    run(test())
    found = [item.name for one in receipts_in(home) for item in one.findings]
    assert found.count(FindingName.OVERSIZED_MESSAGE) == 3
    assert [one.event for one in receipts_in(home)].count(Event.REQUESTED) == 1


def test_what_is_compressed_all_the_same_is_accounted_for(home: Path) -> None:
    said: list[str] = []

    async def test() -> None:
        async with behind(home, saying(ANSWERS["compressed"]), said=said) as (upstream, port):
            await exchange(port, REQUESTS["post"])
        assert upstream.got[0].field("accept-encoding") == "identity"

    run(test())
    assert [one.split(":")[0] for one in said] == ["content_encoded"]
    [lost] = [one.loss for one in receipts_in(home) if one.event is Event.LOST]
    assert lost is not None
    assert lost.count == 1


def test_an_answer_the_server_refused_was_not_delivered(home: Path) -> None:
    async def answer(message: Message, writer: Writer) -> None:
        is_call = b"tools/call" in message.body
        writer.write(EVENTS + event(form(7)) if is_call else json_answer(b"{}", status="500 No"))
        await writer.drain()

    async def test() -> None:
        async with behind(home, answer) as (_, port):
            await exchange(port, post(text(call(1)), SESSION))
            await exchange(port, post(text(accept(7, {"branch": "main"})), SESSION))

    run(test())
    assert told(receipts_in(home))[1:] == [
        "answered accepted by person_claimed",
        "noted open [answer_not_delivered]",
    ]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (("Host: evil.example",), "host_not_allowed"),
        (("Host: 127.0.0.1.evil.example:80",), "host_not_allowed"),
        (("Host: 127.0.0.1", "Origin: https://evil.example"), "origin_not_allowed"),
        (("Host: 127.0.0.1", "Origin: null"), "origin_not_allowed"),
        (("Host: 127.0.0.1", "Origin: http://203.0.113.5"), "origin_not_allowed"),
    ],
)
def test_a_name_bound_to_our_address_is_refused(
    home: Path, fields: tuple[str, ...], name: str
) -> None:
    request = "\r\n".join(["GET /mcp HTTP/1.1", *fields, "", ""]).encode()

    async def test() -> None:
        async with behind(home, saying(ANSWERS["json"])) as (upstream, port):
            got = await exchange(port, request)
            assert got.status == 403
            assert json.loads(got.body)["error"]["message"].startswith(f"{name}: ")
            assert upstream.got == []

    run(test())


@pytest.mark.parametrize(
    "fields",
    [
        ("Host: localhost:8080",),
        ("Host: [::1]:8080", "Origin: http://localhost:6274"),
        ("Host: proxy.example", "Origin: https://proxy.example"),
    ],
)
def test_our_own_names_are_served(home: Path, fields: tuple[str, ...]) -> None:
    request = "\r\n".join(["GET /mcp HTTP/1.1", *fields, "", ""]).encode()

    async def test() -> None:
        async with behind(home, saying(ANSWERS["json"]), names={"proxy.example"}) as (
            _,
            port,
        ):
            assert (await exchange(port, request)).status == 200

    run(test())


@pytest.mark.parametrize("target", ["@evil.example/", "http://evil.example/mcp", "*"])
def test_a_target_that_is_no_path_goes_nowhere(home: Path, target: str) -> None:
    async def test() -> None:
        async with behind(home, saying(ANSWERS["json"])) as (upstream, port):
            got = await exchange(port, post(b"{}", path=target))
            assert 400 <= got.status < 500
            assert upstream.got == []

    run(test())


def test_an_upstream_that_is_not_there_is_named(home: Path) -> None:
    async def test() -> None:
        async with proxied(home, "http://127.0.0.1:1/mcp") as port:
            got = await exchange(port, REQUESTS["post"])
        assert got.status == 502
        assert b"upstream_unreachable: " in got.body
        assert b"secret" not in got.body

    run(test())


def test_a_certificate_nobody_vouches_for_is_refused(home: Path, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        f"openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout {key}"
        f" -out {certificate}".split(),
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def test() -> None:
        async with Upstream(saying(ANSWERS["json"])).running(ssl=context) as upstream:
            url = at(upstream).replace("http:", "https:")
            async with proxied(home, url) as port:
                got = await exchange(port, REQUESTS["post"])
        assert got.status == 502
        assert b"upstream_not_trusted: " in got.body
        assert upstream.got == []

    run(test())


# OAuth


METADATA = "/.well-known/oauth-protected-resource/mcp"


def oauth(port: int) -> dict[str, bytes]:
    metadata = f"http://127.0.0.1:{port}{METADATA}"
    resource = {"resource": f"http://127.0.0.1:{port}/mcp", "scopes_supported": ["a"]}
    challenge = f'WWW-Authenticate: Bearer error="x", resource_metadata="{metadata}"'
    return {
        "/mcp": json_answer(b"{}", challenge, status="401 Unauthorized"),
        METADATA: json_answer(text(resource)),
    }


async def protected(message: Message, writer: Writer) -> None:
    port = writer.get_extra_info("sockname")[1]
    writer.write(oauth(port)[message.first.split()[1]])
    await writer.drain()


def test_with_a_public_url_oauth_clients_find_the_proxy(home: Path) -> None:
    async def test() -> None:
        async with Upstream(protected).running() as upstream:
            public = "https://proxy.example"
            async with proxied(home, at(upstream), public_origin=public) as port:
                refused = await exchange(port, REQUESTS["post"])
                assert refused.status == 401
                assert refused.field("WWW-Authenticate") == (
                    f'Bearer error="x", resource_metadata="{public}{METADATA}"'
                )
                found = await exchange(port, post(b"", path=METADATA, method="GET"))
                assert json.loads(found.body) == {
                    "resource": f"{public}/mcp",
                    "scopes_supported": ["a"],
                }

    run(test())


@pytest.mark.parametrize("path", ["/mcp", METADATA])
def test_without_a_public_url_an_oauth_server_is_refused_by_name(home: Path, path: str) -> None:
    said: list[str] = []

    async def test() -> None:
        async with behind(home, protected, said=said) as (_, port):
            for _ in range(2):
                got = await exchange(port, post(b"", path=path, method="GET"))
                assert got.status == 502
                assert b"upstream_needs_public_url: " in got.body

    run(test())
    assert [one.split(":")[0] for one in said] == ["upstream_needs_public_url"]


# Rather no message than no receipt


def test_a_question_that_cannot_be_recorded_is_not_put(home: Path) -> None:
    async def answer(message: Message, writer: Writer) -> None:
        accepted = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
        is_call = b"tools/call" in message.body
        writer.write(EVENTS + event(form(7), "1") + event(success(1), "2") if is_call else accepted)
        await writer.drain()

    async def test() -> None:
        async with behind(home, answer, when_full=WhenFull.BLOCK) as (upstream, port):
            with FileLock(home / "spool.lock"):
                got = await exchange(port, post(text(call(1)), SESSION, "Authorization: me"))
            assert got.body == b"event: message\nid: 1\n\n" + event(success(1), "2")
            told_server = upstream.got[-1]
            assert json.loads(told_server.body)["id"] == 7
            assert json.loads(told_server.body)["error"]["code"] == -32603
            assert told_server.field("Mcp-Session-Id") == "one"
            assert told_server.field("Authorization") == "me"

    run(test())
    assert [receipt.event for receipt in receipts_in(home)] == [Event.LOST]


def test_an_answer_that_cannot_be_recorded_is_not_given(home: Path) -> None:
    async def answer(message: Message, writer: Writer) -> None:
        accepted = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
        writer.write(EVENTS + event(form(7)) if b"tools/call" in message.body else accepted)
        await writer.drain()

    async def test() -> None:
        async with behind(home, answer, when_full=WhenFull.BLOCK) as (upstream, port):
            await exchange(port, post(text(call(1)), SESSION))
            with FileLock(home / "spool.lock"):
                await exchange(port, post(text(accept(7, {"branch": "secret"})), SESSION))
            assert b"secret" not in upstream.got[-1].body
            assert json.loads(upstream.got[-1].body)["error"]["code"] == -32603

    run(test())


# Whose call is it?


@pytest.mark.parametrize("subject_header", [None, "X-User"])
def test_equal_calls_of_two_users_are_never_crossed(home: Path, subject_header: str | None) -> None:
    """2026-07-28 without `requestState`: only who calls tells one retry from the other."""
    asked = {
        "resultType": "input_required",
        "inputRequests": {"k": {"method": "elicitation/create", "params": form(0)["params"]}},
    }
    done = {"resultType": "complete", "content": []}

    async def answer(message: Message, writer: Writer) -> None:
        body = json.loads(message.body)
        result = done if "inputResponses" in body["params"] else asked
        said = text({"jsonrpc": "2.0", "id": body["id"], "result": result})
        # It hangs up after an answer: unannounced, the next request could meet that.
        writer.write(json_answer(said, "Connection: close"))
        await writer.drain()

    def as_user(name: str, action: str | None = None) -> bytes:
        body = call(1 if action is None else 2)
        body["params"]["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        }
        if action is not None:
            body["params"]["inputResponses"] = {"k": {"action": action}}
        return post(text(body), f"{subject_header or 'Authorization'}: {name}")

    async def test() -> None:
        async with behind(home, answer, subject_header=subject_header) as (_, port):
            await asyncio.gather(*(exchange(port, as_user(name)) for name in "ab"))
            answers = (as_user("b", "decline"), as_user("a", "cancel"))
            await asyncio.gather(*(exchange(port, answer) for answer in answers))

    run(test())
    stories: dict[object, list[str]] = {}
    subjects: dict[object, set[object]] = {}
    for receipt in receipts_in(home):
        stories.setdefault(receipt.elicitation_id, []).extend(told([receipt]))
        subjects.setdefault(receipt.elicitation_id, set()).add(receipt.subject_ref)
    assert sorted(stories.values()) == [
        ["requested open", f"answered {outcome} by person_claimed", "resumed (success)"]
        for outcome in ("cancelled", "declined")
    ]
    named = set.union(*subjects.values())
    assert all(len(each) == 1 for each in subjects.values())
    assert (len(named), None in named) == ((1, True) if subject_header is None else (2, False))


def test_without_anybodys_name_equal_calls_are_not_joined(home: Path) -> None:
    asked = {
        "resultType": "input_required",
        "inputRequests": {"k": {"method": "elicitation/create", "params": form(0)["params"]}},
    }

    async def answer(message: Message, writer: Writer) -> None:
        id_ = json.loads(message.body)["id"]
        writer.write(json_answer(text({"jsonrpc": "2.0", "id": id_, "result": asked})))
        await writer.drain()

    async def test() -> None:
        async with behind(home, answer) as (_, port):
            for _ in range(2):
                await exchange(port, post(text(call(1))))

    run(test())
    put = receipts_in(home)
    assert len({receipt.operation_id for receipt in put}) == len(put) == 2


# Stop and start


def test_questions_outlive_the_proxy_and_their_answers_find_them(home: Path) -> None:
    async def answer(message: Message, writer: Writer) -> None:
        accepted = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
        writer.write(EVENTS + event(form(7)) if b"tools/call" in message.body else accepted)
        await writer.drain()

    async def test() -> None:
        async with Upstream(answer).running() as upstream:
            async with proxied(home, at(upstream)) as port:
                await exchange(port, post(text(call(1)), SESSION))
            async with proxied(home, at(upstream)) as port:
                await exchange(port, post(text(decline(7)), SESSION))
            assert json.loads(upstream.got[-1].body) == decline(7)

    run(test())
    assert told(receipts_in(home)) == ["requested open", "answered declined by person_claimed"]
    with Spool.open(home, create=False) as spool:
        assert spool.open_questions() == []


def test_a_stop_does_not_wait_for_streams_that_never_end(home: Path) -> None:
    async def answer(_message: Message, writer: Writer) -> None:
        writer.write(EVENTS)
        await asyncio.Event().wait()

    async def test() -> None:
        async with Upstream(answer).running() as upstream:
            async with proxied(home, at(upstream)) as port:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(post(b"", SESSION, method="GET"))
                await read_head(reader)
                started = asyncio.get_running_loop().time()
            assert asyncio.get_running_loop().time() - started < STOP_SECONDS / 2
            writer.close()

    run(test())
