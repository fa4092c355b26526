"""A client and a server of the MCP Python SDK v2 in one process, both watched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.client.client import Client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_client_server_memory_streams

from elicitation_receipts import watch
from elicitation_receipts.producers.sdk.hooks import Watch
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool

MODERN = "2026-07-28"
FORM = {"type": "object", "properties": {"city": {"type": "string", "title": "City"}}}
PAGE = "https://pay.example/start?ticket=1"
KEY = "asked"


@dataclass
class Person:
    """Answers as told, at a person's pace."""

    answers: Iterator[types.ElicitResult]
    pace: float = 0.3
    asked: list[str] = field(default_factory=list)

    async def answer(self, _context: object, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        await asyncio.sleep(self.pace)
        return next(self.answers)


class Asking:
    """A server whose tools ask: ``form``, ``page``, ``proved`` (it knows the page is done)."""

    def __init__(self) -> None:
        self.watched: Watch | None = None
        self.server = Server(
            "asking", version="1.0", on_list_tools=self._tools, on_call_tool=self._call
        )

    async def run(self, read: Any, write: Any) -> None:
        await self.server.run(read, write, self.server.create_initialization_options())

    async def _tools(self, _context: object, _params: object) -> types.ListToolsResult:
        names = ("form", "page", "proved")
        tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in names]
        return types.ListToolsResult(tools=tools)

    async def _call(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        is_form = params.name == "form"
        if context.protocol_version != MODERN:
            if is_form:
                await context.session.elicit_form("Which city?", FORM, context.request_id)
            else:
                await self._page(context, proved=params.name == "proved")
        elif params.input_responses is None:
            question = (
                types.ElicitRequestFormParams(message="Which city?", requested_schema=FORM)
                if is_form
                else types.ElicitRequestURLParams(message="Pay, please.", url=PAGE)
            )
            asked: Any = {KEY: types.ElicitRequest(params=question)}
            return types.InputRequiredResult(input_requests=asked, request_state="state")
        elif params.name == "proved":
            assert self.watched is not None
            assert await self.watched.record_completion(PAGE, "status_check")
        return types.CallToolResult(content=[types.TextContent(text="done")])

    async def _page(self, context: ServerRequestContext[Any], *, proved: bool) -> None:
        id_ = f"page-{context.request_id}"
        await context.session.elicit_url("Pay, please.", PAGE, id_, context.request_id)
        if proved:
            assert self.watched is not None
            assert await self.watched.record_completion(id_, "authenticated_callback")
        await context.session.send_elicit_complete(id_, context.request_id)


@asynccontextmanager
async def connected(
    era: str, person: Person, home: Path, **settings: object
) -> AsyncIterator[tuple[Client, Watch]]:
    """The client, and the server's watch. ``era``: "legacy" or a revision."""
    asking = Asking()
    async with create_client_server_memory_streams() as (of_client, of_server):
        asking.watched = watch(*of_server, side="server", home=home, **settings)
        async with asking.watched as streams, asyncio.TaskGroup() as tasks:
            tasks.create_task(asking.run(*streams))
            async with Client(
                watch(*of_client, home=home, **settings),
                mode=era,
                elicitation_callback=person.answer,
                client_info=types.Implementation(name="scripted", version="1.0"),
            ) as client:
                yield client, asking.watched


def sessions(home: Path) -> list[list[Receipt]]:
    """The receipts about elicitations, session by session, in order of first appearance."""
    found: dict[bytes, list[Receipt]] = {}
    with Spool.open(home, create=False) as spool:
        for stored in spool.read(0, 10_000):
            receipt = decode(stored.message)
            if receipt.session_ref is not None and receipt.elicitation_id is not None:
                found.setdefault(receipt.session_ref.value, []).append(receipt)
    return list(found.values())


#: What two watchers of one conversation say each in its own words.
_OWN = {
    "receipt_id",
    "stream_id",
    "sequence",
    "previous_hash",
    "elicitation_id",
    "operation_id",
    "session_ref",
    "occurred_at",
    "since_previous_us",
    "payload_digest",
    "vantage",
    "fidelity",
}


def comparable(receipts: Sequence[Receipt]) -> list[list[Mapping[str, object]]]:
    """Elicitation by elicitation, what must be equal from wherever it was watched."""
    lives: dict[object, list[Mapping[str, object]]] = {}
    for receipt in receipts:
        fields = {name: getattr(receipt, name) for name in Receipt.__dataclass_fields__}
        said = {name: value for name, value in fields.items() if name not in _OWN}
        said["has_payload"] = receipt.payload_digest is not None
        lives.setdefault(receipt.elicitation_id, []).append(said)
    return list(lives.values())
