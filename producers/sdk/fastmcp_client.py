"""FastMCP's client over a watched connection: it takes a transport class of its own, no streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from elicitation_receipts.producers.sdk.hooks import Watch


def fastmcp_transport(connect: Callable[[], Watch]) -> Any:
    """A ``fastmcp.client.transports.ClientTransport``; ``connect``: called for each connection."""
    # Only here: it comes with FastMCP 4 and not with us.
    from fastmcp.client.transports import base  # type: ignore[import-not-found, unused-ignore]

    class WatchedTransport(base.ClientTransport):  # type: ignore[misc, unused-ignore]
        @asynccontextmanager
        async def connect_session(
            self, *, transport_options: Any = None, **session: Any
        ) -> AsyncIterator[Any]:
            session_class = (transport_options or base.TransportOptions()).session_class
            async with (
                connect() as (read, write, *_),
                session_class(read, write, **session) as connected,
            ):
                yield connected

    return WatchedTransport()
