"""Watching over HTTP: a proxy in front of a server, a middleware inside one."""
