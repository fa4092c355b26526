"""Metrics and spans: exported only where asked, to a real OTLP receiver, with nothing typed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from asking_client import SERVER, TAP, Client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otlp import Receiver

Receipts = Callable[..., subprocess.CompletedProcess[str]]
TYPED = "Quetzaltenango-97341"


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


TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_landing_tells_a_trace_how_long_a_person_was_waited_for(
    home: Path, receipts: Receipts, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client([*TAP, "--", *SERVER]) as client:
        meta = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
        client.request(1, "tools/call", {"name": "weather", "arguments": {}, "_meta": meta})
        client.answer(client.receive()["id"], action="accept", content={"city": TYPED})
        client.end()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", receiver.address + "/v1/traces")
    command = [sys.executable, "-m", "elicitation_receipts", "land"]
    done = subprocess.run(command, env=os.environ | {"RECEIPTS_HOME": str(home)}, check=True)
    assert done.returncode == 0

    request = ExportTraceServiceRequest.FromString(b"".join(receiver.bodies))
    [span] = [
        span
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, SPAN)
    assert span.name == "elicitation form"
    assert span.end_time_unix_nano > span.start_time_unix_nano
    assert TYPED.encode() not in b"".join(receiver.bodies)
