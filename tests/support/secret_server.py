"""An MCP server on the official SDK that asks for what no form may ask for, and tells how it fared.

`python secret_server.py`: on stdio; `python secret_server.py http [HOME]`: over Streamable HTTP,
prints its port; with a home behind the middleware.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any, TypeAlias

from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    InputRequiredResult,
)

Reply: TypeAlias = str | InputRequiredResult

SECRET = ElicitRequestFormParams(
    message="Connect the service",
    requested_schema={
        "type": "object",
        "properties": {"colour": {"type": "string", "title": "Your API key"}},
    },
)
HARMLESS = ElicitRequestFormParams(
    message="Which region?",
    requested_schema={
        "type": "object",
        "properties": {"region": {"type": "string", "title": "Region"}},
    },
)
PAGE = "https://user:hunter2@id.example/connect"

server = MCPServer("secret-server", log_level="CRITICAL")


@server.tool()
async def form(context: Context) -> Reply:
    """Ask for a secret in a form."""
    if context.protocol_version == "2026-07-28":
        asked = {"secret": ElicitRequest(params=SECRET), "region": ElicitRequest(params=HARMLESS)}
        return InputRequiredResult(input_requests=asked, request_state="s")
    return await told(
        context.session.elicit_form(SECRET.message, SECRET.requested_schema, context.request_id)
    )


@server.tool()
async def page(context: Context) -> Reply:
    """Send somebody to an address that holds a password."""
    if context.protocol_version == "2026-07-28":
        asked = {"page": ElicitRequest(params=ElicitRequestURLParams(message="Go", url=PAGE))}
        return InputRequiredResult(input_requests=asked, request_state="s")
    return await told(context.session.elicit_url("Go", PAGE, "page-1", context.request_id))


@server.tool()
async def required() -> str:
    """Fail until somebody has been at that address (2025-11-25)."""
    entry = ElicitRequestURLParams(message="Go", url=PAGE, elicitation_id="page-2")
    raise UrlElicitationRequiredError([entry])


@server.tool()
async def harmless(context: Context) -> Reply:
    """Ask what may be asked."""
    if context.protocol_version == "2026-07-28":
        if context.input_responses:
            return "accept"
        return InputRequiredResult(
            input_requests={"region": ElicitRequest(params=HARMLESS)}, request_state="s"
        )
    return await told(
        context.session.elicit_form(HARMLESS.message, HARMLESS.requested_schema, context.request_id)
    )


async def told(asking: Any) -> str:
    """What a server learns of its question."""
    try:
        answer = await asyncio.wait_for(asking, 20)
    except MCPError as error:
        return f"error {error.code} {error.message}"
    return str(answer.action)


if __name__ == "__main__":
    if "http" not in sys.argv:
        server.run()
    else:
        import uvicorn

        from elicitation_receipts import ReceiptsMiddleware

        app: Any = server.streamable_http_app()
        if len(sys.argv) > 2:
            app = ReceiptsMiddleware(app, path="/mcp", home=sys.argv[2])
        with socket.create_server(("127.0.0.1", 0)) as listening:
            sys.stdout.write(f"{listening.getsockname()[1]}\n")
            sys.stdout.flush()
            config = uvicorn.Config(app, log_level="critical")
            uvicorn.Server(config).run([listening])
