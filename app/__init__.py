"""Elicitation Receipts: what an MCP server asked a person, and how it ended, without the answer."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elicitation_receipts.deciding import (
        Answers,
        Completion,
        Context,
        DataClass,
        Lifetime,
        Mode,
        Owner,
        Sensitivity,
        Validation,
        decide,
        load_policy,
        screen,
    )
    from elicitation_receipts.middleware import ReceiptsMiddleware
    from elicitation_receipts.watching import watch, watch_fastmcp, watch_stdio

__all__ = [
    "Answers",
    "Completion",
    "Context",
    "DataClass",
    "Lifetime",
    "Mode",
    "Owner",
    "ReceiptsMiddleware",
    "Sensitivity",
    "Validation",
    "decide",
    "load_policy",
    "screen",
    "watch",
    "watch_fastmcp",
    "watch_stdio",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Only when asked for: a command starts without them, and the hooks need AnyIO, which comes
    # with an MCP SDK and not with us.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = {"ReceiptsMiddleware": "middleware"}
    modules |= dict.fromkeys(("watch", "watch_fastmcp", "watch_stdio"), "watching")
    return getattr(import_module(f"{__name__}.{modules.get(name, 'deciding')}"), name)
