"""Measures verification: receipts a second, beside the SHA-256 of the same bytes.

    python benchmarks/verify.py [COUNT]

Integrity, order and completeness, on one core: of messages as they are (a bundle, a dump, the
spool), and of rows (the database, Parquet) written as their messages again, one by one as a plain
install does, and column by column as `[fast]` does.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

import duckdb
from lives import receipts
from measure import interleaved
from rich.console import Console
from rich.table import Table

from elicitation_receipts.consumers.rows import columns, row_from_receipt
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.evidence.checkpointer import sign_checkpoints
from elicitation_receipts.evidence.signing import SigningKeys
from elicitation_receipts.evidence.source import Item, Run, Source
from elicitation_receipts.evidence.store import Evidence, read_folder
from elicitation_receipts.evidence.verify import Question, verify
from elicitation_receipts.evidence_sources import TableReceipts
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.sealing import seal


class Messages:
    """Messages in memory, as a source."""

    name = "messages"

    def __init__(self, stream_id: UUID, messages: list[bytes]) -> None:
        self._stream = stream_id.bytes
        self._messages = messages
        self.count = len(messages)

    def items(self) -> Iterator[Item]:
        for sequence, message in enumerate(self._messages):
            yield Item(self._stream, sequence, message)


class OneByOne:
    """A table as it is read where numpy and pyarrow are not installed."""

    def __init__(self, table: TableReceipts) -> None:
        self._table = table
        self.name = table.name
        self.count = table.count

    def items(self) -> Iterator[Item | Run]:
        return self._table.rows()


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).absolute()
        stream_id = uuid4()
        keyring = Keyring.open(folder / "keys")
        lives = receipts(stream_id, keyring.tenant("default"))
        messages = list(seal(itertools.islice(lives, count)))
        with Warehouse(folder / "warehouse.duckdb").open() as database:
            database.execute("SET threads = 1")
            _land(database, messages)
            table = TableReceipts(database)
            keys = SigningKeys.open(folder / "signing", create=True)
            sign_checkpoints(folder / "evidence", keys, [table], datetime.now(UTC))
            evidence = read_folder(folder / "evidence")
            figures = interleaved(
                3,
                {
                    "sha256_per_s": ("/s", _timed(count, lambda: _hash(messages))),
                    "verify_messages_per_s": (
                        "/s",
                        _verified(Messages(stream_id, messages), evidence, count),
                    ),
                    "verify_rows_base_per_s": ("/s", _verified(OneByOne(table), evidence, count)),
                    "verify_rows_fast_per_s": ("/s", _verified(table, evidence, count)),
                },
            )
    shown = Table("figure", "median", "spread", "share of SHA-256")
    for figure in figures:
        share = figure.median / figures[0].median
        shown.add_row(
            figure.name, f"{figure.median:,.0f}", f"± {figure.spread:.0%}", f"{share:.3f}"
        )
    size = sum(map(len, messages)) / count
    Console().print(shown, f"{count:,} receipts of {size:.0f} bytes; processor time of one core")


def _land(database: duckdb.DuckDBPyConnection, messages: list[bytes]) -> None:
    names = ", ".join((*columns(), "leaf_hash", "fingerprint", "source", "landed_at"))
    database.execute(f"CREATE TEMP TABLE batch AS SELECT {names} FROM receipts")
    landed = datetime.now(UTC).replace(tzinfo=None)
    with database.appender("batch") as appender:
        appender.append_rows(
            [
                [*row_from_receipt(decode(each)), leaf_hash(each), each[2:10], "benchmark", landed]
                for each in messages
            ]
        )
    database.execute(f"INSERT INTO receipts ({names}) SELECT {names} FROM batch")


def _verified(source: Source, evidence: Evidence, count: int) -> Callable[[], float]:
    def run() -> None:
        assert verify(source, Question(evidence=evidence)).exit_code == 0

    return _timed(count, run)


def _timed(count: int, run: Callable[[], None]) -> Callable[[], float]:
    def measure() -> float:
        started = time.process_time()
        run()
        return count / (time.process_time() - started)

    return measure


def _hash(messages: list[bytes]) -> None:
    for message in messages:
        sha256(message).digest()


if __name__ == "__main__":
    main()
