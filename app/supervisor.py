"""Telling systemd how a service fares: ready, alive, about to stop (sd_notify(3))."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress


@contextmanager
def supervised(environ: Mapping[str, str] = os.environ) -> Iterator[Callable[[], None]]:
    """A function to call at every turn of the work; without systemd it does nothing.

    The first call says that the service is ready. The others keep its watchdog content, where
    the unit has one (`WatchdogSec=`): twice in its time.
    """
    address = environ.get("NOTIFY_SOCKET")
    if not address:
        yield lambda: None
        return
    every = _watchdog_seconds(environ) / 2
    told_at: float | None = None

    def turn() -> None:
        nonlocal told_at
        now = time.monotonic()
        if told_at is None:
            _tell(address, "READY=1")
        elif not every or now < told_at + every:
            return
        told_at = now
        if every:
            _tell(address, "WATCHDOG=1")

    try:
        yield turn
    finally:
        _tell(address, "STOPPING=1")


def _watchdog_seconds(environ: Mapping[str, str]) -> float:
    """How long the watchdog waits; 0: there is none, or it watches another process."""
    if environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0.0
    try:
        return int(environ.get("WATCHDOG_USEC", "0")) / 1_000_000
    except ValueError:
        return 0.0


def _tell(address: str, state: str) -> None:
    # "@" stands for the NUL of an abstract socket. Whoever does not listen is not told.
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.sendto(state.encode(), address.replace("@", "\0", 1))
