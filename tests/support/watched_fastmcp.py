"""FastMCP 4, watched: `server`, or `client ERA COMMAND…`. Receipts: RECEIPTS_HOME.

Over HTTP, unwatched: `serve`, which prints its port, or `visit ERA URL`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastmcp import Client, Context, FastMCP
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    Implementation,
    InputRequiredResult,
)
from serve_app import serve_app

from elicitation_receipts import watch_fastmcp, watch_stdio

MODERN = "2026-07-28"
FORM = {"type": "object", "properties": {"city": {"type": "string", "title": "City"}}}
PAGE = "https://pay.example/start?ticket=1"
ANSWERS = (
    ElicitResult(action="accept", content={"city": "Ærøskøbing"}),
    ElicitResult(action="decline"),
    ElicitResult(action="cancel"),
    ElicitResult(action="accept"),
    ElicitResult(action="accept"),
)
TOOLS = ("form", "form", "form", "page", "proved")


def asking_server(prove: Callable[[str, str], Awaitable[None]]) -> FastMCP:
    """``prove``: records that a page is done, and how that is known."""
    mcp = FastMCP("asking", version="1.0")

    @mcp.tool
    async def form(context: Context) -> Any:
        if context.session.protocol_version == MODERN:
            question = ElicitRequestFormParams(message="Which city?", requested_schema=FORM)
            return ask(context, question) or "done"
        await context.session.elicit_form("Which city?", FORM, context.request_id)
        return "done"

    @mcp.tool
    async def page(context: Context) -> Any:
        return await visit(context, proved=False)

    @mcp.tool
    async def proved(context: Context) -> Any:
        return await visit(context, proved=True)

    async def visit(context: Context, *, proved: bool) -> Any:
        session, id_ = context.session, f"page-{context.request_id}"
        if session.protocol_version == MODERN:
            question = ElicitRequestURLParams(message="Pay, please.", url=PAGE)
            if (asked := ask(context, question)) is not None:
                return asked
            if proved:
                await prove(PAGE, "status_check")
            return "done"
        await session.elicit_url("Pay, please.", PAGE, id_, context.request_id)
        if proved:
            await prove(id_, "authenticated_callback")
        await session.send_elicit_complete(id_, context.request_id)
        return "done"

    def ask(context: Context, question: Any) -> InputRequiredResult | None:
        """The result that asks; None where the answer has come."""
        if context.input_responses:
            return None
        return InputRequiredResult(
            input_requests={"asked": ElicitRequest(params=question)}, request_state="state"
        )

    return mcp


def server() -> None:
    watched = watch_stdio()

    async def prove(question: str, proof: Any) -> None:
        assert await watched.record_completion(question, proof)

    with watched:
        asking_server(prove).run(show_banner=False)


def serve() -> None:
    async def prove(question: str, proof: str) -> None:
        raise NotImplementedError

    asyncio.run(serve_app(asking_server(prove).http_app()))


def client(era: str, command: str, *arguments: str) -> None:
    parameters = StdioServerParameters(
        command=command, args=list(arguments), env={"RECEIPTS_HOME": os.environ["RECEIPTS_HOME"]}
    )
    transport = watch_fastmcp(lambda: stdio_client(parameters))
    asyncio.run(converse(era, transport, TOOLS))


def visit(era: str, url: str) -> None:
    asyncio.run(converse(era, url, TOOLS[:-1]))


async def converse(era: str, transport: Any, tools: Sequence[str]) -> None:
    answers = iter(ANSWERS)

    async def answer(*_: Any) -> ElicitResult:
        await asyncio.sleep(0.3)
        return next(answers)

    async with Client(
        transport,
        mode=era if era == MODERN else "legacy",
        elicitation_handler=answer,
        client_info=Implementation(name="scripted", version="1.0"),
    ) as connected:
        for tool in tools:
            await connected.call_tool(tool, {})


if __name__ == "__main__":
    roles = {"server": server, "client": client, "serve": serve, "visit": visit}
    roles[sys.argv[1]](*sys.argv[2:])
