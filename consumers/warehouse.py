"""The warehouse: the DuckDB database receipts land in, opened, created and kept up to date."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

import duckdb

from elicitation_receipts.consumers import migrations
from elicitation_receipts.consumers.rows import now
from elicitation_receipts.schemas.errors import WarehouseError
from elicitation_receipts.schemas.lock import LockError, LockTimeout
from elicitation_receipts.schemas.queue_lock import QueueLock

#: The queue beside a database, in which whoever opens the database waits for a turn.
QUEUE_NAME: Final = "land.queue"

_WAIT: Final = 10.0
_PAUSE: Final = 0.05
#: What DuckDB's errors end in where the disk is full, or the user's share of it (strerror(3)).
_NO_ROOM: Final = ("No space left on device", "Disk quota exceeded")
_MIGRATION_FILE: Final = re.compile(r"([0-9]{4})_([a-z_]+)\.sql")
_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    # By default DuckDB fetches extensions from the network when it thinks one is needed.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    # By default a table that does not exist is looked for among Python's variables.
    "python_enable_replacements": False,
    # At the default of 16 MiB a backlog is checkpointed after every second batch.
    "wal_autocheckpoint": "256MB",
}


@dataclass(frozen=True, slots=True)
class Migration:
    """A numbered change of the database: ``name`` and text of its SQL file."""

    number: int
    name: str
    sql: str


class Warehouse:
    """A DuckDB file. One process at a time writes to it, or any number read it together.

    Whoever wants it queues beside it in order of arrival, so that neither landers nor
    readers starve. ``wait``: for how many seconds. Both ways to open it raise
    :class:`WarehouseError`: ``warehouse_busy``, ``warehouse_unwritable``, ``warehouse_full``,
    ``warehouse_unreadable``, ``warehouse_not_ours``, ``warehouse_newer``, and
    ``warehouse_failed`` for what else DuckDB raises while it is open.
    """

    def __init__(self, path: Path, wait: float = _WAIT) -> None:
        self.path = path
        self._wait = wait

    @contextmanager
    def open(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database, made or migrated as needed, for reading and writing."""
        with self._turn() as deadline:
            if not self.path.exists():
                self._make()
            with self._connect(deadline) as database:
                self._migrate(database)
                with self._naming_errors():
                    yield database

    def is_awaited(self) -> bool:
        """Whether somebody queues for it, asked by who has it open for writing."""
        return self._queue().length > 1

    @contextmanager
    def read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database for reading; ``warehouse_missing`` where nothing has landed yet."""
        if not self.path.exists():
            raise WarehouseError(
                "warehouse_missing", f"{self.path} is not there yet; `receipts land` makes it"
            )
        with self._turn(read_only=True) as deadline:
            database = self._connect(deadline, read_only=True)
            if self._pending(database):
                database.close()
                with self._connect(deadline) as writable:
                    self._migrate(writable)
                database = self._connect(deadline, read_only=True)
        # Others may read along from here on; who wants to write waits for the file itself.
        with database, self._naming_errors():
            yield database

    @contextmanager
    def rewrite(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database, with an empty one attached as ``rewritten`` that takes its place after.

        After an error it is as it was. What the old file held is gone from it with the file.
        """
        draft = self.path.with_name(f".{self.path.name}.rewritten")
        with self._turn() as deadline:
            self._forget(draft)  # of one who was killed here
            try:
                with self._connect(deadline) as database:
                    self._migrate(database)
                    with self._naming_errors():
                        database.execute("CHECKPOINT")  # or the log would outlive its file
                        database.execute(f"ATTACH '{_quoted(draft)}' AS rewritten")
                        yield database
                        database.execute("DETACH rewritten")
                _sync(draft)
                draft.replace(self.path)
                _sync(self.path.parent)
            except OSError as error:
                raise self._unwritable() from error
            finally:
                self._forget(draft)

    @staticmethod
    def _forget(draft: Path) -> None:
        for path in (draft, draft.with_name(f"{draft.name}.wal")):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    @contextmanager
    def _turn(self, *, read_only: bool = False) -> Iterator[float]:
        """Hold the turn; the time (monotonic) until which the file may be waited for."""
        deadline = time.monotonic() + self._wait
        queue = self._queue()
        try:
            queue.acquire(self._wait)
        except LockTimeout as error:
            raise WarehouseError(
                "warehouse_busy",
                f"{queue.holder} has its turn at {self.path}; try again when it is done",
            ) from error
        except LockError as error:
            if not read_only:
                raise self._unwritable() from error
            # Where nothing can be written, nobody lands either; else DuckDB's own lock tells.
        try:
            yield deadline
        finally:
            queue.release()

    def _queue(self) -> QueueLock:
        return QueueLock(self.path.with_name(QUEUE_NAME))

    def _make(self) -> None:
        """Put an empty database in place, whole: one that was only begun can never be opened."""
        draft = self.path.with_name(f".{self.path.name}.new")
        try:
            draft.unlink(missing_ok=True)  # of one who was killed here
            duckdb.connect(draft, config=_CONFIG).close()
            draft.rename(self.path)
        except duckdb.Error as error:
            raise self._refused(error) from error
        except OSError as error:
            raise self._unwritable() from error
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    def _connect(self, deadline: float, *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
        while True:
            try:
                return duckdb.connect(self.path, read_only=read_only, config=_CONFIG)
            except duckdb.Error as error:
                holder = _holder(error)
                if holder is None:
                    raise self._refused(error) from error
                if time.monotonic() >= deadline:
                    raise WarehouseError(
                        "warehouse_busy",
                        f"{holder} has {self.path} open; close it there, or try again later",
                    ) from error
            time.sleep(_PAUSE)

    def _refused(self, error: duckdb.Error) -> WarehouseError:
        if _is_full(error):
            return self._full()
        if "Cannot open file" in str(error):
            return self._unwritable()
        return WarehouseError(
            "warehouse_unreadable",
            f"{self.path} is damaged, or no database this DuckDB can read; "
            "move it away and land anew",
        )

    def _unwritable(self) -> WarehouseError:
        return WarehouseError(
            "warehouse_unwritable",
            f"cannot write to {self.path}; check that its folder exists and is yours",
        )

    def _full(self) -> WarehouseError:
        return WarehouseError(
            "warehouse_full",
            f"no room left for {self.path}; free space on its disk, then try again: "
            "nothing was changed",
        )

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            if _is_full(error):
                raise self._full() from error
            # DuckDB's own words may repeat a value; its type says enough.
            raise WarehouseError(
                "warehouse_failed",
                f"DuckDB failed on {self.path} ({type(error).__name__}) and changed nothing; "
                "check the disk, then try again",
            ) from error

    def _migrate(self, database: duckdb.DuckDBPyConnection) -> None:
        for migration in self._pending(database):
            try:
                _apply(database, migration)
            except duckdb.Error as error:
                raise self._refused(error) from error

    def _pending(self, database: duckdb.DuckDBPyConnection) -> list[Migration]:
        """The migrations still to apply; refuses a database that is not ours, or newer."""
        known = installed_migrations()
        ours = [(migration.number, migration.name) for migration in known]
        try:
            applied = _applied(database)
        except duckdb.Error as error:
            raise self._refused(error) from error
        if applied is None or applied[: len(ours)] != ours[: len(applied)]:
            raise WarehouseError(
                "warehouse_not_ours",
                f"{self.path} is somebody else's DuckDB database; name another file",
            )
        if len(applied) > len(ours):
            raise WarehouseError(
                "warehouse_newer",
                f"{self.path} was written by a newer version; install that version",
            )
        return known[len(applied) :]


def installed_migrations() -> list[Migration]:
    """The migrations this package brings, in their order, numbered from 1 without gaps."""
    return sorted(
        (
            Migration(int(match[1]), match[2], file.read_text(encoding="utf-8"))
            for file in resources.files(migrations).iterdir()
            if (match := _MIGRATION_FILE.fullmatch(file.name))
        ),
        key=lambda migration: migration.number,
    )


def _applied(database: duckdb.DuckDBPyConnection) -> list[tuple[int, str]] | None:
    """Number and name of each applied migration; None: there is something, but not ours."""
    tables = database.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"
    ).fetchall()
    if not tables:
        return []
    try:
        rows = database.execute("SELECT number, name FROM migrations ORDER BY number").fetchall()
    except (duckdb.CatalogException, duckdb.BinderException):
        return None
    return rows or None


def _apply(database: duckdb.DuckDBPyConnection, migration: Migration) -> None:
    database.begin()
    try:
        if migration.number == 1:
            database.execute(
                "CREATE TABLE migrations ("
                "number INTEGER PRIMARY KEY, name VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL)"
            )
        database.execute(migration.sql)
        database.execute(
            "INSERT INTO migrations VALUES (?, ?, ?)", [migration.number, migration.name, now()]
        )
        database.commit()
    except BaseException:
        with suppress(duckdb.Error):  # the first error is the one to hear of
            database.rollback()
        raise


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _is_full(error: duckdb.Error) -> bool:
    return any(words in str(error) for words in _NO_ROOM)


def _holder(error: duckdb.Error) -> str | None:
    """Who has the file open, if that is what the error says."""
    text = str(error)
    if "different configuration" in text:
        return "this process"
    if "Could not set lock" not in text:
        return None
    match = re.search(r"\(PID (\d+)\)", text)
    return f"process {match[1]}" if match else "another process"
