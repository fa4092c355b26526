"""Landers that are killed before one line of their code, whichever: forked, so that many soon are.

As a program it reads steps, one a line of standard input, forks a lander for each that is
killed before that step is first taken, and says how it ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from elicitation_receipts.consumers import batch, chains, consumer_group, landing, warehouse
from elicitation_receipts.consumers.decode import best_rung
from elicitation_receipts.consumers.source import SpoolSource
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.spool import Spool

FILES = {module.__file__ for module in (batch, chains, consumer_group, landing, warehouse)}
#: Those that are the loop itself, from the turn at the database to the commit and back.
THE_LOOP = {
    "Lander.land",
    "Lander._land_backlog",
    "Warehouse.open",
    "Warehouse._turn",
    "land_batch",
    "write_batch",
    "transaction",
}

#: A line of a function.
Step = tuple[str, int]


def steps(home: Path, path: Path) -> list[Step]:
    """Land to the end; the steps there were, in the order they were first taken."""
    with _landers(home, path) as land:
        found = [word.split(":") for word in land("").split()]
    return [(function, int(line)) for function, line in found]


@contextmanager
def killed_landers(home: Path, path: Path) -> Iterator[Callable[[Step], bool]]:
    """Lands, to be killed before a step; False: that was not taken."""
    with _landers(home, path) as land:
        yield lambda step: land(f"{step[0]}:{step[1]}") == str(-signal.SIGKILL)


@contextmanager
def _landers(home: Path, path: Path) -> Iterator[Callable[[str], str]]:
    with subprocess.Popen(
        [sys.executable, __file__, home, path],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def land(step: str) -> str:
            assert process.stdin is not None
            assert process.stdout is not None
            print(step, file=process.stdin, flush=True)
            return process.stdout.readline().rstrip("\n")

        yield land
        assert process.stdin is not None
        process.stdin.close()


def _land(home: Path, path: Path, last: str) -> list[str]:
    taken: dict[str, None] = {}

    def take(step: str) -> None:
        if step == last:
            os.kill(os.getpid(), signal.SIGKILL)
        taken[step] = None

    with Spool.open(home) as spool:
        lander = landing.Lander(landing.Warehouse(path), SpoolSource(spool), Key(b"k" * 32))
        threading.settrace(_tracing(take))
        sys.settrace(_tracing(take))
        lander.land()
        sys.settrace(None)
    return list(taken)


def _tracing(take: Callable[[str], None]) -> Callable[[FrameType, str, Any], Any]:
    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            take(f"{frame.f_code.co_qualname}:{frame.f_lineno}")
        return trace

    return trace


def main(home: Path, path: Path) -> None:
    landing.BATCH = 20  # several transactions
    best_rung()([])  # compiled once for all
    for line in sys.stdin:
        last = line.strip()
        if (child := os.fork()) == 0:
            taken = _land(home, path, last)
            if not last:
                print(*taken, flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if last:
            print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
