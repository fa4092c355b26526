"""Serves an ASGI application on a free port, and prints the port."""

from __future__ import annotations

import socket
import sys
from typing import Any

import uvicorn


async def serve_app(app: Any) -> None:
    """Until the process is told to end."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn.Config(
            app, interface="asgi3", log_level="error", timeout_graceful_shutdown=2
        )
        await uvicorn.Server(config).serve([listening])
