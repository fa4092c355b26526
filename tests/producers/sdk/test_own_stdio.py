"""A stdio server watched from inside: its client gets the same bytes, and receipts are kept."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import asking_client
import pytest
from asking_client import SERVER, Client

from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event, Fidelity, Outcome, Vantage

SUPPORT = Path(asking_client.__file__).parent


def program(body: str, home: Path) -> list[str]:
    """A Python program that does ``body`` with its standard streams watched."""
    code = f"""
import os, sys
sys.path.insert(0, {str(SUPPORT)!r})
from elicitation_receipts import watch_stdio
with watch_stdio(home={str(home)!r}) as watched:
    {body}
"""
    return [sys.executable, "-c", code]


def asking(home: Path) -> list[str]:
    return program("import asking_server; asking_server.main()", home)


def spooled(home: Path) -> list[Receipt]:
    with Spool.open(home, create=False) as spool:
        return [decode(stored.message) for stored in spool.read(0, 1_000)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_the_client_gets_the_same_bytes_and_code(home: Path) -> None:
    received, ends = [], []
    for command in (SERVER, asking(home)):
        with Client(command) as client:
            client.answer(client.ask(), action="accept", content={"city": "Ærøskøbing"})
            ends.append(client.end())
            received.append(client.received)
    assert received[0] == received[1]
    assert ends[0] == ends[1] == (7, b"got accept\n")


def test_a_question_is_durable_before_it_is_seen(home: Path) -> None:
    with Client(asking(home)) as client:
        question = client.ask()
        last = spooled(home)[-1]
        assert (last.event, last.vantage, last.fidelity) == (
            Event.REQUESTED,
            Vantage.STDIO,
            Fidelity.BYTES,
        )
        client.answer(question, action="decline")
        client.end()
    assert [receipt.event for receipt in spooled(home)[2:]] == [
        Event.REQUESTED,
        Event.ANSWERED,
        Event.RESUMED,
    ]


def test_a_session_that_ends_with_the_question_open(home: Path) -> None:
    with Client(asking(home)) as client:
        client.ask()
        client.end()
    assert spooled(home)[-1].outcome is Outcome.ABANDONED


def test_all_that_was_said_arrives_and_the_streams_are_given_back(home: Path) -> None:
    body = "sys.stdout.write('x' * 300_000 + chr(10)); os.dup(1)"
    command = program(body, home)
    command[-1] += "print('after'); print(sys.stdin.readline())\n"
    started = time.monotonic()
    done = subprocess.run(command, input=b"", capture_output=True, timeout=30, check=True)
    assert done.stdout == b"x" * 300_000 + b"\nafter\n\n"
    assert done.stderr == b""
    assert time.monotonic() - started < 15


def test_a_home_that_cannot_serve_is_named_before_the_server_runs(home: Path) -> None:
    home.mkdir(mode=0o755)
    done = subprocess.run(
        program("print('runs')", home), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "home_open_to_others: " in done.stderr
