"""A lock that starves nobody: who comes first is served first, and who holds it is known."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from elicitation_receipts.schemas.lock import FileLock, LockTimeout, is_held

_PAUSE: Final = 0.002
_COUNTER: Final = "counter.lock"


class QueueLock:
    """An exclusive lock for threads and processes of one machine, in order of arrival.

    ``folder`` holds a file for each who has come, numbered, locked for as long as its owner
    waits or works, with the owner's process id in it. One is served when all before it are
    gone. The kernel gives the lock of a killed one back, so none waits for the dead.
    One instance is not for use by several threads at once.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turn: FileLock | None = None

    def acquire(self, timeout: float) -> None:
        """Take the lock; wait at most ``timeout`` seconds.

        Raises :class:`LockTimeout`, which says which process holds it, and :class:`LockError`
        where the folder cannot be written.
        """
        deadline = time.monotonic() + timeout
        turn = self._arrive(deadline)
        try:
            self._wait_for_those_before(turn, deadline)
        except BaseException:
            _leave(turn)
            raise
        self._turn = turn

    def release(self) -> None:
        """Give the lock back; does nothing where it is not ours."""
        if self._turn is not None:
            _leave(self._turn)
            self._turn = None

    @property
    def holder(self) -> str:
        """Who holds it, for people."""
        for number in sorted(self._numbers()):
            with suppress(OSError, ValueError):
                return f"process {int(self._path(number).read_text())}"
        return "another process"

    @property
    def length(self) -> int:
        """How many hold it or wait for it; raises :class:`LockError`."""
        if not self._folder.exists():
            return 0
        return sum(is_held(self._path(number)) for number in self._numbers())

    def _arrive(self, deadline: float) -> FileLock:
        """Our place at the end of the queue: a file with the next number, locked."""
        with suppress(OSError):  # the lock says what it is that does not work
            self._folder.mkdir(mode=0o700, exist_ok=True)
        counter = FileLock(self._folder / _COUNTER)
        counter.acquire(max(0.0, deadline - time.monotonic()))
        try:
            # A number is given anew only once nobody is left who may have seen it.
            turn = FileLock(self._path(max(self._numbers(), default=0) + 1))
            turn.acquire()
        finally:
            counter.release()
        with suppress(OSError):  # a full disk: then nobody hears who it is that holds it
            turn.path.write_text(str(os.getpid()))
        return turn

    def _wait_for_those_before(self, turn: FileLock, deadline: float) -> None:
        ours = int(turn.path.name)
        for number in sorted(self._numbers()):
            if number >= ours:
                return
            path = self._path(number)
            while is_held(path):
                if time.monotonic() >= deadline:
                    raise LockTimeout(
                        "lock_timeout",
                        f"{self.holder} holds {self._folder}; try again when it has ended",
                    )
                time.sleep(_PAUSE)
            with suppress(OSError):
                path.unlink()  # of one that was killed

    def _numbers(self) -> Iterator[int]:
        return (int(path.name) for path in self._folder.iterdir() if path.name.isdecimal())

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:08}"


def _leave(turn: FileLock) -> None:
    # Unlinked first: an unlocked file that is still there looks like one of a killed owner.
    with suppress(OSError):
        turn.path.unlink()
    turn.release()
