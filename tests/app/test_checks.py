"""`receipts status --check`: exit code 1 and the reason, for a probe."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from command import run_here
from sample import PRODUCER, receipt

from elicitation_receipts.schemas.spool import Spool

OLD = 1_700_000_000_000_000


def write(home: Path, **fields: int) -> None:
    with Spool.open(home) as spool:
        stream = spool.stream_for("default", PRODUCER)
        spool.append([receipt(stream, **fields)])


def troubles(home: Path, *arguments: str) -> list[str]:
    """The names of what is wrong."""
    ended = run_here(home, "status", "--check", "--format", "json", *arguments)
    found = [trouble["name"] for trouble in json.loads(ended.out)["troubles"]]
    shown = run_here(home, "status", "--check", *arguments)
    assert [line.partition(": ")[0] for line in shown.out.splitlines()] == found
    assert shown.code == ended.code == (1 if found else 0)
    return found


def test_nothing_is_wrong_with_a_home_that_is_at_rest(home: Path) -> None:
    write(home)
    assert troubles(home) == []
    run_here(home, "land")
    assert troubles(home) == []


def test_what_waits_to_land_is_told_once_it_is_old(home: Path) -> None:
    write(home)
    run_here(home, "land")
    write(home)
    assert troubles(home) == []
    write(home, occurred_at=OLD)
    assert troubles(home) == []  # what waits longest is young
    run_here(home, "land")
    write(home, occurred_at=OLD)
    assert troubles(home) == ["landing_lag"]
    assert troubles(home, "--max-age", "1e12") == []
    run_here(home, "land")
    assert troubles(home) == []


def test_rejects_are_told_until_they_land(home: Path) -> None:
    write(home)
    with sqlite3.connect(home / "spool.db") as spool:
        message = spool.execute("SELECT message FROM receipts WHERE position = 2").fetchall()[0]
        spool.execute("UPDATE receipts SET message = x'00' WHERE position = 2")
    run_here(home, "land")
    assert troubles(home) == ["rejects"]
    with spool:
        spool.execute("UPDATE receipts SET message = ? WHERE position = 2", message)
    spool.close()
    run_here(home, "land", "--retry-rejects")
    assert troubles(home) == []


def test_a_full_disk_is_told(small_disk: Path) -> None:
    write(small_disk / "home")
    assert troubles(small_disk / "home") == ["disk_full"]
    assert troubles(small_disk / "home", "--min-free", "1") == []


def test_shipping_that_is_stuck_is_told(home: Path) -> None:
    write(home, occurred_at=OLD)
    nowhere = ["--kafka", "127.0.0.1:1"]
    with Spool.open(home) as spool:
        spool.mark_shipped({stream.stream_id: 1 for stream in spool.streams()})
    assert troubles(home) == ["shipping_stuck"]  # this home has shipped before
    assert troubles(home, *nowhere) == ["shipping_stuck"]
    with Spool.open(home) as spool:
        spool.mark_shipped({stream.stream_id: 2 for stream in spool.streams()})
    assert troubles(home, *nowhere) == []


@pytest.mark.kafka
def test_a_topic_that_does_not_land_is_told(home: Path, kafka: str, topic: str) -> None:
    address = ["--kafka", kafka, "--kafka-topic", topic]
    write(home)
    assert run_here(home, "ship", *address).code == 0
    assert run_here(home, "land", *address).code == 0
    assert troubles(home, *address) == []
    write(home, occurred_at=OLD)
    assert troubles(home, *address) == ["shipping_stuck"]
    assert run_here(home, "ship", *address).code == 0
    assert troubles(home, *address) == ["landing_lag"]
    assert troubles(home, "--kafka", kafka, "--kafka-topic", "never-made") == ["topic_not_found"]
    assert run_here(home, "land", *address).code == 0
    assert troubles(home, *address) == []
