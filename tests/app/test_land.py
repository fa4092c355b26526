"""Land and status: the command line over a spool and a database, whatever state they are in."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import duckdb
import pytest

from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Producer, Spool
from elicitation_receipts.schemas.vocabulary import Event

Receipts = Callable[..., subprocess.CompletedProcess[str]]
RECEIPTS = [sys.executable, "-m", "elicitation_receipts.main"]


def fill(home: Path, count: int, tenant: str = "default") -> UUID:
    """Put ``count`` receipts into the spool, the stream's first among them."""
    with Spool.open(home) as spool:
        stream = spool.stream_for(tenant, Producer("test", "1.0"))
        spool.append(
            [
                Receipt(
                    receipt_id=uuid4(),
                    stream_id=stream,
                    event=Event.NOTED,
                    tenant=tenant,
                    producer_name="test",
                    producer_version="1.0",
                    occurred_at=1_700_000_000_000_000,
                )
                for _ in range(count - 1)
            ]
        )
        return stream


def state(receipts: Receipts, **variables: str) -> dict[str, Any]:
    done = receipts("status", "--format", "json", **variables)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def landed(home: Path) -> int:
    with duckdb.connect(home / "warehouse.duckdb", read_only=True) as database:
        row = database.execute("SELECT count(*) FROM receipts").fetchone()
        assert row is not None
        return int(row[0])


