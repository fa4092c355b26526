"""A search for texts that must be nowhere: in files, in the databases among them, in a topic.

It finds what it can be told to look for, and cannot prove more. A text in a place where it
is compressed is not found by reading bytes: so what DuckDB holds is read through SQL, and
again from a copy that it wrote without compression (dropped rows stay in the original).
"""

from __future__ import annotations

import base64
import json
import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote, quote_plus

import duckdb
import re2

from elicitation_receipts.schemas.errors import ReceiptsError

if TYPE_CHECKING:
    from elicitation_receipts.schemas.kafka import KafkaSettings

#: In how many ways :func:`spellings` writes a text, by name.
ENCODINGS: Final = ("raw", "JSON-escaped", "base64", "hex", "URL-encoded")

#: A shorter text is found by chance.
_SHORTEST: Final = 12
_SQLITE: Final = b"SQLite format 3\0"
_DUCKDB: Final = b"DUCK"  # at offset 8
_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


class LeakError(ReceiptsError):
    """A text stands where it must not (exit code 1: a check said no)."""

    exit_code: ClassVar[int] = 1


def spellings(text: str) -> frozenset[bytes]:
    """The bytes to look for: ``text`` in each of :data:`ENCODINGS`."""
    raw = text.encode()
    return frozenset(
        {
            raw,
            json.dumps(text)[1:-1].encode(),
            json.dumps(text, ensure_ascii=False)[1:-1].encode(),
            raw.hex().encode(),
            raw.hex().upper().encode(),
            quote(text).encode(),
            quote(text, safe="").encode(),
            quote_plus(text).encode(),
            *_base64(raw),
        }
    )


def _base64(raw: bytes) -> Iterator[bytes]:
    """``raw`` as it looks inside a longer base64 text, at each of the three places it can have.

    Without the characters that its neighbours have a part in.
    """
    for before in range(3):
        padded = bytes(before) + raw
        whole = len(padded) // 3 * 3
        start = -(-before * 4 // 3)
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(padded[:whole])[start:]


class LeakSearch:
    """Looks for ``texts`` wherever it is pointed to, and counts.

    ``files``, ``bytes``  how many were read; what is read of a file in other ways is not counted
    ``records``           how many records of topics were read
    ``values``            how many texts are looked for
    ``places``            where one was found: the place, never the text
    """

    def __init__(self, texts: Iterable[str]) -> None:
        wanted = frozenset(texts)
        if any(len(text) < _SHORTEST for text in wanted):
            raise ValueError(f"a text of less than {_SHORTEST} characters is found by chance")
        self.values = len(wanted)
        self.files = 0
        self.bytes = 0
        self.records = 0
        self.places: list[str] = []
        self._pattern = _any_of(spelling for text in wanted for spelling in spellings(text))

    def look(self, place: str, data: bytes) -> None:
        """Look at some bytes that stand at ``place``."""
        if place not in self.places and self._pattern.search(data):
            self.places.append(place)

    def folder(self, folder: Path) -> None:
        """Look at every file in a folder and below, and inside the databases among them."""
        for path in sorted(folder.rglob("*")):
            if not path.is_file():
                continue
            data = path.read_bytes()
            self.files += 1
            self.bytes += len(data)
            self.look(f"the name of a file in {folder}", str(path.relative_to(folder)).encode())
            self.look(str(path), data)
            if data.startswith(_SQLITE):
                self._sqlite(path)
            elif data[8:12] == _DUCKDB:
                self._duckdb(path)

    def topic(self, settings: KafkaSettings) -> None:
        """Look at key, headers and value of every record of a Kafka topic."""
        for record in _records(settings):
            self.records += 1
            place = f"{record.topic}, partition {record.partition}, offset {record.offset}"
            headers = [part for header in record.headers or () for part in header]
            for value in (record.key, record.value, *headers):
                self._value(place, value)

    def require_nothing(self) -> str:
        """One line that says what was searched; raises :class:`LeakError` (``value_found``)."""
        if self.places:
            more = f" and {len(self.places) - 1} more" if len(self.places) > 1 else ""
            raise LeakError("value_found", f"{self.places[0]}{more}; this is a defect, report it")
        records = f" and {self.records} Kafka records" if self.records else ""
        return (
            f"searched {self.files} files{records}, {self.bytes} bytes, {self.values} values "
            f"in {len(ENCODINGS)} encodings: nothing found"
        )

    def _sqlite(self, path: Path) -> None:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for (table,) in tables.fetchall():
                rows = database.execute(f"SELECT * FROM {_quoted(table)}")  # noqa: S608
                self._rows(path, table, [column[0] for column in rows.description], rows)

    def _duckdb(self, path: Path) -> None:
        with duckdb.connect(path, read_only=True, config=_CONFIG) as database:
            relations = database.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_catalog = "
                "current_database()"
            )
            for (relation,) in relations.fetchall():
                rows = database.execute(f"SELECT * FROM {_quoted(relation)}")  # noqa: S608
                columns = [column[0] for column in rows.description]
                self._rows(path, relation, columns, iter(rows.fetchone, None))
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy.duckdb"
            _copy_uncompressed(path, copy)
            for file in copy.parent.iterdir():
                self.look(f"{path} (copied without compression)", file.read_bytes())

    def _rows(
        self, path: Path, table: str, columns: list[str], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        for row in rows:
            for column, value in zip(columns, row, strict=True):
                self._value(f"{path}, {table}.{column}", value)

    def _value(self, place: str, value: object) -> None:
        match value:
            case None:
                pass
            case bytes() | bytearray() | memoryview():
                self.look(place, bytes(value))
            case dict():
                for part in (*value.keys(), *value.values()):
                    self._value(place, part)
            case list() | tuple():
                for part in value:
                    self._value(place, part)
            case _:
                self.look(place, str(value).encode())


def _any_of(spelled: Iterable[bytes]) -> Any:
    """A pattern that matches where any of them stands, in one pass."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes, not characters
    options.never_capture = True
    options.max_mem = 256 * 1024 * 1024
    return re2.compile(b"|".join(re.escape(one) for one in sorted(set(spelled))), options)


def _copy_uncompressed(path: Path, copy: Path) -> None:
    with duckdb.connect(copy, config=_CONFIG) as database:
        database.execute("SET force_compression = 'uncompressed'")
        database.execute(f"ATTACH {_literal(str(path))} AS original (READ_ONLY)")
        database.execute(f"COPY FROM DATABASE original TO {_quoted(copy.stem)}")


def _records(settings: KafkaSettings) -> Iterator[Any]:
    """Every record a topic has now."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = settings.connect(KafkaConsumer, enable_auto_commit=False)
    try:
        numbers = consumer.partitions_for_topic(settings.topic) or ()
        partitions = [TopicPartition(settings.topic, number) for number in numbers]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            for records in consumer.poll(timeout_ms=500).values():
                yield from records
    finally:
        consumer.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
