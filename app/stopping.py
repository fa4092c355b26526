"""Stopping: a signal lets a command finish what it has begun, then end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_on_signal() -> Iterator[Event]:
    """An event that SIGTERM and Ctrl-C set. A second Ctrl-C interrupts at once.

    After Ctrl-C the block ends with KeyboardInterrupt, after SIGTERM as if all were done.
    """
    stop = Event()
    interrupted = False

    def on_signal(signum: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        if signum == signal.SIGINT:
            if interrupted:
                raise KeyboardInterrupt
            interrupted = True
        # From another thread: this one may be inside `stop.wait` and hold the event's lock.
        Thread(target=stop.set, daemon=True).start()

    previous = {signum: signal.signal(signum, on_signal) for signum in _SIGNALS}
    try:
        yield stop
        if interrupted:
            raise KeyboardInterrupt
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
