"""The reference server of the TypeScript SDK over Streamable HTTP, behind the proxy."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from http_demo import proxy
from http_peers import connected, exchange, post, read_chunk, read_head
from mcp.client.client import Client
from mcp_types import ElicitResult
from telling import tell

from elicitation_receipts.producers.http.event_stream import Event, EventSplitter
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Carrier, Vantage

SERVER = ("npx", "-y", "@modelcontextprotocol/server-everything@2026.8.31", "streamableHttp")
FORM = "trigger-elicitation-request"
ACCEPT = "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("npx") is None, reason="npx (Node.js) is not installed"),
]


@pytest.fixture(scope="module")
def everything() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(
        SERVER,
        env=os.environ | {"PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            asyncio.run(until_open(port))
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # npx and what it started


async def until_open(port: int) -> None:
    async with asyncio.timeout(120):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                writer.close()
                return


def test_its_questions_leave_the_right_receipts(
    everything: str, tmp_path: Path, read_spool: Callable[[Path], list[Receipt]]
) -> None:
    answers = iter(("decline", "cancel"))

    async def answer(_context: object, _params: object) -> ElicitResult:
        await asyncio.sleep(0.3)
        return ElicitResult(action=next(answers))  # type: ignore[arg-type]

    async def drive(url: str) -> None:
        client = Client(url, mode="legacy", elicitation_callback=answer)  # type: ignore[arg-type]
        async with asyncio.timeout(60), client:
            while all(one.name != FORM for one in (await client.list_tools()).tools):
                await asyncio.sleep(0.05)
            for _ in range(2):
                await client.call_tool(FORM, {})

    home = tmp_path / "home"
    with proxy(home, everything) as url:
        asyncio.run(drive(url))
    receipts = read_spool(home)
    assert {receipt.vantage for receipt in receipts} == {Vantage.HTTP}
    assert tell(receipts) == [
        "requested open !too_many_fields",
        "answered declined person_claimed",
        "resumed success",
        "requested open !reask_after_refusal !too_many_fields",
        "answered cancelled person_claimed",
        "resumed success",
    ]


def test_a_stream_taken_up_again_asks_no_second_time(
    everything: str, tmp_path: Path, read_spool: Callable[[Path], list[Receipt]]
) -> None:
    home = tmp_path / "home"
    with proxy(home, everything) as url:
        port = int(url.split(":")[2].split("/")[0])
        asyncio.run(asyncio.wait_for(resume(port), 60))
    assert tell(read_spool(home)) == [
        "requested open !too_many_fields",
        "answered declined person_claimed",
        "resumed success",
    ]


async def resume(port: int) -> None:
    """Call a tool, lose the stream with the question on it, take it up, answer, get the result."""
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {"form": {}}},
        "clientInfo": {"name": "scripted", "version": "1"},
    }
    begun = await exchange(port, post(message(0, "initialize", hello), ACCEPT))
    session = f"Mcp-Session-Id: {begun.field('Mcp-Session-Id')}"
    initialized = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
    await exchange(port, post(initialized, session, ACCEPT))
    call = message(1, "tools/call", {"name": FORM, "arguments": {}})
    while True:  # the server has its tools only some time after the handshake
        listed = await exchange(port, post(message(2, "tools/list", {}), session, ACCEPT))
        if FORM.encode() in listed.body:
            break
    seen = await read_until(port, post(call, session, ACCEPT), "elicitation/create")
    before = seen[-2].id if len(seen) > 1 else None
    assert before is not None, "the server primes its streams with an id"
    again = post(b"", session, ACCEPT, f"Last-Event-ID: {before}", method="GET")
    question = json.loads((await read_until(port, again, "elicitation/create"))[-1].data)
    assert question == json.loads(seen[-1].data)
    await asyncio.sleep(0.3)
    declined = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
    await exchange(port, post(json.dumps(declined).encode(), session, ACCEPT))
    last = post(b"", session, ACCEPT, f"Last-Event-ID: {seen[-1].id}", method="GET")
    assert json.loads((await read_until(port, last, '"id":1'))[-1].data)["id"] == 1


def test_a_task_that_asks_leaves_the_right_receipts(
    everything: str, tmp_path: Path, read_spool: Callable[[Path], list[Receipt]]
) -> None:
    home = tmp_path / "home"
    with proxy(home, everything) as url:
        asyncio.run(asyncio.wait_for(run_task(url), 60))
    receipts = read_spool(home)
    assert tell(receipts) == [
        "requested open",
        "answered declined person_claimed",
        "resumed success",
    ]
    assert {receipt.carrier for receipt in receipts} == {Carrier.TASK}
    assert {receipt.vantage for receipt in receipts} == {Vantage.HTTP}


async def run_task(url: str) -> None:
    """Call a tool as a task, poll it until it wants to ask, decline, get the result."""
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
    }
    async with aiohttp.ClientSession(headers=headers) as http:

        async def send(message: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
            async with http.post(url, json={"jsonrpc": "2.0", **message}, headers=headers) as got:
                if "Mcp-Session-Id" in got.headers:
                    headers["Mcp-Session-Id"] = got.headers["Mcp-Session-Id"]
                async for line in got.content:
                    if line.startswith(b"data: {"):
                        yield json.loads(line[5:])

        async def ask(id_: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
            async for message in send({"id": id_, "method": method, "params": params}):
                if message.get("id") == id_ and "result" in message:
                    result: dict[str, Any] = message["result"]
                    return result
                if message.get("method") == "elicitation/create":
                    await asyncio.sleep(0.3)
                    answer = {"id": message["id"], "result": {"action": "decline"}}
                    assert [one async for one in send(answer)] == []
            raise AssertionError("the stream ended without a result")

        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "elicitation": {"form": {}},
                "tasks": {"requests": {"elicitation": {"create": {}}}},
            },
            "clientInfo": {"name": "scripted", "version": "1"},
        }
        await ask(0, "initialize", hello)
        assert [one async for one in send({"method": "notifications/initialized"})] == []
        while "simulate-research-query" not in str(await ask(1, "tools/list", {})):
            await asyncio.sleep(0.1)
        research = {"topic": "python", "ambiguous": True}
        call = {"name": "simulate-research-query", "arguments": research, "task": {"ttl": 60_000}}
        task = {"taskId": (await ask(2, "tools/call", call))["task"]["taskId"]}
        for id_ in range(10, 200):
            if (await ask(id_, "tasks/get", task))["status"] != "working":
                break
            await asyncio.sleep(0.3)
        await ask(3, "tasks/result", task)


def message(id_: int, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode()


async def read_until(port: int, request: bytes, text: str) -> list[Event]:
    """The events of a response up to one that has ``text``; then the stream is left."""
    splitter, seen = EventSplitter(), []
    async with connected(port, request) as (reader, _):
        assert (await read_head(reader)).status == 200
        while True:
            for event in splitter.feed(await read_chunk(reader)):
                assert isinstance(event, Event)
                if event.data or event.id:
                    seen.append(event)
                if text.encode() in event.data:
                    return seen
