"""The MCP Python SDK v1, watched: `server`, or `client ERA COMMAND…`. Receipts: RECEIPTS_HOME."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from mcp import types
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from elicitation_receipts import watch

FORM = {"type": "object", "properties": {"city": {"type": "string", "title": "City"}}}
ANSWERS = (
    types.ElicitResult(action="accept", content={"city": "Ærøskøbing"}),
    types.ElicitResult(action="decline"),
    types.ElicitResult(action="cancel"),
    types.ElicitResult(action="accept"),
    types.ElicitResult(action="accept"),
)
TOOLS = ("form", "form", "form", "page", "proved")


async def server() -> None:
    asking: Server[Any, Any] = Server("asking", version="1.0")
    watched = watch(stdio_server(), side="server")

    @asking.list_tools()
    async def tools() -> list[types.Tool]:
        return [types.Tool(name=name, inputSchema={"type": "object"}) for name in set(TOOLS)]

    @asking.call_tool()
    async def call(name: str, _arguments: dict[str, Any]) -> list[types.TextContent]:
        context = asking.request_context
        session, id_ = context.session, f"page-{context.request_id}"
        if name == "form":
            await session.elicit_form("Which city?", FORM, context.request_id)
        else:
            page = "https://pay.example/start?ticket=1"
            await session.elicit_url("Pay, please.", page, id_, context.request_id)
            if name == "proved":
                assert await watched.record_completion(id_, "authenticated_callback")
            await session.send_elicit_complete(id_, context.request_id)
        return [types.TextContent(type="text", text="done")]

    async with watched as (read, write):
        await asking.run(read, write, asking.create_initialization_options())


async def client(_era: str, command: str, *arguments: str) -> None:
    answers = iter(ANSWERS)

    async def answer(_context: Any, _params: Any) -> types.ElicitResult:
        await asyncio.sleep(0.3)
        return next(answers)

    parameters = StdioServerParameters(
        command=command,
        args=list(arguments),
        env={"RECEIPTS_HOME": os.environ["RECEIPTS_HOME"]},
    )
    async with (
        watch(stdio_client(parameters)) as (read, write),
        ClientSession(
            read,
            write,
            elicitation_callback=answer,
            client_info=types.Implementation(name="scripted", version="1.0"),
        ) as session,
    ):
        await session.initialize()
        for tool in TOOLS:
            await session.call_tool(tool, {})


if __name__ == "__main__":
    asyncio.run({"server": server, "client": client}[sys.argv[1]](*sys.argv[2:]))
