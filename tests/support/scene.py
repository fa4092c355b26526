"""A home with two tenants' streams, landed and signed twice: what attacks are made on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
from command import run_here
from full_receipt import full_receipt
from sample import PRODUCER, question, receipt

from elicitation_receipts.consumers.rows import columns, now, receipt_from_row, row_from_receipt
from elicitation_receipts.evidence.checkpointer import sign_checkpoints
from elicitation_receipts.evidence.signing import SigningKeys
from elicitation_receipts.evidence_sources import TableReceipts
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.sealing import seal
from elicitation_receipts.schemas.spool import Spool


@dataclass(frozen=True, slots=True)
class Verified:
    """How `receipts verify` ended; ``found``: (check, class) of every finding."""

    code: int
    verdicts: dict[str, str]
    found: set[tuple[str, str]]
    rows: list[dict[str, Any]]

    @property
    def classes(self) -> set[str]:
        return {kind for _, kind in self.found}


class Scene:
    """``folder`` holds the home, ``earlier`` (its evidence when half was there), and the pins."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.earlier = folder / "earlier"
        self.pins = folder / "pins"
        self.bundle = folder / "bundle.tar"

    @classmethod
    def build(cls, folder: Path) -> Scene:
        scene = cls(folder)
        with Spool.open(scene.home) as spool:
            streams = [spool.stream_for(tenant, PRODUCER) for tenant in ("default", "other")]
            for stream, tenant, count in zip(streams, ("default", "other"), (6, 4), strict=True):
                spool.append([full_receipt(stream, tenant)])
                spool.append([receipt(stream, tenant=tenant) for _ in range(count)])
            scene.run("checkpoint")
            shutil.copytree(scene.home / "evidence", scene.earlier)
            for stream, tenant in zip(streams, ("default", "other"), strict=True):
                spool.append([question(stream, tenant=tenant) for _ in range(5)])
        scene.run("land")
        scene.run("bundle", "--output", str(scene.bundle))
        scene.run("land")
        scene.run("checkpoint")
        scene.pins.write_bytes((scene.home / "keys/signing/0001.vkey").read_bytes())
        return scene

    def copy(self, folder: Path) -> Scene:
        shutil.copytree(self.folder, folder)
        folder.joinpath("home").chmod(0o700)
        return Scene(folder)

    @property
    def evidence(self) -> Path:
        return self.home / "evidence"

    @property
    def database_file(self) -> Path:
        return self.home / "warehouse.duckdb"

    def run(self, *arguments: str) -> str:
        ended = run_here(self.home, *arguments)
        assert ended.code == 0, ended.err
        return ended.out

    def verify(self, *arguments: str) -> Verified:
        """`receipts verify`, with default options beside the given ones."""
        ended = run_here(self.home, "verify", *arguments, "--format", "json")
        assert ended.code in (0, 1, 4), ended.err
        rows = json.loads(ended.out)["rows"]
        return Verified(
            ended.code,
            {row["check"]: row["verdict"] for row in rows if row["class"] is None},
            {(row["check"], row["class"]) for row in rows if row["class"]},
            rows,
        )

    @contextmanager
    def database(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The database, open to whoever owns it."""
        with duckdb.connect(self.database_file) as database:
            yield database

    def streams(self) -> list[UUID]:
        """Those of the tenants, in the order they were opened."""
        with Spool.open(self.home, create=False) as spool:
            return [each.stream_id for each in spool.streams() if each.tenant != "operators"]

    def sign_as(self, keys: SigningKeys, folder: Path) -> None:
        """Sign what the database holds now, into a folder of evidence made anew."""
        shutil.rmtree(folder, ignore_errors=True)
        with self.database() as database:
            sign_checkpoints(folder, keys, [TableReceipts(database)], datetime.now(UTC))

    def reseal(self, database: duckdb.DuckDBPyConnection, stream_id: UUID, **change: Any) -> None:
        """Write a stream's rows anew, each receipt changed, the chain made whole again."""
        names = ", ".join(columns())
        rows = database.execute(
            f"SELECT {names}, fingerprint FROM receipts WHERE stream_id = ? ORDER BY sequence",
            [stream_id],
        ).fetchall()
        changed = [_changed(receipt_from_row(row[:-1]), change) for row in rows]
        database.execute("DELETE FROM receipts WHERE stream_id = ?", [stream_id])
        self.insert(database, changed)

    def insert(self, database: duckdb.DuckDBPyConnection, receipts: list[Receipt]) -> None:
        """Rows of a whole stream, sealed from 0 on."""
        for message in seal(receipts):
            row = row_from_receipt(decode(message))
            marks = ", ".join("?" * (len(row) + 4))
            names = ", ".join((*columns(), "leaf_hash", "fingerprint", "source", "landed_at"))
            database.execute(
                f"INSERT INTO receipts ({names}) VALUES ({marks})",
                [*row, leaf_hash(message), message[2:10], "attack", now()],
            )


def _changed(one: Receipt, change: dict[str, Any]) -> Receipt:
    return replace(one, **change)
