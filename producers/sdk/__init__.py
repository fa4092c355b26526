"""Watching inside a program: the streams of the MCP Python SDK and FastMCP."""
