"""Speaks Streamable HTTP for a stdio MCP server: the conformance suite knows only addresses.

`python conformance_bridge.py COMMAND…`: serves on a free port and prints it. One client at a
time, one stdio session: no session ids, and what the server says goes to whoever waits.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from typing import Any

from aiohttp import web

SERVER = web.AppKey("server", Process)


async def post(request: web.Request) -> web.StreamResponse:
    message: dict[str, Any] = await request.json()
    process = request.app[SERVER]
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    await process.stdin.drain()
    if "method" not in message or "id" not in message:
        return web.Response(status=202)
    stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await stream.prepare(request)
    async for line in process.stdout:
        await stream.write(b"data: " + line + b"\n")
        said = json.loads(line)
        if "method" not in said and said.get("id") in (message["id"], None):
            break
    return stream


async def main(command: list[str]) -> None:
    app = web.Application()
    app.router.add_post("/mcp", post)
    process = app[SERVER] = await create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        sys.stdout.write(f"{runner.addresses[0][1]}\n")
        sys.stdout.flush()
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await stop.wait()
    finally:
        await runner.cleanup()
        process.stdin.close()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
