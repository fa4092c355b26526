"""What the tap adds to one message that is no elicitation, beside a plain pipe."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from measure import percentile


def round_trips(home: Path | None, count: int) -> list[float]:
    """Milliseconds of ``count`` round trips through `cat`, behind the tap if there is a home."""
    command = ["cat"]
    if home is not None:
        receipts = [sys.executable, "-m", "elicitation_receipts.main", "--home", str(home)]
        command = [*receipts, "tap", "--", *command]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as child:
        assert child.stdin
        assert child.stdout
        taken = []
        for number in range(count + 100):
            text = "x" * 200
            line = json.dumps(
                {
                    "jsonrpc": "2.0",
                    "method": "notifications/progress",
                    "params": {"n": number, "text": text},
                }
            )
            started = time.perf_counter()
            child.stdin.write(line.encode() + b"\n")
            child.stdout.readline()
            taken.append((time.perf_counter() - started) * 1_000)
        child.stdin.close()
        child.wait(10)
    return taken[100:]  # the first ones pay for starting


def cases(folder: Path, count: int) -> dict[str, tuple[str, object]]:
    home = folder / "tap"
    return {
        "pipe_p50_ms": ("ms", lambda: percentile(round_trips(None, count), 0.5)),
        "pipe_p99_ms": ("ms", lambda: percentile(round_trips(None, count), 0.99)),
        "tap_p50_ms": ("ms", lambda: percentile(round_trips(home, count), 0.5)),
        "tap_p99_ms": ("ms", lambda: percentile(round_trips(home, count), 0.99)),
    }
