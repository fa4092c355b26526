"""Elicitation Receipts: what an MCP server asked a person, and how it ended, without the answer."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elicitation_receipts.middleware import ReceiptsMiddleware
    from elicitation_receipts.watching import watch, watch_fastmcp, watch_stdio

__all__ = ["ReceiptsMiddleware", "watch", "watch_fastmcp", "watch_stdio"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Only when asked for: a command starts without them, and the hooks need AnyIO, which comes
    # with an MCP SDK and not with us.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "middleware" if name == "ReceiptsMiddleware" else "watching"
    return getattr(import_module(f"{__name__}.{module}"), name)
