"""The spool: receipts sealed into streams, durable on this machine until they are shipped."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from uuid import UUID, uuid4

from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import decode, encode_at
from elicitation_receipts.schemas.errors import SpoolError
from elicitation_receipts.schemas.high_water import HighWaterMark
from elicitation_receipts.schemas.identifiers import OPERATORS
from elicitation_receipts.schemas.lock import FileLock, LockError, LockTimeout
from elicitation_receipts.schemas.receipt import ZERO_HASH, Receipt
from elicitation_receipts.schemas.sealing import seal
from elicitation_receipts.schemas.spool_file import (
    FILE_NAME,
    Durability,
    connect,
    make_home,
    naming_errors,
    os_error,
    sqlite_error,
)
from elicitation_receipts.schemas.vocabulary import Event, Outcome

_LOCK_NAME: Final = "spool.lock"
_MARK_NAME: Final = "spool.mark"
_MACHINE_ID: Final = Path("/etc/machine-id")
_NEVER: Final = 2**63 - 1  # no position is larger
#: At most so many receipts are removed in one transaction, for which others wait.
_TRIMMED_TOGETHER: Final = 1000
#: UUID version of the id of a stream that watchers write to: random. See `write_stream`.
_LIVE: Final = 4


@dataclass(frozen=True, slots=True)
class Producer:
    """The program that writes: an identifier and a version."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """A receipt as it now stands in the spool: its message and the message's leaf hash."""

    position: int
    message: bytes
    leaf: bytes
    _given: Receipt
    _sequence: int
    _previous_hash: bytes

    @property
    def receipt(self) -> Receipt:
        return replace(self._given, sequence=self._sequence, previous_hash=self._previous_hash)


@dataclass(frozen=True, slots=True)
class Stored:
    """A message in the spool. ``position``: order of writing over all streams, from 1."""

    position: int
    stream_id: UUID
    sequence: int
    message: bytes


