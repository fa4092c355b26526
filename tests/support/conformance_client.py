"""The client that the conformance suite's elicitation scenarios want, on the MCP Python SDK v2.

`python conformance_client.py [HOME] URL`: with a home it connects through a proxy of its own.
The suite names the scenario in the environment.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from http_demo import proxy
from mcp.client.client import Client
from mcp_types import ElicitResult

#: Scenario: how to connect, and the tools to call.
SCENARIOS = {
    "elicitation-sep1034-client-defaults": ("legacy", ["test_client_elicitation_defaults"]),
    "sep-2322-client-request-state": (
        "2026-07-28",
        [
            "test_mrtr_echo_state",
            "test_mrtr_no_state",
            "test_mrtr_unrelated",
            "test_mrtr_no_result_type",
        ],
    ),
}


async def accept(_context: object, params: Any) -> ElicitResult:
    """Accept with the defaults; what has none is a confirmation."""
    properties = params.requested_schema["properties"]
    content = {name: field.get("default", True) for name, field in properties.items()}
    return ElicitResult(action="accept", content=content)


async def call(url: str) -> None:
    mode, tools = SCENARIOS[os.environ["MCP_CONFORMANCE_SCENARIO"]]
    async with (
        asyncio.timeout(20),
        Client(url, mode=mode, elicitation_callback=accept) as client,  # type: ignore[arg-type]
    ):
        await client.list_tools()
        for tool in tools:
            await client.call_tool(tool, {})


if __name__ == "__main__":
    *homes, server = sys.argv[1:]
    with (
        proxy(Path(homes[0]), server, "--automatic-below-ms", "600000")
        if homes
        else nullcontext(server) as address
    ):
        asyncio.run(call(address))
