"""The MCP Python SDK v2, watched: `server`, or `client ERA COMMAND…`. Receipts: RECEIPTS_HOME."""

from __future__ import annotations

import asyncio
import os
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.stdio import stdio_server
from mcp_types import ElicitResult, Implementation
from sdk_pair import Asking, Person

from elicitation_receipts import watch

ANSWERS = (
    ElicitResult(action="accept", content={"city": "Ærøskøbing"}),
    ElicitResult(action="decline"),
    ElicitResult(action="cancel"),
    ElicitResult(action="accept"),
    ElicitResult(action="accept"),
)
TOOLS = ("form", "form", "form", "page", "proved")


async def server() -> None:
    asking = Asking()
    asking.watched = watch(stdio_server(), side="server")
    async with asking.watched as (read, write):
        await asking.run(read, write)


async def client(era: str, command: str, *arguments: str) -> None:
    parameters = StdioServerParameters(
        command=command,
        args=list(arguments),
        env={"RECEIPTS_HOME": os.environ["RECEIPTS_HOME"]},
    )
    async with Client(
        watch(stdio_client(parameters)),
        mode="legacy" if era == "2025-11-25" else era,
        elicitation_callback=Person(iter(ANSWERS)).answer,
        client_info=Implementation(name="scripted", version="1.0"),
    ) as connected:
        for tool in TOOLS:
            await connected.call_tool(tool, {})


if __name__ == "__main__":
    asyncio.run({"server": server, "client": client}[sys.argv[1]](*sys.argv[2:]))
