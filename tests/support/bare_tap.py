"""A process that is nothing but a tap: `python bare_tap.py OBSERVER COMMAND…`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from elicitation_receipts.producers.tap import Tap, end_like
from elicitation_receipts.producers.wire.direction import Direction

Sent = Sequence[tuple[Direction, bytes]]


def passes(direction: Direction, line: bytes) -> Sent:
    return [(direction, line)]


def records(direction: Direction, line: bytes) -> Sent:
    with Path(os.environ["TAP_RECORD"]).open("ab") as record:
        record.write(direction.encode() + b" " + line.hex().encode() + b"\n")
    return [(direction, line)]


def fails(direction: Direction, line: bytes) -> Sent:
    raise KeyError(line.decode(errors="replace"))


def blocks_client(direction: Direction, line: bytes) -> Sent:
    if direction is Direction.CLIENT_TO_SERVER:
        time.sleep(3600)
    return [(direction, line)]


def answers_ping(direction: Direction, line: bytes) -> Sent:
    """Keeps a line `ping` from going on and answers it in the other direction."""
    return [(direction.back, b"pong\n")] if line == b"ping\n" else [(direction, line)]


def told(event: str) -> None:
    if "TAP_TOLD" in os.environ:
        with Path(os.environ["TAP_TOLD"]).open("a") as file:
            file.write(event + "\n")


if __name__ == "__main__":
    end_like(
        Tap(
            sys.argv[2:],
            globals()[sys.argv[1]],
            observe_oversized=lambda direction: told(f"oversized {direction}"),
            tick=lambda: told("tick"),
            on_fault=lambda direction: told(f"fault {direction}"),
            limit=int(os.environ.get("TAP_LIMIT", 16 * 1024 * 1024)),
        ).run()
    )
