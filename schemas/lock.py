"""A lock file: one holder at a time, across threads and processes of one machine."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from elicitation_receipts.schemas.errors import ReceiptsError

_FIRST_PAUSE: Final = 0.0005
_LONGEST_PAUSE: Final = 0.005
#: Longer than `is_held` needs for a look, so that a look is not mistaken for a holder.
_LOOK: Final = 0.02


class LockError(ReceiptsError):
    """A lock file cannot be opened (``lock_unusable``)."""


class LockTimeout(LockError):  # noqa: N818  (as TimeoutExpired of subprocess)
    """Somebody else holds the lock (``lock_timeout``)."""


class FileLock:
    """An exclusive POSIX ``flock`` on ``path``, given back by the kernel when its holder dies.

    The file is made with mode 0600 on first use and never removed: removing it would
    let two holders each lock a file of their own. Two instances exclude each other
    also within one process. One instance is not for use by several threads at once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    @property
    def is_acquired(self) -> bool:
        return self._descriptor is not None

    def acquire(self, timeout: float | None = None) -> None:
        """Take the lock; wait at most ``timeout`` seconds, without one as long as it takes.

        Raises :class:`LockTimeout`, and :class:`LockError` where the file cannot be opened.
        """
        if self._descriptor is not None:
            raise RuntimeError("this FileLock is already acquired")
        descriptor = _open(self.path, os.O_CREAT)
        try:
            if _wait_for(descriptor, timeout):
                self._descriptor = descriptor
        finally:
            if self._descriptor is None:
                os.close(descriptor)
        if self._descriptor is None:
            raise LockTimeout(
                "lock_timeout", f"somebody else holds {self.path}; try again when it has ended"
            )

    def try_acquire(self) -> bool:
        """Take the lock if nobody holds it; say whether it is ours now."""
        try:
            self.acquire(timeout=_LOOK)
        except LockTimeout:
            return False
        return True

    def release(self) -> None:
        """Give the lock back; does nothing where it is not ours."""
        if self._descriptor is not None:
            # Unlocked first: a child forked just now shares the open file until it executes.
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def is_held(path: Path) -> bool:
    """Whether anybody (also this process) holds the lock ``path`` right now.

    Looks by taking a shared lock for a moment, so that two who look at the same time
    do not take each other for a holder. A file that does not exist is held by nobody.
    """
    try:
        descriptor = _open(path, 0)
    except LockError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return False
        raise
    try:
        return not _try_flock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _open(path: Path, flags: int) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o600)
    except OSError as error:
        raise LockError(
            "lock_unusable",
            f"cannot open the lock file {path} ({error.strerror}); check its folder's permissions",
        ) from error


def _wait_for(descriptor: int, timeout: float | None) -> bool:
    deadline = None if timeout is None else time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while not _try_flock(descriptor, fcntl.LOCK_EX):
        if deadline is not None and time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
    return True


def _try_flock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