class TestLand:
    def test_from_the_spool_each_receipt_once(self, receipts: Receipts, home: Path) -> None:
        fill(home, 5)
        first = receipts("land")
        assert (first.returncode, first.stderr) == (0, "")
        assert first.stdout == "landed 5, duplicates 0, rejected 0, breaks 0\n"
        assert receipts("land").stdout == "landed 0, duplicates 0, rejected 0, breaks 0\n"
        assert landed(home) == 5

    def test_rejects_are_tried_again(self, receipts: Receipts, home: Path) -> None:
        fill(home, 3)
        with sqlite3.connect(home / "spool.db") as spool:
            damaged = spool.execute("SELECT message FROM receipts WHERE position = 2").fetchall()
            spool.execute("UPDATE receipts SET message = x'00' WHERE position IN (2, 3)")
        assert receipts("land").stdout == "landed 1, duplicates 0, rejected 2, breaks 0\n"
        again = ["land", "--retry-rejects"]
        assert receipts(*again).stdout == (
            "landed 0, rejected again 2, source expired 0, of other sources 0\n"
        )
        with spool:
            spool.execute("UPDATE receipts SET message = ? WHERE position = 2", damaged[0])
            spool.execute("DELETE FROM receipts WHERE position = 3")
        spool.close()
        assert receipts(*again).stdout == (
            "landed 1, rejected again 0, source expired 1, of other sources 0\n"
        )
        assert landed(home) == 2
        assert receipts(*again, "--follow").returncode == 2

    @pytest.mark.slow
    def test_follow_lands_what_comes_and_ends_in_order_on_sigterm(self, home: Path) -> None:
        fill(home, 2)
        with subprocess.Popen(
            [*RECEIPTS, "land", "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as lander:
            time.sleep(2)
            fill(home, 4)
            time.sleep(2)
            lander.send_signal(signal.SIGTERM)
            out, err = lander.communicate(timeout=30)
        assert (lander.returncode, err) == (0, b"")
        assert out == b"landed 5, duplicates 0, rejected 0, breaks 0\n"
        assert landed(home) == 5

    def test_ctrl_c_ends_it_without_a_word(self, home: Path) -> None:
        fill(home, 2)
        with subprocess.Popen(
            [*RECEIPTS, "land", "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as lander:
            time.sleep(2)
            lander.send_signal(signal.SIGINT)
            out, err = lander.communicate(timeout=30)
        assert (lander.returncode, out, err) == (130, b"", b"")

    def test_without_a_home_or_a_spool(self, receipts: Receipts, home: Path) -> None:
        assert receipts("land").stderr.startswith("receipts: home_missing: ")
        home.mkdir(mode=0o700)
        done = receipts("land")
        assert done.returncode == 3
        assert done.stderr.startswith("receipts: spool_missing: ")
        assert list(home.iterdir()) == []

    @pytest.mark.kafka
    def test_through_kafka_as_straight_from_the_spool(
        self, receipts: Receipts, home: Path, tmp_path: Path, kafka: str, topic: str
    ) -> None:
        fill(home, 7)
        reach = {"RECEIPTS_KAFKA": kafka, "RECEIPTS_KAFKA_TOPIC": topic}
        assert state(receipts)["streams"][0]["unshipped"] == 7
        shipped = receipts("ship", **reach)
        assert (shipped.returncode, shipped.stdout, shipped.stderr) == (0, "shipped 7\n", "")
        assert receipts("ship", **reach).stdout == "shipped 0\n"
        assert state(receipts)["streams"][0]["unshipped"] == 0
        for place in (home, tmp_path / "elsewhere"):
            done = receipts("--home", str(place), "land", **reach)
            assert done.stdout == "landed 7, duplicates 0, rejected 0, breaks 0\n"
        straight = receipts("land")
        assert straight.stdout == "landed 0, duplicates 7, rejected 0, breaks 0\n"

    @pytest.mark.kafka
    def test_a_topic_that_is_not_there(self, receipts: Receipts, home: Path, kafka: str) -> None:
        fill(home, 1)
        reach = ["--kafka", kafka, "--kafka-topic", f"none-{uuid4().hex[:8]}"]
        done = receipts("ship", *reach)
        assert done.returncode == 3
        assert done.stderr.startswith("receipts: topic_not_found: ")
        assert receipts("ship", "--create-topic", *reach).stdout == "shipped 1\n"

    @pytest.mark.slow
    @pytest.mark.parametrize("command", [["ship", "--timeout", "1"], ["land"]])
    def test_a_broker_that_is_not_there(self, home: Path, command: list[str]) -> None:
        # In a process of its own: the client does not close the sockets of its attempts.
        fill(home, 1)
        done = subprocess.run(
            [*RECEIPTS, *command, "--kafka", "127.0.0.1:1"], capture_output=True, check=False
        )
        assert done.returncode == 3
        assert done.stderr.startswith(b"receipts: broker_unavailable: ")
        assert done.stderr.count(b"\n") == 1

    def test_ship_without_an_address(self, receipts: Receipts, home: Path) -> None:
        fill(home, 1)
        done = receipts("ship")
        assert done.returncode == 2
        assert done.stderr.startswith("receipts: kafka_not_set: ")


class TestTelemetry:
    def test_nothing_is_exported_unless_asked(self, receipts: Receipts, home: Path) -> None:
        fill(home, 3)
        assert receipts("land").stdout == "landed 3, duplicates 0, rejected 0, breaks 0\n"

    def test_exported_by_the_standard_variables(self, home: Path) -> None:
        fill(home, 3)
        done = subprocess.run(
            [*RECEIPTS, "land"],
            capture_output=True,
            check=True,
            env={**os.environ, "OTEL_METRICS_EXPORTER": "console"},
        )
        assert b'"elicitation_receipts.landed"' in done.stdout
        assert done.stderr == b""

    def test_an_exporter_that_is_not_installed(self, receipts: Receipts, home: Path) -> None:
        fill(home, 1)
        done = receipts("land", OTEL_METRICS_EXPORTER="carrier_pigeon")
        assert done.returncode == 3
        assert done.stderr.startswith("receipts: otel_missing: ")


class TestStatus:
    def test_grows_with_what_there_is(self, receipts: Receipts, home: Path) -> None:
        assert receipts("status").stderr.startswith("receipts: home_missing: ")

        home.mkdir(mode=0o700)
        assert state(receipts) == {
            "home": str(home),
            "streams": None,
            "open_questions": None,
            "warehouse": None,
            "errors": [],
        }

        stream = fill(home, 3)
        fill(home, 2, tenant="acme")
        spooled = state(receipts)
        assert [
            (one["tenant"], one["last_sequence"], one["unshipped"], one["landed_sequence"])
            for one in spooled["streams"]
        ] == [("default", 2, 3, None), ("acme", 1, 2, None)]
        assert spooled["streams"][0]["stream_id"] == str(stream)
        assert spooled["open_questions"] == 0
        assert spooled["warehouse"] is None

        receipts("land")
        fill(home, 4)
        found = state(receipts)
        assert [one["landed_sequence"] for one in found["streams"]] == [2, 1]
        assert found["streams"][0]["last_sequence"] == 5
        warehouse = found["warehouse"]
        assert (warehouse["receipts"], warehouse["breaks"], warehouse["rejects"]) == (5, {}, {})
        assert [(one["partition"], one["next_offset"]) for one in warehouse["positions"]] == [
            (0, 6)
        ]

    def test_a_table_for_people(self, receipts: Receipts, home: Path) -> None:
        fill(home, 3)
        receipts("land")
        shown = [line.split() for line in receipts("status").stdout.splitlines()]
        assert ["landed", "3"] in shown
        assert ["breaks", "0"] in shown
        assert ["rejects", "0"] in shown
        assert any(line[0:1] == ["default"] and line[-3:] == ["2", "3", "2"] for line in shown)

    def test_a_damaged_part_does_not_hide_the_other(self, receipts: Receipts, home: Path) -> None:
        fill(home, 3)
        (home / "warehouse.duckdb").write_bytes(b"this is no database" * 1000)
        done = receipts("status")
        assert done.returncode == 3
        assert "default" in done.stdout
        assert done.stderr.startswith("receipts: warehouse_unreadable: ")

    def test_changes_nothing(self, receipts: Receipts, home: Path) -> None:
        fill(home, 3)
        before = sorted(home.iterdir())
        receipts("status")
        assert sorted(home.iterdir()) == before
