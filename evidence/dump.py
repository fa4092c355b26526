"""Files of messages: a dump of a Kafka topic, and the receipts of a bundle.

Each message stands behind its length in 4 bytes, big-endian, as
``kafkacat -C -e -t elicitation.receipts -f '%R%s'`` writes them. A topic holds the streams mixed,
and some messages twice, since they are sent again after an outage: so places are sorted first,
in a temporary database on disk, and what stands there twice byte for byte is read once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Final

from elicitation_receipts.evidence.source import Item
from elicitation_receipts.evidence.walk import place_of
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import MESSAGE_LIMIT
from elicitation_receipts.schemas.errors import EvidenceError

LENGTH: Final = Struct(">I")
_NO_STREAM: Final = bytes(16)
_PLACES: Final = (
    "CREATE TABLE places (stream BLOB, sequence INTEGER, leaf BLOB, at INTEGER, size INTEGER,"
    " PRIMARY KEY (stream, sequence, leaf)) WITHOUT ROWID"
)


class Dump:
    """A dump of a topic at ``path``. Reading raises :class:`EvidenceError`: ``source_unreadable``,
    ``source_malformed`` (it ends within a message, or is no dump).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = f"dump {path.name}"
        self.count: int | None = None

    def items(self) -> Iterator[Item]:
        try:
            with (
                self.path.open("rb") as file,
                # An empty name: a database on disk that goes with its connection.
                closing(sqlite3.connect("")) as places,
            ):
                places.execute(_PLACES)
                places.executemany(
                    "INSERT OR IGNORE INTO places VALUES (?, ?, ?, ?, ?)", _index(file, self.path)
                )
                for stream, sequence, at, size in places.execute(
                    "SELECT stream, sequence, at, size FROM places ORDER BY stream, sequence"
                ):
                    file.seek(at)
                    yield Item(stream, sequence, file.read(size))
        except OSError as error:
            raise EvidenceError(
                "source_unreadable", f"cannot read {self.path} ({error.strerror})"
            ) from error


def framed(file: BinaryIO, path: Path, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Each message from where the file stands, up to ``end``, and where it begins."""
    at = file.tell()
    while end is None or at < end:
        length = file.read(LENGTH.size)
        if not length and end is None:
            return
        if len(length) < LENGTH.size:
            raise malformed(path)
        [size] = LENGTH.unpack(length)
        if size >= MESSAGE_LIMIT:
            raise malformed(path)
        message = file.read(size)
        at += LENGTH.size
        if len(message) < size or (end is not None and at + size > end):
            raise malformed(path)
        yield at, message
        at += size


def malformed(path: Path) -> EvidenceError:
    return EvidenceError(
        "source_malformed",
        f"{path} is no dump of receipts, or was cut off: each message must stand behind its "
        "length in 4 bytes, as kafkacat -f '%R%s' writes it",
    )


def _index(file: BinaryIO, path: Path) -> Iterator[tuple[bytes, int, bytes, int, int]]:
    strays = 0
    for at, message in framed(file, path):
        place = place_of(message)
        if place is None:  # it is read with the rest, and named there
            place = _NO_STREAM, strays
            strays += 1
        yield *place, leaf_hash(message), at, len(message)
