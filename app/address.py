"""Address: where a server of ours listens."""

from __future__ import annotations

from elicitation_receipts.schemas.errors import UsageError


def listen_address(text: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``; an IPv6 address stands in brackets. ``listen_invalid``."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        raise UsageError("listen_invalid", "--listen takes HOST:PORT, as in 127.0.0.1:8080")
    return host, int(port)
