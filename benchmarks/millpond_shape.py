"""A loop of the shape of PostHog's millpond, as one would write it: the honest peer.

confluent-kafka in batches, each record decoded by fastavro, an Arrow table made of the list of
dicts under a fixed schema, one insert, and the offsets committed after it. At least once; no check
of the encoding, no vocabulary, no chain, no rejects.
"""

from __future__ import annotations

import io
import json
import time
from pathlib import Path

import confluent_kafka
import duckdb
import fastavro
import pyarrow as pa
from avro_arrow import arrow_schema

from elicitation_receipts.schemas.codec import schema_text

_HEADER = 10  # marker and fingerprint


def land(address: str, topic: str, path: Path, count: int, batch: int) -> float:
    """Rows a second, from the first record that comes to the last commit."""
    schema = json.loads(schema_text())
    parsed, kind = fastavro.parse_schema(schema), arrow_schema(schema)
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": path.name,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    database = duckdb.connect(path, config={"wal_autocheckpoint": "256MB"})
    database.register("first", kind.empty_table())
    database.execute("CREATE TABLE receipts AS FROM first")
    landed, started = 0, 0.0
    try:
        while landed < count:
            messages = consumer.consume(min(batch, count - landed), 0.5)
            if not messages:
                continue
            started = started or time.perf_counter()
            values = [
                fastavro.schemaless_reader(io.BytesIO(message.value()[_HEADER:]), parsed)
                for message in messages
            ]
            database.register("arrivals", pa.Table.from_pylist(values, kind))
            database.execute("INSERT INTO receipts FROM arrivals")
            consumer.commit(asynchronous=False)
            landed += len(messages)
        database.close()
        return count / (time.perf_counter() - started)
    finally:
        consumer.close()
