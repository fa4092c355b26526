"""Landing from a real Kafka and from the spool, beside a bare insert and what people would use."""

from __future__ import annotations

import itertools
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import confluent_kafka
import duckdb
import millpond_shape
from stamped import stamped, templates

from elicitation_receipts.consumers import batch
from elicitation_receipts.consumers.decode import Decode
from elicitation_receipts.consumers.decode.columnar import decode_columns
from elicitation_receipts.consumers.decode.generated import decode_by_generated
from elicitation_receipts.consumers.kafka_source import KafkaSource
from elicitation_receipts.consumers.landing import BATCH, Lander, Warehouse
from elicitation_receipts.consumers.source import Source, SpoolSource
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import schema_text
from elicitation_receipts.schemas.kafka import KafkaSettings
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.spool import Producer, Spool

_TOPIC = "benchmark.receipts"
_STREAMS = 4
#: What stoik 0.3.0 needs and does not say, beside its extra `flight`; and a reader of Avro.
_STOIK = ("stoik[flight]==0.3.0", "adbc-driver-flightsql", "fastapi", "prometheus_client")

Messages = dict[UUID, list[bytes]]


class Landings:
    """The same ``count`` receipts in a topic and in a spool, landed anew each time.

    ``peers_count``: how many of them the peers land. Every clock starts at the first record, with
    the connection and the empty database there, and stops when the database is closed.
    """

    def __init__(self, folder: Path, address: str, count: int, peers_count: int) -> None:
        self._folder = folder / "landing"
        self._folder.mkdir()
        self._address = address
        self._count = count
        self._peers_count = min(count, peers_count)
        kinds = templates(folder)
        messages: Messages = {
            stream_id: list(itertools.islice(stamped(kinds, stream_id), count // _STREAMS))
            for stream_id in (uuid4() for _ in range(_STREAMS))
        }
        _fill_topic(address, messages)
        self._spool = _filled_spool(self._folder / "home", messages)
        self._arrow: Any = None
        self._stoik = _stoik_interpreter(self._folder)

    def from_kafka(self, decode: Decode) -> float:
        """Rows a second."""
        with KafkaSource(KafkaSettings(self._address, _TOPIC), f"group-{uuid4()}") as source:
            assert source.name  # connected
            return self._land(source, decode)

    def from_spool(self, decode: Decode) -> float:
        """Rows a second."""
        return self._land(SpoolSource(self._spool), decode)

    def beside_reports(self) -> float:
        """Rows a second from Kafka, while another process asks one question after the other."""
        path = self._fresh("ours")
        program = Path(__file__).with_name("reporting.py")
        with subprocess.Popen([sys.executable, str(program), str(path)]) as reports:
            try:
                time.sleep(1)  # until it asks
                return self.from_kafka(decode_columns)
            finally:
                assert reports.poll() is None, "the reports ended by themselves"
                reports.terminate()

    def _land(self, source: Source, decode: Decode) -> float:
        warehouse = Warehouse(self._fresh("ours"), wait=60)
        with warehouse.open():
            pass
        batch.best_rung = lambda: decode  # what is installed decides otherwise
        started = time.perf_counter()
        summary = Lander(warehouse, source, Key(b"b" * 32)).land()
        taken = time.perf_counter() - started
        assert (summary.landed, summary.breaks) == (self._count, 0)
        return self._count / taken

    def bare_insert(self) -> float:
        """Rows a second: DuckDB's insert from ready Arrow, the limit of any way to land."""
        if self._arrow is None:
            with Warehouse(self._folder / "ours.duckdb").read() as landed:
                self._arrow = landed.sql("FROM receipts").to_arrow_table().combine_chunks()
        path = self._fresh("bare")
        with Warehouse(path).open():
            pass
        database = duckdb.connect(path, config={"wal_autocheckpoint": "256MB"})
        started = time.perf_counter()
        for start in range(0, self._count, BATCH):
            database.register("arrivals", self._arrow.slice(start, BATCH))
            database.execute("INSERT INTO receipts FROM arrivals")
        database.close()
        taken = time.perf_counter() - started
        return self._count / taken

    def millpond_shape(self) -> float:
        """Rows a second."""
        path = self._fresh("millpond")
        return millpond_shape.land(self._address, _TOPIC, path, self._peers_count, BATCH)

    def stoik(self) -> float:
        """Rows a second."""
        schema = self._folder / "schema.avsc"
        schema.write_text(schema_text())
        program = Path(__file__).with_name("stoik_shape.py")
        path = self._fresh("stoik")
        arguments = [self._address, _TOPIC, str(schema), str(path), str(self._peers_count)]
        ended = subprocess.run(
            [self._stoik, str(program), *arguments], capture_output=True, text=True, check=False
        )
        if ended.returncode:
            sys.exit(f"stoik failed: {ended.stderr[-2000:]}")
        return float(ended.stdout)

    def _fresh(self, name: str) -> Path:
        """A path nothing is at; the name is another each time, and with it a consumer group's."""
        for left in self._folder.glob(f"{name}*.duckdb*"):
            left.unlink()
        unique = name if name in ("ours", "bare") else f"{name}-{uuid4()}"
        return self._folder / f"{unique}.duckdb"

    def cases(self) -> dict[str, tuple[str, Callable[[], float]]]:
        return {
            "landing_fast_per_s": ("/s", lambda: self.from_kafka(decode_columns)),
            "landing_beside_reports_per_s": ("/s", self.beside_reports),
            "landing_base_per_s": ("/s", lambda: self.from_kafka(decode_by_generated)),
            "landing_spool_per_s": ("/s", lambda: self.from_spool(decode_columns)),
            "bare_insert_per_s": ("/s", self.bare_insert),
            "millpond_shape_per_s": ("/s", self.millpond_shape),
            "stoik_per_s": ("/s", self.stoik),
        }


def _fill_topic(address: str, messages: Messages) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(_TOPIC, num_partitions=1)])[_TOPIC].result()
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": address, "linger.ms": 50, "enable.idempotence": True}
    )
    for stream_id, message in _interleaved(messages):
        while True:
            try:
                producer.produce(_TOPIC, message, str(stream_id).encode())
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(60) == 0


