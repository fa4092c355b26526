"""The spool's file: its tables, how it is opened, and what its failures are called."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final
from uuid import uuid4

from elicitation_receipts.schemas.errors import HomeError, SpoolError

FILE_NAME: Final = "spool.db"

#: "ERSP": how SQLite and `file` tell a spool from any other database.
APPLICATION_ID: Final = 0x45525350
#: Of the tables below; a spool of a newer one is refused.
VERSION: Final = 1

_TABLES: Final = """
CREATE TABLE spool (
    id BLOB NOT NULL                           -- random UUID, one row
);
CREATE TABLE streams (
    number         INTEGER PRIMARY KEY,        -- in the order they were opened
    stream_id      BLOB    NOT NULL UNIQUE,
    tenant         TEXT    NOT NULL,
    location       BLOB    NOT NULL,           -- where the spool was when the stream was opened
    opened_at      INTEGER NOT NULL,           -- UTC microseconds
    next_sequence  INTEGER NOT NULL,
    last_hash      BLOB    NOT NULL,           -- leaf hash of the newest receipt
    shipped_next   INTEGER NOT NULL,           -- every sequence below it is acknowledged by Kafka
    policy_digest  BLOB                        -- of the newest `policy_loaded`
);
CREATE TABLE receipts (
    position  INTEGER PRIMARY KEY AUTOINCREMENT,  -- order of writing, over all streams
    stream_id BLOB    NOT NULL,
    sequence  INTEGER NOT NULL,
    message   BLOB    NOT NULL,                -- the sealed Avro single-object message
    UNIQUE (stream_id, sequence)
);
CREATE TABLE open_questions (
    elicitation_id BLOB PRIMARY KEY,
    watcher        BLOB,                       -- who watches it; null: nobody in particular
    outcome        TEXT    NOT NULL,           -- open or consented
    position       INTEGER NOT NULL            -- of its newest receipt
) WITHOUT ROWID;
"""


#: Pages in the write-ahead log before it is copied into the file, which whose append it falls to
#: must wait for: most pages change with every append, so that a longer log is much less to copy.
_LOG_PAGES: Final = 8192  # of 4 KiB


class Durability(StrEnum):
    """What a receipt survives once an append has returned."""

    POWER = "power"  # a power cut: every append is synced to disk
    PROCESS = "process"  # the end of the process, however sudden; a power cut may lose the newest


def connect(
    home: Path, create: bool, durability: Durability, busy_timeout: float
) -> sqlite3.Connection:
    """A connection to the spool of a home directory; ``create`` makes it where there is none.

    To be called under the spool's lock where ``create`` is true. The connection is in
    autocommit mode and may be used by any thread, one at a time.
    """
    path = home / FILE_NAME
    if create:
        _touch(path)
    elif not path.exists():
        raise SpoolError("spool_missing", f"there is no spool in {home}; run `receipts tap` first")
    with naming_errors(path):
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?{'mode=rw' if create else _mode(path)}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=busy_timeout,
        )
        try:
            _check(connection, path, create)
            synchronous = "FULL" if durability is Durability.POWER else "NORMAL"
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        except BaseException:
            connection.close()
            raise
    return connection


def make_home(home: Path) -> None:
    """Make the home directory, mode 0700, where there is none. Raises ``home_unwritable``."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise HomeError(
            "home_unwritable",
            f"cannot make the directory {home} ({error.strerror}); choose another with --home",
        ) from error


@contextmanager
def naming_errors(path: Path) -> Iterator[None]:
    """Turns what SQLite and the operating system raise into a :class:`SpoolError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise sqlite_error(error, path) from error
    except OSError as error:
        raise os_error(error, path) from error


def os_error(error: OSError, path: Path) -> SpoolError:
    """The name of an operating system's refusal to open or write a file of the spool."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return _full(path)
        case errno.EROFS | errno.EACCES | errno.EPERM:
            return _read_only(path)
        case errno.ENOENT:
            return SpoolError("spool_missing", f"{path} is gone; put it back or start again")
    return SpoolError("spool_unreadable", f"cannot open {path}: {error.strerror}")


def _mode(path: Path) -> str:
    """How SQLite is to open the file: one that nobody can write here is still there to be read."""
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return "mode=rw"
    # Even to read, SQLite puts an index beside the log, unless it is told that nobody writes.
    return "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"


def _touch(path: Path) -> None:
    # By ourselves, because SQLite gives a new file the mode the umask allows; the files
    # SQLite puts beside it take their mode from it.
    with naming_errors(path):
        if path.exists():
            return
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)  # else a power cut may take the file with all that is in it
        finally:
            os.close(folder)


def _check(connection: sqlite3.Connection, path: Path, create: bool) -> None:
    application_id = _number(connection, "PRAGMA application_id")
    version = _number(connection, "PRAGMA user_version")
    if application_id == 0 and not _number(connection, "SELECT count(*) FROM sqlite_master"):
        if not create:
            raise SpoolError("spool_missing", f"{path} is empty; run `receipts tap` first")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN IMMEDIATE; {_TABLES}")
        connection.execute("INSERT INTO spool VALUES (?)", (uuid4().bytes,))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
        return
    if application_id != APPLICATION_ID:
        raise _not_ours(path)
    if version > VERSION:
        raise SpoolError(
            "spool_newer",
            f"{path} is of format {version}, this program knows {VERSION}; install a newer one",
        )


def _number(connection: sqlite3.Connection, query: str) -> int:
    number: int = connection.execute(query).fetchone()[0]
    return number


def sqlite_error(error: sqlite3.Error, path: Path) -> SpoolError:
    """The name of what SQLite raised for a file of the spool."""
    # The low byte is the primary result code (sqlite.org/rescode.html).
    match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return _full(path)
        case sqlite3.SQLITE_READONLY:
            return _read_only(path)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return SpoolError("spool_locked", f"another program holds {path}; wait for it to end")
        case sqlite3.SQLITE_NOTADB:
            return _not_ours(path)
        case sqlite3.SQLITE_CORRUPT:
            return SpoolError(
                "spool_corrupt",
                f"{path} is damaged; move it away, then a new one is started",
            )
        case sqlite3.SQLITE_IOERR if _has_no_room(path):
            return _full(path)
        case sqlite3.SQLITE_CANTOPEN if not os.access(path.parent, os.W_OK):
            return _read_only(path)  # even to read it, SQLite puts a file beside it
    return SpoolError(
        "spool_unreadable", f"cannot use {path} ({error}); check it, its folder and the disk"
    )


def _has_no_room(path: Path) -> bool:
    try:
        return os.statvfs(path.parent).f_bavail == 0
    except OSError:
        return False


def _full(path: Path) -> SpoolError:
    return SpoolError("spool_full", f"no room left for {path}; free space on its disk")


def _read_only(path: Path) -> SpoolError:
    return SpoolError("spool_read_only", f"cannot write {path}; check its disk and permissions")


def _not_ours(path: Path) -> SpoolError:
    return SpoolError("spool_not_ours", f"{path} is not a spool; choose another home with --home")