@dataclass(frozen=True, slots=True)
class StreamState:
    """How far a stream has come. Every sequence below ``shipped_next`` is in Kafka."""

    stream_id: UUID
    tenant: str
    next_sequence: int
    last_hash: bytes
    shipped_next: int
    opened_at: int
    location: bytes
    policy_digest: bytes | None


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question without an end: its newest receipt and how it stands (open or consented)."""

    watcher: UUID | None
    outcome: Outcome
    receipt: Receipt


class Spool:
    """The spool of one home directory, for any number of processes at once.

    Several threads may share an instance: it has one connection, under one mutex. Who
    must not wait for a writer reads through an instance of their own.

    Every method raises :class:`SpoolError`: ``spool_full``, ``spool_read_only``,
    ``spool_locked``, ``spool_corrupt``, ``spool_missing``, ``spool_replaced``,
    ``spool_unreadable``.
    """

    def __init__(
        self, home: Path, *, create: bool, durability: Durability, lock_timeout: float
    ) -> None:
        """Use :meth:`open`."""
        self.home = home
        self.path = home / FILE_NAME
        self._durability = durability
        self._lock_timeout = lock_timeout
        self._lock = FileLock(home / _LOCK_NAME)
        self._mark = HighWaterMark(home / _MARK_NAME)
        self._mutex = threading.RLock()
        self._written: dict[UUID, int] = {}  # next sequences of the transaction under way
        self._connection = self._connect(create)
        try:
            self._recognize()
        except BaseException:
            self._connection.close()
            raise

    @classmethod
    def open(
        cls,
        home: Path,
        *,
        create: bool = True,
        durability: Durability | str = Durability.POWER,
        lock_timeout: float = 5.0,
    ) -> Self:
        """Open the spool in ``home``, by default making both where there are none.

        ``lock_timeout``: seconds to wait for other writers before ``spool_locked``.
        Raises also ``spool_not_ours``, ``spool_newer`` and :class:`HomeError`.
        """
        return cls(
            home, create=create, durability=Durability(durability), lock_timeout=lock_timeout
        )

    def reopen(self) -> None:
        """After ``spool_missing`` or ``spool_replaced``: open what is there now, or make it.

        Raises as :meth:`open`.
        """
        with self._mutex:
            connection = self._connect(create=True)
            self._connection.close()
            self._connection = connection
            self._recognize()

    def close(self) -> None:
        with self._mutex:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Writing

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Nobody else writes while it lasts; all of it is written at its end, or nothing.

        A transaction within one of the same thread is a part of it.
        """
        with self._mutex:
            if self._connection.in_transaction:
                yield
                return
            with _holding(self._lock, self._lock_timeout):
                self._check_in_place()
                self._query("BEGIN IMMEDIATE")
                try:
                    yield
                    self._query("COMMIT")
                except BaseException:
                    self._written.clear()
                    if self._connection.in_transaction:
                        with suppress(sqlite3.Error):
                            self._connection.execute("ROLLBACK")
                    raise
                self._raise_mark()

    def append(self, receipts: Sequence[Receipt], watcher: UUID | None = None) -> list[Sealed]:
        """Seal receipts at the end of their streams, in one transaction.

        Gives each its ``sequence`` and ``previous_hash``. ``watcher``: whose open questions
        these are. Once it returns they are as durable as the spool was opened for.
        Raises also :class:`CodecError`, ``stream_unknown`` and ``stream_moved``.
        """
        with self.transaction():
            ends: dict[UUID, tuple[int, bytes]] = {}
            sealed = []
            for receipt in receipts:
                stream_id = receipt.stream_id
                if stream_id not in ends:
                    ends[stream_id] = self._end_of(stream_id)
                sequence, previous_hash = ends[stream_id]
                message = encode_at(receipt, sequence, previous_hash)
                leaf = leaf_hash(message)
                position = self._query(
                    "INSERT INTO receipts (stream_id, sequence, message) VALUES (?, ?, ?)",
                    (stream_id.bytes, sequence, message),
                ).lastrowid
                assert position is not None  # noqa: S101  (an INSERT has one)
                ends[stream_id] = (sequence + 1, leaf)
                self._follow(receipt, position, watcher)
                sealed.append(Sealed(position, message, leaf, receipt, sequence, previous_hash))
            for stream_id, (next_sequence, last_hash) in ends.items():
                self._query(
                    "UPDATE streams SET next_sequence = ?, last_hash = ? WHERE stream_id = ?",
                    (next_sequence, last_hash, stream_id.bytes),
                )
                self._written[stream_id] = next_sequence
            return sealed

    def stream_for(self, tenant: str, producer: Producer) -> UUID:
        """The stream a tenant's receipts go to now.

        A new one is opened, with its ``stream_opened``, where there is none and where
        sequences of the last one may have been used without this spool knowing: it was
        moved or copied here, or put back from an older copy.
        """
        with self.transaction():
            live = [
                state
                for state in self.streams()
                if state.tenant == tenant and state.stream_id.version == _LIVE
            ]
            for state in live[-1:]:
                if state.location == self._location and not self._is_behind(state):
                    return state.stream_id
            return self._open_stream(tenant, producer)

    def write_stream(self, receipts: Sequence[Receipt]) -> bool:
        """Write a stream of its own, whole: a recording's, in which no question stays open.

        Its id is a name (UUID version 5), so that the same recording has the same: where the
        stream is there already nothing is written, and False returned. Raises also
        :class:`CodecError`.
        """
        opened = receipts[0]
        stream_id = opened.stream_id.bytes
        policy = next((one for one in receipts if one.event is Event.POLICY_LOADED), opened)
        # Before the transaction: however long the stream, watchers wait for its writing only.
        messages = list(seal(receipts))
        with self.transaction():
            if any(state.stream_id == opened.stream_id for state in self.streams()):
                return False
            self._begin(opened)
            with naming_errors(self.path):
                self._connection.executemany(
                    "INSERT INTO receipts (stream_id, sequence, message) VALUES (?, ?, ?)",
                    ((stream_id, place, message) for place, message in enumerate(messages)),
                )
            self._query(
                "UPDATE streams SET next_sequence = ?, last_hash = ?, policy_digest = ?"
                " WHERE stream_id = ?",
                (len(messages), leaf_hash(messages[-1]), policy.policy_digest, stream_id),
            )
            self._written[opened.stream_id] = len(messages)
            return True

    def mark_shipped(self, shipped: Mapping[UUID, int]) -> None:
        """Every sequence below the given one is acknowledged by the broker, for each stream."""
        with self.transaction():
            for stream_id, next_sequence in shipped.items():
                self._query(
                    "UPDATE streams SET shipped_next = max(shipped_next, ?) WHERE stream_id = ?",
                    (next_sequence, stream_id.bytes),
                )

    def trim(self, before: int) -> int:
        """Remove some of the oldest receipts; returns how many, 0 where none is left to remove.

        Only what the broker has acknowledged and what occurred ``before`` (UTC microseconds),
        and nothing behind a receipt that stays: that of a question still open is needed. The
        acts of operators stay: they say which holds stand.
        """
        with self.transaction():
            end = 0
            for position, message in self._query(
                "SELECT position, message FROM receipts WHERE stream_id NOT IN"
                " (SELECT stream_id FROM streams WHERE tenant = ?) AND position < coalesce(("
                " SELECT min(position) FROM ("
                "  SELECT position FROM streams CROSS JOIN receipts USING (stream_id)"
                "  WHERE sequence = shipped_next"
                "  UNION ALL SELECT position FROM open_questions)), ?)"
                " ORDER BY position LIMIT ?",
                (OPERATORS, _NEVER, _TRIMMED_TOGETHER),
            ):
                if decode(message).occurred_at >= before:
                    break
                end = position
            return self._query(
                "DELETE FROM receipts WHERE position <= ? AND stream_id NOT IN"
                " (SELECT stream_id FROM streams WHERE tenant = ?)",
                (end, OPERATORS),
            ).rowcount

    def drop_segment(self, stream_id: UUID, first: int, last: int) -> int:
        """Remove the receipts ``first`` to ``last`` of a stream; returns how many there were.

        Their bytes are overwritten, in the file and in the log. Others write in between.
        """
        count = 0
        self._query("PRAGMA secure_delete = ON")
        try:
            while True:
                with self.transaction():
                    removed = self._query(
                        "DELETE FROM receipts WHERE position IN (SELECT position FROM receipts"
                        " WHERE stream_id = ? AND sequence BETWEEN ? AND ? LIMIT ?)",
                        (stream_id.bytes, first, last, _TRIMMED_TOGETHER),
                    ).rowcount
                count += removed
                if not removed:
                    break
        finally:
            self._query("PRAGMA secure_delete = OFF")
        self._empty_log()
        return count

    def _empty_log(self) -> None:
        """Move the write-ahead log into the file and cut it to nothing."""
        with self._mutex, _holding(self._lock, self._lock_timeout):
            [busy, _, _] = self._query("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise SpoolError(
                "spool_locked", f"another program reads {self.path}; wait for it to end"
            )

    # Reading

    def read(self, after: int, limit: int) -> list[Stored]:
        """Up to ``limit`` messages behind position ``after`` (0: from the start), synced."""
        return self._read(
            "SELECT position, stream_id, sequence, message FROM receipts"
            " WHERE position > ? ORDER BY position LIMIT ?",
            (after, limit),
        )

    def read_stream(self, stream_id: UUID, first: int, limit: int) -> list[Stored]:
        """Up to ``limit`` messages of one stream from sequence ``first`` on, synced."""
        return self._read(
            "SELECT position, stream_id, sequence, message FROM receipts"
            " WHERE stream_id = ? AND sequence >= ? ORDER BY sequence LIMIT ?",
            (stream_id.bytes, first, limit),
        )

    def unshipped(self, limit: int) -> list[Stored]:
        """Up to ``limit`` messages no broker has acknowledged, in order of position, synced."""
        return self._read(
            # CROSS JOIN keeps SQLite to this order: few streams first, by index, to find
            # where to begin; then the receipts from there on.
            "SELECT position, stream_id, sequence, message"
            " FROM receipts CROSS JOIN streams USING (stream_id)"
            " WHERE sequence >= shipped_next AND position >= ("
            "  SELECT min(position) FROM streams CROSS JOIN receipts USING (stream_id)"
            "  WHERE sequence = (SELECT min(sequence) FROM receipts AS rest"
            "   WHERE rest.stream_id = streams.stream_id AND rest.sequence >= shipped_next))"
            " ORDER BY position LIMIT ?",
            (limit,),
        )

    def holds(self, receipt_id: UUID) -> bool:
        """Whether a receipt is here, by its id; looks through everything, the newest first."""
        found = self._query(
            "SELECT 1 FROM receipts WHERE instr(message, ?) ORDER BY position DESC LIMIT 1",
            (receipt_id.bytes,),  # a fixed field of the message, whatever schema wrote it
        )
        return found.fetchone() is not None

    def streams(self) -> list[StreamState]:
        """Every stream, in the order they were opened."""
        rows = self._query(
            "SELECT stream_id, tenant, next_sequence, last_hash, shipped_next, opened_at,"
            " location, policy_digest FROM streams ORDER BY number"
        ).fetchall()
        return [StreamState(UUID(bytes=row[0]), *row[1:]) for row in rows]

    def open_questions(self) -> list[OpenQuestion]:
        """Every question whose outcome is open or consented, oldest first."""
        rows = self._query(
            "SELECT watcher, outcome, message FROM open_questions JOIN receipts USING (position)"
            " ORDER BY position"
        ).fetchall()
        return [
            OpenQuestion(
                UUID(bytes=watcher) if watcher else None, Outcome(outcome), decode(message)
            )
            for watcher, outcome, message in rows
        ]

    # Inside

    def _connect(self, create: bool) -> sqlite3.Connection:
        if not create:
            return connect(self.home, False, self._durability, self._lock_timeout)
        make_home(self.home)
        with _holding(self._lock, self._lock_timeout):
            return connect(self.home, True, self._durability, self._lock_timeout)

    def _recognize(self) -> None:
        """Learn which spool this is and where it is."""
        self._inode = self._find_inode()
        self._location = _location(self.path, self._inode, self._lock.path)
        row = self._query("SELECT id FROM spool").fetchone()
        if row is None:
            raise SpoolError("spool_corrupt", f"{self.path} has lost its id; move it away")
        self.id = UUID(bytes=row[0])

    def _query(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        with self._mutex:
            try:  # not `naming_errors`: an append asks so often that it would take a tenth of it
                return self._connection.execute(sql, parameters)
            except sqlite3.Error as error:
                raise sqlite_error(error, self.path) from error

    def _read(self, sql: str, parameters: Sequence[Any]) -> list[Stored]:
        with self._mutex, naming_errors(self.path):
            rows = self._connection.execute(sql, parameters).fetchall()
        if rows:
            self._sync()
        return [Stored(row[0], UUID(bytes=row[1]), row[2], row[3]) for row in rows]

    def _sync(self) -> None:
        """Make durable what was just read: a writer of durability `process` has not.

        Receipts that went abroad and then vanish here in a power cut would leave their
        sequences to be used again. What has left the log for the main file is synced.
        """
        with naming_errors(self.path), suppress(FileNotFoundError):  # no log: all has left it
            log = os.open(f"{self.path}-wal", os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(log)
            finally:
                os.close(log)

    def _end_of(self, stream_id: UUID) -> tuple[int, bytes]:
        row = self._query(
            "SELECT next_sequence, last_hash, location FROM streams WHERE stream_id = ?",
            (stream_id.bytes,),
        ).fetchone()
        if row is None:
            raise SpoolError("stream_unknown", f"{self.path} has no stream {stream_id}")
        if row[2] != self._location:
            raise SpoolError("stream_moved", f"stream {stream_id} was written somewhere else")
        return row[0], row[1]

    def _follow(self, receipt: Receipt, position: int, watcher: UUID | None) -> None:
        """Keep what the streams and the open questions say up with a new receipt."""
        if receipt.event is Event.POLICY_LOADED:
            self._query(
                "UPDATE streams SET policy_digest = ? WHERE stream_id = ?",
                (receipt.policy_digest, receipt.stream_id.bytes),
            )
        if receipt.elicitation_id is None:
            return
        question = receipt.elicitation_id.bytes
        if receipt.outcome is None:
            self._query(
                "UPDATE open_questions SET position = ?, watcher = coalesce(?, watcher)"
                " WHERE elicitation_id = ?",
                (position, watcher.bytes if watcher else None, question),
            )
        elif receipt.outcome in (Outcome.OPEN, Outcome.CONSENTED):
            self._query(
                "INSERT OR REPLACE INTO open_questions VALUES (?, ?, ?, ?)",
                (question, watcher.bytes if watcher else None, receipt.outcome, position),
            )
        else:
            self._query("DELETE FROM open_questions WHERE elicitation_id = ?", (question,))

    def _open_stream(self, tenant: str, producer: Producer) -> UUID:
        opened = Receipt(
            receipt_id=uuid4(),
            stream_id=uuid4(),
            event=Event.STREAM_OPENED,
            tenant=tenant,
            producer_name=producer.name,
            producer_version=producer.version,
            occurred_at=time.time_ns() // 1000,
        )
        self._begin(opened)
        self.append([opened])
        return opened.stream_id

    def _begin(self, opened: Receipt) -> None:
        """Make room for the stream that ``opened`` begins."""
        self._query(
            "INSERT INTO streams (stream_id, tenant, location, opened_at, next_sequence,"
            " last_hash, shipped_next) VALUES (?, ?, ?, ?, 0, ?, 0)",
            (
                opened.stream_id.bytes,
                opened.tenant,
                self._location,
                opened.occurred_at,
                ZERO_HASH,
            ),
        )

    def _is_behind(self, state: StreamState) -> bool:
        with naming_errors(self.path):
            return state.next_sequence < self._mark.read().get(state.stream_id, 0)

    def _raise_mark(self) -> None:
        # The receipts are durable; a mark that cannot be written only warns less, and the
        # next append writes it.
        with suppress(OSError):
            self._mark.write(self._written)
        self._written.clear()

    def _find_inode(self) -> int:
        with naming_errors(self.path):
            return self.path.stat().st_ino

    def _check_in_place(self) -> None:
        # What is written to a file that lost its name is lost with the process.
        if self._find_inode() != self._inode:
            raise SpoolError("spool_replaced", f"another file took the place of {self.path}")


@contextmanager
def _holding(lock: FileLock, timeout: float) -> Iterator[None]:
    try:
        lock.acquire(timeout)
    except LockTimeout as error:
        raise SpoolError(
            "spool_locked", f"another program holds {lock.path}; wait for it to end"
        ) from error
    except LockError as error:
        if isinstance(error.__cause__, OSError):
            raise os_error(error.__cause__, lock.path) from error
        raise
    try:
        yield
    finally:
        lock.release()


def _location(path: Path, inode: int, untouched: Path) -> bytes:
    """Where a spool is, as 32 bytes: the same machine, path and files give the same.

    ``untouched`` is a file nobody ever writes: its change time, which no program can set,
    tells a home that was put back from a copy, in which even the inodes may be the same.
    """
    try:
        machine = _MACHINE_ID.read_text().strip()
    except OSError:
        machine = socket.gethostname()
    with suppress(FileNotFoundError):
        changed = untouched.stat().st_ctime_ns
        return sha256(f"{machine}\0{path.resolve()}\0{inode}\0{changed}".encode()).digest()
    return bytes(32)  # without it nobody has written here yet
