"""The reference server of the TypeScript SDK behind the tap: its bytes, and its receipts."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import URL_ELICITATION_REQUIRED, ElicitResult, Implementation
from telling import tell

from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Carrier

SERVER = ("npx", "-y", "@modelcontextprotocol/server-everything@2026.8.31", "stdio")
FORM = "trigger-elicitation-request"
URL = "trigger-url-elicitation"
ARGUMENTS = {
    "url": "https://pages.example/open?ticket=1",
    "message": "Open this.",
    "elicitationId": "e-1",
}
#: One answer to each of the thirteen kinds of field, all valid.
CONTENT: dict[str, Any] = {
    "name": "Zoë Quist",
    "check": True,
    "firstLine": "Call me Ishmael.",
    "email": "zoe.quist@example.org",
    "homepage": "https://quist.example/",
    "birthdate": "1990-02-03",
    "integer": 7,
    "number": 2.5,
    "untitledSingleSelectEnum": "Rachel",
    "untitledMultipleSelectEnum": ["Piano", "Bass"],
    "titledSingleSelectEnum": "hero-2",
    "titledMultipleSelectEnum": ["fish-1", "fish-3"],
    "legacyTitledEnum": "pet-2",
}


def call(number: int, tool: str, arguments: dict[str, Any]) -> bytes:
    params = {"name": tool, "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(request).encode()


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("npx") is None, reason="npx (Node.js) is not installed"),
]


INITIALIZE = (
    b'{"jsonrpc":"2.0","id":"one","method":"initialize","params":'
    b'{"protocolVersion":"2025-11-25","clientInfo":{"name":"bytes","version":"1"},'
    b'"capabilities":{"elicitation":{"form":{},"url":{}}}}}'
)
ACCEPT = (
    b' { "id":0, "result":{"content":{"name":"Zo\\u00eb \xe2\x80\x9cQ\xe2\x80\x9d"},'
    b'"action":"accept"},"jsonrpc":"2.0"}\t'
)
DECLINE = b'{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}'
#: What a client that speaks in bytes sends, and how many lines the server says to it.
SCRIPT: tuple[tuple[bytes, int], ...] = (
    (INITIALIZE, 1),
    (b'{"method":"notifications/initialized", "jsonrpc":"2.0"}', 3),
    (b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}', 1),
    (call(3, FORM, {}), 1),
    (ACCEPT, 1),
    (call(4, URL, ARGUMENTS), 1),
    (DECLINE, 1),
)


def test_its_bytes_are_the_same_with_and_without_the_tap(
    tmp_path: Path, tap: Callable[..., list[str]]
) -> None:
    bare = converse(list(SERVER))
    assert converse(tap(tmp_path / "home", *SERVER)) == bare


def test_its_questions_leave_the_right_receipts(
    tmp_path: Path,
    tap: Callable[..., list[str]],
    read_spool: Callable[[Path], list[Receipt]],
) -> None:
    asyncio.run(drive(tap(tmp_path / "home", *SERVER)))
    stories: dict[object, list[Receipt]] = {}
    for receipt in read_spool(tmp_path / "home"):
        stories.setdefault(receipt.elicitation_id, []).append(receipt)
    assert [(story[0].carrier, tell(story)) for story in stories.values()] == [
        (
            "server_request",
            [
                "requested open !too_many_fields",
                "answered accepted person_claimed",
                "resumed success",
            ],
        ),
        (
            "server_request",
            [
                "requested open !reask_after_accept !too_many_fields",
                "answered invalid person_claimed !accept_schema_mismatch",
                "resumed success",
            ],
        ),
        (
            "server_request",
            [
                "requested open !too_many_fields",
                "answered declined person_claimed",
                "resumed success",
            ],
        ),
        (
            "server_request",
            [
                "requested open",
                "answered consented person_claimed",
                "resumed success",
                "abandoned unproven runtime",  # it never tells that a page was completed
            ],
        ),
        (
            "server_request",
            ["requested open", "answered cancelled person_claimed", "resumed success"],
        ),
        (
            "url_required_error",
            ["requested open", "completed runtime operation_result", "resumed success"],
        ),
        (
            "server_request",
            [
                "requested open !reask_after_refusal",
                "answered consented person_claimed",
                "resumed success",
                "abandoned unproven runtime",
            ],
        ),
    ]
    required, retried = list(stories.values())[-2:]
    assert required[0].operation_id == retried[0].operation_id
    assert [story[0].url_origin for story in stories.values()] == [
        None,
        None,
        None,
        "https://pages.example",
        "https://pages.example",
        "https://modelcontextprotocol.io",
        "https://pages.example",
    ]
    failed = list(stories.values())[1][1].validation
    assert failed is not None
    assert [(one.field, one.keyword) for one in failed.failed] == [
        ("email", "format"),
        ("integer", "maximum"),
    ]


def test_a_task_that_asks_leaves_the_right_receipts(
    tmp_path: Path,
    tap: Callable[..., list[str]],
    read_spool: Callable[[Path], list[Receipt]],
) -> None:
    with subprocess.Popen(
        tap(tmp_path, *SERVER),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        # The server stays for minutes after its input has ended; and a task may never ask.
        end = partial(os.killpg, process.pid, signal.SIGKILL)
        watchdog = threading.Timer(120, end)
        watchdog.start()
        try:
            run_task(process)
        finally:
            watchdog.cancel()
            end()
    receipts = read_spool(tmp_path)
    assert tell(receipts) == [
        "requested open",
        "answered declined person_claimed",
        "resumed success",
    ]
    assert {receipt.carrier for receipt in receipts} == {Carrier.TASK}


def run_task(process: subprocess.Popen[bytes]) -> None:
    """Call a tool as a task, poll it until it wants to ask, decline, get the result."""
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def send(message: dict[str, Any]) -> None:
        stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        stdin.flush()

    def until(is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while not is_it(message := json.loads(stdout.readline())):
            pass
        found: dict[str, Any] = message
        return found

    def ask(id_: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        send({"id": id_, "method": method, "params": params})
        result: dict[str, Any] = until(lambda message: message.get("id") == id_)["result"]
        return result

    stdin.write(INITIALIZE + b"\n")
    stdin.flush()
    until(lambda message: message.get("id") == "one")
    send({"method": "notifications/initialized"})
    while "simulate-research-query" not in str(ask(2, "tools/list", {})):
        pass
    research = {"topic": "python", "ambiguous": True}
    params = {"name": "simulate-research-query", "arguments": research, "task": {"ttl": 60_000}}
    task = {"taskId": ask(3, "tools/call", params)["task"]["taskId"]}
    for id_ in range(10, 100):
        if ask(id_, "tasks/get", task)["status"] == "input_required":
            break
        time.sleep(0.3)
    send({"id": 4, "method": "tasks/result", "params": task})
    question = until(lambda message: message.get("method") == "elicitation/create")
    time.sleep(0.3)
    send({"id": question["id"], "result": {"action": "decline"}})
    until(lambda message: message.get("id") == 4)


async def drive(command: list[str]) -> None:
    """Ask for every kind of question the server has, with the official client."""
    answers: Iterator[ElicitResult] = iter(
        (
            ElicitResult(action="accept", content=CONTENT),
            ElicitResult(action="accept", content=CONTENT | {"integer": 101, "email": "nobody"}),
            ElicitResult(action="decline"),
            ElicitResult(action="accept"),
            ElicitResult(action="cancel"),
            ElicitResult(action="accept"),
        )
    )

    async def answer(_context: object, _params: object) -> ElicitResult:
        await asyncio.sleep(0.3)
        return next(answers)

    server = StdioServerParameters(command=command[0], args=command[1:])
    client = Client(
        server,
        mode="legacy",
        elicitation_callback=answer,  # type: ignore[arg-type]
        client_info=Implementation(name="scripted", version="1"),
    )
    async with client:
        await until_listed(client, URL)
        for tool, arguments in (
            (FORM, {}),
            (FORM, {}),
            (FORM, {}),
            (URL, ARGUMENTS),
            (URL, ARGUMENTS),
        ):
            await client.call_tool(tool, arguments)
        at_error = ARGUMENTS | {"errorPath": True}
        with pytest.raises(MCPError) as required:
            await client.call_tool(URL, at_error)
        assert required.value.error.code == URL_ELICITATION_REQUIRED
        await client.call_tool(URL, at_error)
    assert next(answers, None) is None


async def until_listed(client: Client, tool: str) -> None:
    """The server has its tools only some time after the handshake."""
    async with asyncio.timeout(30):
        while all(listed.name != tool for listed in (await client.list_tools()).tools):
            await asyncio.sleep(0.05)


def converse(command: list[str]) -> tuple[bytes, int]:
    """Follow the script with a server; every byte it said, and its exit code."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        watchdog = threading.Timer(120, process.kill)
        watchdog.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            said = []
            for line, replies in SCRIPT:
                process.stdin.write(line + b"\n")
                process.stdin.flush()
                said += [process.stdout.readline() for _ in range(replies)]
                assert said[-1].endswith(b"\n")
            process.stdin.close()
            said.append(process.stdout.read())
            return b"".join(said), process.wait()
        finally:
            watchdog.cancel()
