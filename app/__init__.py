"""Elicitation Receipts: what an MCP server asked a person, and how it ended, without the answer."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elicitation_receipts.watching import watch

__all__ = ["watch"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Only when it is asked for: it needs AnyIO, which comes with an MCP SDK and not with us.
    if name == "watch":
        from elicitation_receipts.watching import watch

        return watch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
