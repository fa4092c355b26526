"""The MCP Python SDK v1, watched: `server`, or `client ERA COMMAND…`. Receipts: RECEIPTS_HOME.

Over HTTP, unwatched: `serve`, which prints its port, or `visit ERA URL`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from mcp import types
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from serve_app import serve_app

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


def asking_server(prove: Callable[[str], Awaitable[None]]) -> Server[Any, Any]:
    """``prove``: records that the page of an id is done."""
    asking: Server[Any, Any] = Server("asking", version="1.0")

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
                await prove(id_)
            await session.send_elicit_complete(id_, context.request_id)
        return [types.TextContent(type="text", text="done")]

    return asking


async def server() -> None:
    watched = watch(stdio_server(), side="server")

    async def prove(id_: str) -> None:
        assert await watched.record_completion(id_, "authenticated_callback")

    asking = asking_server(prove)
    async with watched as (read, write):
        await asking.run(read, write, asking.create_initialization_options())


async def serve() -> None:
    async def prove(id_: str) -> None:
        raise NotImplementedError

    manager = StreamableHTTPSessionManager(asking_server(prove))
    async with manager.run():
        await serve_app(manager.handle_request)


async def client(_era: str, command: str, *arguments: str) -> None:
    parameters = StdioServerParameters(
        command=command,
        args=list(arguments),
        env={"RECEIPTS_HOME": os.environ["RECEIPTS_HOME"]},
    )
    async with watch(stdio_client(parameters)) as (read, write):
        await converse(read, write, TOOLS)


async def visit(_era: str, url: str) -> None:
    async with streamablehttp_client(url) as (read, write, _):
        await converse(read, write, TOOLS[:-1])


async def converse(read: Any, write: Any, tools: Sequence[str]) -> None:
    answers = iter(ANSWERS)

    async def answer(_context: Any, _params: Any) -> types.ElicitResult:
        await asyncio.sleep(0.3)
        return next(answers)

    async with (
        ClientSession(
            read,
            write,
            elicitation_callback=answer,
            client_info=types.Implementation(name="scripted", version="1.0"),
        ) as session,
    ):
        await session.initialize()
        for tool in tools:
            await session.call_tool(tool, {})


if __name__ == "__main__":
    roles = {"server": server, "client": client, "serve": serve, "visit": visit}
    asyncio.run(roles[sys.argv[1]](*sys.argv[2:]))
