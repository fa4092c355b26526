"""Metrics of a tap: exported only where asked, to a real OTLP receiver, with nothing typed."""

from __future__ import annotations

import gzip
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from asking_client import SERVER, TAP, Client

Receipts = Callable[..., subprocess.CompletedProcess[str]]
TYPED = "Quetzaltenango-97341"


class Receiver:
    """An OTLP/HTTP endpoint on loopback that keeps what it is sent."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                is_packed = self.headers.get("content-encoding") == "gzip"
                bodies.append(gzip.decompress(body) if is_packed else body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def converse(*options: str) -> None:
    with Client([*TAP, *options, "--", *SERVER]) as client:
        client.answer(client.ask(1), action="accept", content={"city": TYPED})
        client.end()


def test_a_tap_exports_what_it_recorded(
    home: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.address)
    converse("--metrics")
    sent = b"".join(receiver.bodies)
    for name in ("questions", "outcomes", "human_wait", "time_to_resume", "spooled"):
        assert f"elicitation_receipts.{name}".encode() in sent
    assert TYPED.encode() not in sent


def test_a_tap_exports_nothing_unasked(
    home: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.address)
    converse()
    assert receiver.bodies == []


def test_the_console_exporter_would_mix_with_the_protocol(
    receipts: Receipts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "console")
    result = receipts("tap", "--metrics", "--", "true")
    assert result.returncode == 2
    assert result.stderr.startswith("receipts: otel_console: ")
