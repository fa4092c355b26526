"""Recordings written by a test, and a tee: `recordings.py FILE COMMAND…` records a stdio server.

Times are seconds since :data:`START`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from elicitation_receipts.producers.policy import BUILT_IN
from elicitation_receipts.producers.recordings.recording import Recording, read
from elicitation_receipts.producers.recordings.replay import replay
from elicitation_receipts.producers.recordings.seed import Seed
from elicitation_receipts.producers.wire.scribe import Post
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Clock, Fidelity, Vantage

START: Final = 1_790_000_000.0
SESSION: Final = "a-session"
POST: Final = Post(BUILT_IN, Vantage.REPLAY, Fidelity.BYTES, "tests", "0.1.0", clock=Clock.WALL)

Json = Any


def text(message: Json) -> str:
    return message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)


def said(seconds: float, direction: str, message: Json, **members: Json) -> dict[str, Any]:
    """One message of a stdio connection."""
    return {"ts": START + seconds, "dir": direction, "raw": text(message), **members}


def asked(
    seconds: float, conn: int, message: Json = "", method: str = "POST", /, **headers: str
) -> dict[str, Any]:
    """An HTTP request."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    first = f"{method} /mcp HTTP/1.1"
    return {**said(seconds, "c2s", message), "conn": conn, "http": first, "headers": fields}


def status(seconds: float, conn: int, code: int = 200, /, **headers: str) -> dict[str, Any]:
    fields = {"content-type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return {**said(seconds, "s2c", ""), "conn": conn, "http": str(code), "headers": fields}


def chunk(seconds: float, conn: int, piece: Json) -> dict[str, Any]:
    return {**said(seconds, "s2c", piece), "conn": conn, "chunk": True}


def event(message: Json, event_id: str | None = None) -> str:
    """A server-sent event."""
    return (f"id: {event_id}\n" if event_id else "") + f"data: {text(message)}\n\n"


def json_lines(lines: Iterable[Json]) -> bytes:
    return b"".join(text(line).encode("utf-8", "surrogatepass") + b"\n" for line in lines)


def entry(
    seconds: float,
    took: float,
    sent: Json = None,
    got: Json = None,
    *,
    method: str = "POST",
    status: int = 200,
    waited: float = 0.001,
    **members: Json,
) -> dict[str, Any]:
    """An entry of an HTTP Archive; ``got`` as text is an event stream."""
    started = datetime.fromtimestamp(START + seconds, UTC).isoformat()
    kind = "text/event-stream" if isinstance(got, str) else "application/json"
    session = [{"name": "Mcp-Session-Id", "value": SESSION}]
    request: dict[str, Any] = {"method": method, "url": "https://a.example/mcp", "headers": session}
    if sent is not None:
        request["postData"] = {"mimeType": "application/json", "text": text(sent)}
    return {
        "startedDateTime": started,
        "time": took * 1_000,
        "timings": {"blocked": -1, "send": 0, "wait": waited * 1_000, "receive": 0},
        "request": request,
        "response": {
            "status": status,
            "headers": [*session, {"name": "Content-Type", "value": kind}],
            "content": {"mimeType": kind, "text": "" if got is None else text(got)},
        },
        **members,
    }


def archive(*entries: Json) -> bytes:
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


def recording(path: Path, content: bytes) -> Recording:
    """``content`` as a file, read."""
    path.write_bytes(content)
    return read(path)


def replayed(recording: Recording, seed: int = 1) -> list[Receipt]:
    """The receipts that a recording's messages leave."""
    source = Seed(seed)
    steps = replay(recording, source.keys("default"), POST, source.random(recording.digest))
    return [receipt for step in steps for receipt in step.receipts]


def tee(file: Path, command: list[str]) -> int:
    """Run a stdio server and record what passes."""
    lock = threading.Lock()

    def copy(direction: str, source: IO[bytes], target: IO[bytes]) -> None:
        for line in source:
            with lock, file.open("a") as log:
                message = {"ts": time.time(), "dir": direction, "raw": line.decode().rstrip("\n")}
                log.write(json.dumps(message) + "\n")
            target.write(line)
            target.flush()
        target.close()

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        pumps = [
            threading.Thread(target=copy, args=("c2s", sys.stdin.buffer, server.stdin)),
            threading.Thread(target=copy, args=("s2c", server.stdout, sys.stdout.buffer)),
        ]
        for pump in pumps:
            pump.start()
        for pump in pumps:
            pump.join()
    return server.returncode


if __name__ == "__main__":
    sys.exit(tee(Path(sys.argv[1]), sys.argv[2:]))
