"""A process that is nothing but a tap: `python bare_tap.py OBSERVER COMMAND…`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from elicitation_receipts.producers.stdio.tap import Tap, end_like
from elicitation_receipts.producers.wire.direction import Direction

Sent = Sequence[tuple[Direction, bytes]]


class Passes:
    """Lets everything pass and writes what it was told to the file `TAP_TOLD`, if there is one."""

    def observe(self, direction: Direction, line: bytes) -> Sent:
        tell(f"line {direction} {line.hex()}")
        return [(direction, line)]

    def observe_oversized(self, direction: Direction) -> None:
        tell(f"oversized {direction}")

    def tick(self) -> None:
        tell("tick")

    def on_fault(self, direction: Direction | None) -> None:
        tell(f"fault {direction}")

    def close(self) -> None:
        tell("close")


class Fails(Passes):
    def observe(self, direction: Direction, line: bytes) -> Sent:
        raise KeyError(line.decode(errors="replace"))

    def close(self) -> None:
        raise KeyError

    def on_fault(self, direction: Direction | None) -> None:
        super().on_fault(direction)
        raise KeyError


class BlocksClient(Passes):
    def observe(self, direction: Direction, line: bytes) -> Sent:
        if direction is Direction.CLIENT_TO_SERVER:
            time.sleep(3600)
        return [(direction, line)]


class AnswersPing(Passes):
    """Keeps a line `ping` from going on and answers it in the other direction."""

    def observe(self, direction: Direction, line: bytes) -> Sent:
        return [(direction.back, b"pong\n")] if line == b"ping\n" else [(direction, line)]


def tell(what: str) -> None:
    if "TAP_TOLD" in os.environ:
        with Path(os.environ["TAP_TOLD"]).open("a") as file:
            file.write(what + "\n")


if __name__ == "__main__":
    limit = int(os.environ.get("TAP_LIMIT", 16 * 1024 * 1024))
    end_like(Tap(sys.argv[2:], globals()[sys.argv[1]](), limit=limit).run())
