"""stoik at its own defaults. Run by an interpreter that has it, see ``peers.py``.

    python stoik_shape.py ADDRESS TOPIC SCHEMA DATABASE COUNT

Prints rows a second, from the first record it parses to its last flush.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import structlog
from avro_arrow import arrow_schema
from stoik import Buffer, Store, consume
from stoik.stream import KafkaStream

_HEADER = 10  # marker and fingerprint


class Rows(Buffer):
    """What waits to be flushed."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []
        self.seen = 0
        self.first = 0.0

    def add(self, value: dict[str, Any]) -> None:
        self.first = self.first or time.perf_counter()
        self.rows.append(value)
        self._count += 1
        self.seen += 1

    def drain(self) -> list[dict[str, Any]]:
        rows, self.rows, self._count = self.rows, [], 0
        return rows


def main() -> None:
    address, topic, schema_file, path, count = sys.argv[1:]
    schema = json.loads(Path(schema_file).read_text())
    parsed, kind = fastavro.parse_schema(schema), arrow_schema(schema)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    buffer, store = Rows(), Store(path)
    store.conn.register("first", kind.empty_table())
    store.conn.execute("CREATE TABLE receipts AS FROM first")

    def read(message: bytes) -> Any:
        return fastavro.schemaless_reader(io.BytesIO(message[_HEADER:]), parsed)

    def parse(value: dict[str, Any]) -> None:
        buffer.add(value)
        if buffer.seen == int(count):
            os.kill(os.getpid(), signal.SIGTERM)  # its own way to end: it flushes what is left

    def flush() -> None:
        store.insert_arrow("receipts", pa.Table.from_pylist(buffer.drain(), kind))

    stream = KafkaStream(address, Path(path).name, deserializer="custom", value_deserializer=read)
    stream.subscribe([topic])
    consume(stream, buffer, store, parse, flush)
    sys.stdout.write(f"{int(count) / (time.perf_counter() - buffer.first)}\n")


if __name__ == "__main__":
    main()
