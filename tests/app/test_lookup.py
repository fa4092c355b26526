"""`receipts lookup`: from an answer on standard input to the receipts, on the record."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sample import PRODUCER, receipt

from elicitation_receipts.consumers.landing import Lander, Warehouse
from elicitation_receipts.consumers.rewrite import DroppedSegment, drop_segments
from elicitation_receipts.consumers.source import SpoolSource
from elicitation_receipts.schemas.digest import payload_digest
from elicitation_receipts.schemas.identifiers import OPERATORS
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.operators import Operators
from elicitation_receipts.schemas.receipt import Act
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event

Receipts = Callable[..., subprocess.CompletedProcess[str]]
Ask = Callable[..., subprocess.CompletedProcess[str]]

ANSWERS: list[dict[str, Any]] = [
    {"city": "Aarhus"},
    {"city": "Aarhus"},
    {"city": "Aarhus", "sure": True},
    {"age": 33},
    {"age": "33"},
]


@pytest.fixture
def home_with_answers(home: Path) -> Path:
    """A home in which receipts of :data:`ANSWERS` have landed."""
    answer(home, *ANSWERS)
    land(home)
    return home


def answer(home: Path, *contents: dict[str, Any]) -> None:
    with Spool.open(home) as spool:
        keys = Keyring.open(home / "keys").tenant("default")
        stream_id = spool.stream_for("default", PRODUCER)
        for content in contents:
            id_, nonce = uuid4(), uuid4().bytes
            digest = payload_digest(keys.payload, "default", stream_id, id_, nonce, content)
            answered = receipt(stream_id, Event.ANSWERED, receipt_id=id_, payload_digest=digest)
            spool.append([answered])


def land(home: Path) -> None:
    with Spool.open(home) as spool:
        key = Keyring.open(home / "keys").lander()
        Lander(Warehouse(home / "warehouse.duckdb"), SpoolSource(spool), key).land()


@pytest.fixture
def ask(receipts: Receipts) -> Ask:
    """Look up what is given on standard input."""

    def ask(given: str, *options: str) -> subprocess.CompletedProcess[str]:
        return receipts("lookup", "--format", "json", *options, stdin=given.encode())

    return ask


def found(done: subprocess.CompletedProcess[str]) -> list[int]:
    """The places in :data:`ANSWERS` of the receipts found; sequence 0 is `stream_opened`."""
    return [row["sequence"] - 1 for row in json.loads(done.stdout)["rows"]]


def looked_up(home: Path) -> list[Act]:
    with Spool.open(home) as spool:
        operators = Operators(spool, Keyring.open(home / "keys"), PRODUCER)
        return [one.act for one in operators.acts() if one.act and one.event is Event.LOOKED_UP]


@pytest.mark.usefixtures("home_with_answers")
def test_an_answer_is_found_whole(ask: Ask) -> None:
    done = ask('{"city": "Aarhus"}')
    assert (done.returncode, found(done)) == (0, [0, 1]), done.stderr
    assert found(ask('{"sure": true, "city": "Aarhus"}')) == [2]
    assert found(ask('{"age": 33.0}')) == [3]


@pytest.mark.usefixtures("home_with_answers")
def test_a_single_field_is_given_plain(ask: Ask) -> None:
    assert found(ask("Aarhus\n", "--field", "city")) == [0, 1]
    assert found(ask("33", "--field", "age")) == [3, 4], "it may have been a number or a text"


@pytest.mark.usefixtures("home_with_answers")
def test_what_was_not_answered_is_not_found(ask: Ask) -> None:
    done = ask('{"city": "Odense"}')
    assert (done.returncode, found(done)) == (1, [])
    assert "found 0 of 5 compared" in done.stderr
    assert ask("{}", "--tenant", "other").returncode == 1


def test_that_somebody_asked_is_recorded_and_never_what(home_with_answers: Path, ask: Ask) -> None:
    secret = "Kerteminde-4271"
    for given in ('{"city": "Aarhus"}', json.dumps({"city": secret})):
        done = ask(given)
        assert secret not in done.stdout + done.stderr
    acts = looked_up(home_with_answers)
    assert [(act.target, act.count) for act in acts] == [("default", 2), ("default", 0)]
    assert all(act.actor_ref is not None for act in acts)
    files = (path for path in home_with_answers.rglob("*") if path.is_file())
    assert not any(secret.encode() in path.read_bytes() for path in files)


def test_what_cannot_be_recorded_is_not_answered(home_with_answers: Path, ask: Ask) -> None:
    secrets = (home_with_answers / "keys" / "tenants" / OPERATORS).glob("*.key")
    assert ask('{"city": "Aarhus"}').returncode == 0
    for path in secrets:
        path.unlink()
    done = ask('{"city": "Aarhus"}')
    assert (done.returncode, done.stdout) == (3, "")
    assert "key_missing" in done.stderr


def test_after_the_key_is_destroyed_it_is_unconfirmable(
    home_with_answers: Path, ask: Ask, receipts: Receipts
) -> None:
    answer(home_with_answers)
    assert receipts("keys", "rotate").returncode == 0
    answer(home_with_answers, {"city": "Aarhus"})
    land(home_with_answers)
    assert found(ask('{"city": "Aarhus"}')) == [0, 1, 5]
    assert receipts("keys", "destroy", "--epoch", "1", "--yes").returncode == 0
    done = ask('{"city": "Aarhus"}')
    assert (done.returncode, found(done)) == (0, [5])
    assert "note: 5 unconfirmable: their key was destroyed" in done.stderr
    assert ask('{"age": 33}').returncode == 4, "none found is no answer where some are unknown"
    report = receipts("report", "completion", "--format", "json")
    assert report.returncode == 0, "receipts and reports stay"


def test_receipts_that_have_not_landed_are_told_of(home_with_answers: Path, ask: Ask) -> None:
    answer(home_with_answers, {"city": "Odense"})
    done = ask('{"city": "Odense"}')
    assert done.returncode == 4
    assert "note: 1 not compared: not landed yet, run `receipts land`" in done.stderr


@pytest.mark.usefixtures("home_with_answers")
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("", "no_answer_given"),
        ("\n", "no_answer_given"),
        ("secret-4711", "answer_not_json"),
        ('["secret-4711"]', "answer_not_json"),
        ('{"city": "secret-4711"', "answer_not_json"),
        ("[" * 100_000, "answer_not_json"),
        ('{"city": "secret-4711\\ud800"}', "not_canonical"),
    ],
)
def test_what_is_no_answer_is_named_and_not_repeated(given: str, reason: str, ask: Ask) -> None:
    done = ask(given)
    assert done.returncode in (2, 3)
    assert done.stdout == ""
    assert done.stderr.startswith(f"receipts: {reason}: ")
    assert "4711" not in done.stderr


def test_receipts_that_were_dropped_are_not_waited_for(home_with_answers: Path, ask: Ask) -> None:
    warehouse = Warehouse(home_with_answers / "warehouse.duckdb")
    with warehouse.read() as database:
        [(stream_id,)] = database.execute("SELECT DISTINCT stream_id FROM receipts").fetchall()
    drop_segments(warehouse, [DroppedSegment(stream_id, 0, len(ANSWERS), bytes(32))])
    done = ask('{"city": "Aarhus"}')
    assert (done.returncode, done.stderr) == (1, "found 0 of 0 compared\n")
