"""The demo: the whole path on a real MCP server and client, in both protocol eras."""
