"""Elicitation Receipts: what an MCP server asked a person, and how it ended, without the answer."""

__version__ = "0.1.0"
