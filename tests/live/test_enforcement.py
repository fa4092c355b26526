"""Where policy enforces, no prohibited question reaches a client, and its server is told so."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import secret_server
from asking_client import Client as Scripted
from http_demo import proxy, serving
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from elicitation_receipts import watch
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Carrier, DecidedBy, Decision, Event, Outcome

pytestmark = pytest.mark.slow

SERVER = (sys.executable, secret_server.__file__)
HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
POLICY = 'id: strict\nversion: "1"\neffective: "2026-01-01"\nenforcement: enforce\n'

Server = str | StdioServerParameters | Any
ReadSpool = Callable[[Path], list[Receipt]]
Tap = Callable[..., list[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose settings name an enforcing policy."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "strict.yaml").write_text(POLICY)
    (home / "receipts.toml").write_text('policy = "strict.yaml"\n')
    return home


@contextmanager
def by_tap(home: Path, tap: Tap) -> Iterator[Server]:
    command = tap(home, *SERVER)
    yield stdio_client(StdioServerParameters(command=command[0], args=command[1:]))


@contextmanager
def by_stream(home: Path, tap: Tap) -> Iterator[Server]:
    parameters = StdioServerParameters(command=SERVER[0], args=list(SERVER[1:]))
    yield watch(stdio_client(parameters), home=home)


@contextmanager
def by_proxy(home: Path, tap: Tap) -> Iterator[Server]:
    with serving(*SERVER, "http") as upstream, proxy(home, upstream) as url:
        yield url


@contextmanager
def by_middleware(home: Path, tap: Tap) -> Iterator[Server]:
    with serving(*SERVER, "http", str(home)) as url:
        yield url


def call_all(server: Server, revision: str) -> tuple[dict[str, str], list[str]]:
    """What came of each tool, and the messages of what somebody was asked."""
    asked: list[str] = []

    async def answer(_context: object, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"region": "north"})

    async def converse() -> dict[str, str]:
        mode: Any = "legacy" if revision == HANDSHAKE else revision
        async with (
            asyncio.timeout(60),
            Client(server, mode=mode, elicitation_callback=answer) as client,
        ):
            return {tool: await outcome(client, tool) for tool in TOOLS[revision]}

    return asyncio.run(converse()), asked


async def outcome(client: Client, tool: str) -> str:
    try:
        result = await client.call_tool(tool, {})
    except MCPError as error:
        return f"error {error.code} {error.message}"
    return str(result.content[0].text)  # type: ignore[union-attr]


TOOLS = {HANDSHAKE: ("form", "page", "required", "harmless"), MODERN: ("form", "page", "harmless")}


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
@pytest.mark.parametrize("way", [by_tap, by_proxy, by_middleware, by_stream])
def test_no_client_sees_it_and_who_waits_is_told(
    way: Callable[[Path, Tap], Any], revision: str, home: Path, tap: Tap, read_spool: ReadSpool
) -> None:
    with way(home, tap) as server:
        came, asked = call_all(server, revision)
    assert asked == ["Which region?"]
    assert came["harmless"] == "accept"
    # The server's own request is refused as such; else nobody waits but the client.
    code = -32602 if revision == HANDSHAKE else -32603
    assert came["form"].startswith(f"error {code} blocked_by_policy")
    assert came["page"].startswith(f"error {code} blocked_by_policy")
    if revision == HANDSHAKE:
        assert came["required"].startswith("error -32603 blocked_by_policy")
    receipts = read_spool(home)
    assert {receipt.policy_id for receipt in receipts} == {"strict"}
    blocked = [receipt for receipt in receipts if receipt.outcome is Outcome.BLOCKED]
    assert {receipt.decided_by for receipt in blocked if receipt.event is Event.REFUSED} == {
        DecidedBy.POLICY
    }
    assert {receipt.tool for receipt in blocked} == {"form", "page", "required"} & set(came)
    put = {r.elicitation_id: r for r in receipts if r.event is Event.REQUESTED}
    secret = next(r for r in put.values() if r.tool == "form")
    assert secret.decision is Decision.BLOCK
    assert [finding.name for finding in secret.findings] == ["secret_field"]
    carriers = {Carrier.SERVER_REQUEST, Carrier.URL_REQUIRED_ERROR}
    expected = carriers if revision == HANDSHAKE else {Carrier.MULTI_ROUND_TRIP}
    assert {receipt.carrier for receipt in receipts} == expected


def test_the_first_revision(home: Path, tap: Tap, read_spool: ReadSpool) -> None:
    with Scripted(tap(home, *SERVER)) as client:
        client.request(1, "tools/call", {"name": "form", "arguments": {}})
        result = client.receive()
        assert result["id"] == 1
        assert "error -32602 blocked_by_policy" in result["result"]["content"][0]["text"]
        client.end()
    assert not any(b"elicitation/create" in line for line in client.received)
    assert [receipt.event for receipt in read_spool(home)][:2] == [Event.REQUESTED, Event.REFUSED]
    assert read_spool(home)[0].protocol_version == "2025-06-18"


def test_where_it_only_warns_traffic_is_untouched(
    home: Path, tap: Tap, read_spool: ReadSpool
) -> None:
    (home / "strict.yaml").write_text(POLICY.replace("enforce\n", "warn\n"))
    with by_tap(home, tap) as server:
        came, asked = call_all(server, HANDSHAKE)
    assert asked == ["Connect the service", "Go", "Which region?"]
    assert came["form"] == "accept"
    put = [r for r in read_spool(home) if r.event is Event.REQUESTED]
    assert [r.decision for r in put] == [Decision.BLOCK] * 3 + [Decision.ALLOW]
    assert not any(r.outcome is Outcome.BLOCKED for r in read_spool(home))
