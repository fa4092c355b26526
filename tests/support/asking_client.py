"""A client for `asking_server.py`, over whatever command leads to it."""

from __future__ import annotations

import json
import subprocess
import sys
from types import TracebackType
from typing import Any, Self

import asking_server

SERVER = [sys.executable, asking_server.__file__]
TAP = [sys.executable, "-m", "elicitation_receipts.main", "tap"]


class Client:
    """``sent`` and ``received`` hold every line that went each way."""

    def __init__(self, command: list[str]) -> None:
        self.sent: list[bytes] = []
        self.received: list[bytes] = []
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )

    def __enter__(self) -> Self:
        self.request(
            0,
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "scripted", "version": "2.0"},
            },
        )
        assert self.receive()["id"] == 0
        self.send({"method": "notifications/initialized"})
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def send(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        self.sent.append(line)
        assert self.process.stdin is not None
        self.process.stdin.write(line)

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.received.append(line)
        message: dict[str, Any] = json.loads(line)
        return message

    def request(self, id_: int, method: str, params: dict[str, Any]) -> None:
        self.send({"id": id_, "method": method, "params": params})

    def ask(self, id_: int = 1) -> object:
        """Call the tool; the id of the question that comes."""
        self.request(id_, "tools/call", {"name": "weather", "arguments": {}})
        question = self.receive()
        assert question["method"] == "elicitation/create"
        return question["id"]

    def answer(self, question: object, **result: object) -> None:
        """Answer it and wait for the tool's result."""
        self.send({"id": question, "result": result})
        assert "result" in self.receive()

    def end(self) -> tuple[int, bytes]:
        """Close the server's input: the exit code, and what was said on standard error."""
        _, err = self.process.communicate(timeout=30)
        return self.process.returncode, err