def _filled_spool(home: Path, messages: Messages) -> Spool:
    """A spool that holds the messages, written past it: to seal them anew would take minutes."""
    home.mkdir(mode=0o700)
    spool = Spool.open(home, durability="process")
    producer = Producer("benchmark", "0.1.0")
    spool.stream_for("default", producer)
    with sqlite3.connect(spool.path) as file:
        file.execute("DELETE FROM receipts")
        file.execute("DELETE FROM sqlite_sequence")
        [row] = file.execute("SELECT * FROM streams")
        names = [column[1] for column in file.execute("PRAGMA table_info(streams)")]
        file.execute("DELETE FROM streams")
        for number, (stream_id, sealed) in enumerate(messages.items(), 1):
            values = dict(zip(names, row, strict=True)) | {
                "number": number,
                "stream_id": stream_id.bytes,
                "next_sequence": len(sealed),
                "last_hash": leaf_hash(sealed[-1]),
            }
            file.execute(
                f"INSERT INTO streams VALUES ({', '.join('?' * len(names))})", [*values.values()]
            )
        places = dict.fromkeys(messages, 0)
        for stream_id, message in _interleaved(messages):
            file.execute(
                "INSERT INTO receipts (stream_id, sequence, message) VALUES (?, ?, ?)",
                (stream_id.bytes, places[stream_id], message),
            )
            places[stream_id] += 1
    file.close()
    return spool


def _interleaved(messages: Messages) -> Iterable[tuple[UUID, bytes]]:
    for row in zip(*messages.values(), strict=True):
        yield from zip(messages, row, strict=True)


def _stoik_interpreter(folder: Path) -> str:
    """Python of an environment of its own, with what stoik needs."""
    environment = folder / "stoik-environment"
    python = environment / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *_STOIK, "fastavro"], check=True)
    return str(python)
