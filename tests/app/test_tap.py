"""Tap: from a real conversation to receipts in the spool, through the command itself."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from asking_client import SERVER, TAP, Client

from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import DecidedBy, Event, Outcome

Receipts = Callable[..., subprocess.CompletedProcess[str]]
TYPED = "Quetzaltenango-97341"


def spooled(home: Path) -> list[Receipt]:
    with Spool.open(home, create=False) as spool:
        return [decode(stored.message) for stored in spool.read(0, 1000)]


def converse(command: list[str]) -> tuple[list[bytes], list[bytes], int, bytes]:
    with Client(command) as client:
        client.answer(client.ask(1), action="accept", content={"city": TYPED})
        client.answer(client.ask(2), action="decline")
        code, err = client.end()
        return client.sent, client.received, code, err


def test_client_and_server_notice_nothing(home: Path) -> None:
    assert converse([*TAP, "--", *SERVER]) == converse(SERVER)


def test_each_question_leaves_its_receipts_and_no_value(home: Path) -> None:
    converse([*TAP, "--", *SERVER])
    receipts = spooled(home)
    assert [receipt.event for receipt in receipts] == [
        Event.STREAM_OPENED,
        Event.POLICY_LOADED,
        *[Event.REQUESTED, Event.ANSWERED, Event.RESUMED] * 2,
    ]
    assert [receipt.outcome for receipt in receipts if receipt.event is Event.ANSWERED] == [
        Outcome.ACCEPTED,
        Outcome.DECLINED,
    ]
    assert receipts[2].server_name == "asking"
    assert receipts[2].client_name == "scripted"
    for file in home.rglob("*"):
        assert not file.is_file() or TYPED.encode() not in file.read_bytes()


def test_the_receipt_is_durable_before_the_client_sees_the_question(home: Path) -> None:
    with Client([*TAP, "--", *SERVER]) as client:
        client.ask()
        assert spooled(home)[-1].event is Event.REQUESTED


def test_settings_stand_in_the_receipts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir(mode=0o700)
    (home / "receipts.toml").write_text('environment = "staging"\nautomatic_below_ms = 0\n')
    monkeypatch.setenv("RECEIPTS_FLOW", "signup")
    with Client([*TAP, "--tenant", "acme", "--", *SERVER]) as client:
        client.answer(client.ask(), action="cancel")
        client.end()
    answered = next(one for one in spooled(home) if one.event is Event.ANSWERED)
    assert (answered.tenant, answered.environment, answered.flow) == ("acme", "staging", "signup")
    assert answered.decided_by is DecidedBy.PERSON_CLAIMED


def test_a_question_left_open_by_a_killed_tap_is_ended_by_the_next(home: Path) -> None:
    with Client([*TAP, "--", *SERVER]) as client:
        client.ask()
        client.process.kill()
        client.process.wait()
    with Client([*TAP, "--", *SERVER]) as client:
        client.end()
    last = spooled(home)[-1]
    assert (last.event, last.outcome) == (Event.ABANDONED, Outcome.ABANDONED)


def test_a_session_that_ends_with_the_question_open(home: Path) -> None:
    with Client([*TAP, "--", *SERVER]) as client:
        client.ask()
        assert client.end() == (7, b"")
    assert spooled(home)[-1].outcome is Outcome.ABANDONED


def test_a_home_that_vanishes_changes_nothing_for_client_and_server(home: Path) -> None:
    with Client([*TAP, "--", *SERVER]) as client:
        shutil.rmtree(home)
        client.answer(client.ask(), action="accept", content={"city": TYPED})
        code, err = client.end()
    assert code == 7
    assert b"got accept\n" in err
    assert b"Traceback" not in err
    assert TYPED.encode() not in err


def test_a_terminated_tap_ends_the_server_and_writes_what_was_open(home: Path) -> None:
    with Client([*TAP, "--", *SERVER]) as client:
        client.ask()
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(30) == -signal.SIGTERM
    assert spooled(home)[-1].outcome is Outcome.ABANDONED


def test_traffic_that_is_no_json_passes(home: Path) -> None:
    traffic = b"\xff\xfe not json\n{]\n\n" + b"x" * 100_000
    done = subprocess.run(
        [*TAP, "--", "cat"], input=traffic, capture_output=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, traffic, b"")


def test_a_command_that_cannot_start(receipts: Receipts) -> None:
    done = receipts("tap", "--", "/no/such/server")
    assert done.returncode == 3
    assert done.stderr.startswith("receipts: command_not_started: ")


def test_a_home_that_cannot_serve_starts_no_server(
    receipts: Receipts, home: Path, tmp_path: Path
) -> None:
    home.mkdir(mode=0o755)
    done = receipts("tap", "--", "touch", str(tmp_path / "started"))
    assert done.returncode == 3
    assert done.stderr.startswith("receipts: home_open_to_others: ")
    assert not (tmp_path / "started").exists()


def test_a_question_carries_the_policy_where_that_is_asked_for(home: Path) -> None:
    with Client([*TAP, "--question-meta", "policy", "--", *SERVER]) as client:
        client.answer(client.ask(1), action="decline")
        client.end()
        [question] = [line for line in client.received if b"elicitation/create" in line]
    meta = json.loads(question)["params"]["_meta"]
    assert meta == {"elicitation-receipts/policy": {"id": "built-in", "version": "1"}}
