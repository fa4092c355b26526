"""A policy file that changes under a running watcher: at once, whole, or not at all."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from asking_client import SERVER, TAP, Client
from asking_client import Client as Scripted

from elicitation_receipts.home import Home
from elicitation_receipts.policy_in_force import Renewal
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.errors import PolicyError
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event, Outcome
from elicitation_receipts.settings import Settings

OBSERVING = 'id: acme\nversion: "1"\neffective: 2026-11-01\n'
STRICT = (
    'id: acme\nversion: "2"\neffective: 2026-11-01\nenforcement: enforce\n'
    "findings: {missing_description: {effect: block}}\n"
)
BROKEN = 'id: acme\nversion: "3"\neffective: 2026-11-01\nenforcment: enforce\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "acme.yaml"
    path.write_text(OBSERVING)
    return path


def spooled(home: Path) -> list[Receipt]:
    with Spool.open(home, create=False) as spool:
        return [decode(stored.message) for stored in spool.read(0, 1000)]


def versions_loaded(home: Path) -> list[str | None]:
    return [one.policy_version for one in spooled(home) if one.event is Event.POLICY_LOADED]


@pytest.mark.slow
def test_a_tap_goes_over_to_it_and_keeps_the_last_that_was_right(home: Path, file: Path) -> None:
    with Scripted([*TAP, "--policy", str(file), "--", *SERVER]) as client:
        client.answer(client.ask(1), action="decline")
        file.write_text(STRICT)
        wait_for(lambda: versions_loaded(home) == ["1", "2"])
        refused(client, 2)
        file.write_text(BROKEN)
        time.sleep(2.5)  # it is looked for once a second
        refused(client, 3)
        _, err = client.end()
    assert err.count(b"blocked_by_policy") == 2
    (said,) = (line for line in err.splitlines() if line.startswith(b"receipts: "))
    assert b"did you mean enforcement?" in said
    assert b"stays in force" in said
    assert versions_loaded(home) == ["1", "2"]
    blocked = [one for one in spooled(home) if one.outcome is Outcome.BLOCKED]
    assert {one.policy_version for one in blocked} == {"2"}


def test_a_policy_that_warns_has_whoever_runs_it_told(home: Path, file: Path) -> None:
    file.write_text(STRICT.replace("enforce\n", "warn\n"))
    with Scripted([*TAP, "--policy", str(file), "--", *SERVER]) as client:
        client.answer(client.ask(1), action="decline")
        _, err = client.end()
    assert b"receipts: policy acme 2 would block a question (missing_description)" in err


def refused(client: Client, id_: int) -> None:
    """The tool is called, and nobody is asked."""
    client.request(id_, "tools/call", {"name": "weather", "arguments": {}})
    assert client.receive()["id"] == id_


def wait_for(condition: object) -> None:
    deadline = time.monotonic() + 30
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.1)


# What is noticed


def renewal(tmp_path: Path, file: Path) -> tuple[Renewal, list[str]]:
    said: list[str] = []
    home = Home(tmp_path / "home")
    home.path.mkdir(mode=0o700)
    return Renewal(home, Settings(policy=str(file)), said.append), said


def test_a_file_that_stays_as_it_is(tmp_path: Path, file: Path) -> None:
    renewed, said = renewal(tmp_path, file)
    assert renewed() is None
    file.touch()
    assert renewed() is None
    assert said == []


def test_a_new_one_once_and_kept(tmp_path: Path, file: Path) -> None:
    renewed, _ = renewal(tmp_path, file)
    file.write_text(STRICT)
    policy = renewed()
    assert policy is not None
    assert policy.version == "2"
    assert renewed.policy is policy
    assert renewed() is None
    assert (tmp_path / "home" / "policies" / f"{policy.digest.hex()}.json").exists()


def test_one_that_it_extends(tmp_path: Path, file: Path) -> None:
    base = tmp_path / "base.yaml"
    base.write_text(OBSERVING)
    file.write_text(OBSERVING + "extends: base.yaml\n")
    renewed, _ = renewal(tmp_path, file)
    base.write_text(OBSERVING + "thresholds: {reask_window_s: 5}\n")
    policy = renewed()
    assert policy is not None
    assert policy.thresholds.reask_window_s == 5


@pytest.mark.parametrize("broken", [BROKEN, "", OBSERVING + "extends: nowhere.yaml\n", None])
def test_a_broken_one_is_told_once_and_its_correction_taken(
    tmp_path: Path, file: Path, broken: str | None
) -> None:
    renewed, said = renewal(tmp_path, file)
    before = renewed.policy
    if broken is None:
        file.unlink()
    else:
        file.write_text(broken)
    assert renewed() is None
    assert renewed() is None
    assert renewed.policy is before
    assert len(said) == 1
    file.write_text(STRICT)
    assert renewed() is not None
    assert len(said) == 1


def test_a_file_that_appears_where_it_was_missing(tmp_path: Path, file: Path) -> None:
    file.write_text(OBSERVING + "extends: base.yaml\n")
    with pytest.raises(PolicyError, match="policy_unreadable"):
        renewal(tmp_path, file)
    file.write_text(OBSERVING)
    (tmp_path / "home").rmdir()
    renewed, _ = renewal(tmp_path, file)
    file.write_text(STRICT + "extends: base.yaml\n")
    assert renewed() is None
    (tmp_path / "base.yaml").write_text(OBSERVING)
    assert renewed() is not None
