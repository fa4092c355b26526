"""A watcher's presence: a file in the home that stays locked for as long as it lives.

The kernel gives the lock back however the watcher ends, so that others can tell. The
file has its full size from the start: that receipts are being lost can be noted in it
even when the disk is full, and is known after a crash.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self
from uuid import UUID, uuid4

from elicitation_receipts.producers.account import Account
from elicitation_receipts.schemas.errors import HomeError
from elicitation_receipts.schemas.lock import FileLock, is_held
from elicitation_receipts.schemas.receipt import Loss
from elicitation_receipts.schemas.vocabulary import LossReason

_FOLDER: Final = "watchers"
_SIZE: Final = 512  # one sector: written whole or not at all


class Presence:
    """One living watcher. Use :meth:`announce`, under the spool's lock (see :func:`departed`)."""

    def __init__(self, id_: UUID, tenant: str, lock: FileLock, descriptor: int) -> None:
        self.id = id_
        self._tenant = tenant
        self._lock = lock
        self._descriptor = descriptor

    @classmethod
    def announce(cls, home: Path, tenant: str) -> Self:
        """Make and lock the file. Raises ``home_unwritable``."""
        id_ = uuid4()
        path = _path(home, id_)
        lock = FileLock(path)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            lock.acquire()
            presence = cls(id_, tenant, lock, os.open(path, os.O_WRONLY | os.O_CLOEXEC))
            presence._write([])
        except OSError as error:
            path.unlink(missing_ok=True)
            lock.release()
            raise HomeError(
                "home_unwritable", f"cannot write {path} ({error.strerror}); check disk and home"
            ) from error
        return presence

    def note(self, accounts: Iterable[Account]) -> None:
        """What would have to be accounted for if the watcher ended now, in place of the last note.

        Without numbers: after a crash nobody knows how many more there were. Where even
        that cannot be noted, it is not.
        """
        with suppress(OSError):
            self._write([replace(one, loss=replace(one.loss, count=None)) for one in accounts])

    def leave(self, accounts: Iterable[Account]) -> None:
        """The watcher ends in good order. ``accounts``: what it could not settle itself."""
        unsettled = list(accounts)
        if unsettled:
            with suppress(OSError):
                self._write(unsettled)
        else:
            self._lock.path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._lock.release()

    def _write(self, accounts: Iterable[Account]) -> None:
        lost = [[one.id.hex, one.loss.count, one.loss.since, one.loss.reason] for one in accounts]
        note = json.dumps({"tenant": self._tenant, "lost": lost}, separators=(",", ":"))
        os.pwrite(self._descriptor, note.ljust(_SIZE - 1).encode() + b"\n", 0)
        os.fsync(self._descriptor)


@dataclass(frozen=True, slots=True)
class Departed:
    """What a watcher that is gone has left: its file, locked by us, and what it did not settle."""

    id: UUID
    tenant: str | None
    accounts: Sequence[Account]
    lock: FileLock

    def forget(self) -> None:
        """Remove the file."""
        self.lock.path.unlink(missing_ok=True)
        self.lock.release()


def is_present(home: Path, watcher: UUID) -> bool:
    """Whether the watcher lives, or somebody is just accounting for it."""
    return is_held(_path(home, watcher))


def present(home: Path) -> list[str]:
    """The tenant of every watcher that lives."""
    alive = (path for path in sorted((home / _FOLDER).glob("*")) if is_held(path))
    return [tenant for path in alive if (tenant := _read(FileLock(path)).tenant) is not None]


def departed(home: Path) -> Iterator[Departed]:
    """The watchers that left a file behind; each is locked, so that nobody else takes it up.

    To be called under the spool's lock: between making its file and locking it a new
    watcher, too, looks as if it were gone.
    """
    for path in sorted((home / _FOLDER).glob("*")):
        lock = FileLock(path)
        if not is_held(path) and lock.try_acquire():
            yield _read(lock)


def _path(home: Path, watcher: UUID) -> Path:
    return home / _FOLDER / str(watcher)


def _read(lock: FileLock) -> Departed:
    id_ = UUID(lock.path.name)
    try:
        note = json.loads(lock.path.read_bytes())
        accounts = [
            Account(UUID(hex=number), Loss(count, since, LossReason(reason)))
            for number, count, since, reason in note["lost"]
        ]
        return Departed(id_, note["tenant"], accounts, lock)
    except (OSError, ValueError, LookupError, TypeError):
        return Departed(id_, None, (), lock)  # it ended before it had written anything
