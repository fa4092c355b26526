"""Watching over stdio: pipes between a client and the server it starts."""
