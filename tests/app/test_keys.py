"""`receipts keys`: what it lists, rotates and destroys, and what the operators' stream says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sample import PRODUCER

from elicitation_receipts.producers.presence import Presence
from elicitation_receipts.schemas.identifiers import OPERATORS
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.operators import Operators
from elicitation_receipts.schemas.receipt import Act
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event

Receipts = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def used(home: Path) -> Path:
    """A home whose tenant's keys were used."""
    home.mkdir(mode=0o700)
    Keyring.open(home / "keys").tenant("default")
    return home


def acts(home: Path) -> list[tuple[Event, Act]]:
    with Spool.open(home, create=False) as spool:
        operators = Operators(spool, Keyring.open(home / "keys"), PRODUCER)
        return [(one.event, one.act) for one in operators.acts() if one.act]


def listed(receipts: Receipts) -> dict[str, str]:
    """Key id and state of each key of the default tenant."""
    done = receipts("keys", "list", "--format", "json")
    assert done.returncode == 0, done.stderr
    return {
        row["key_id"]: row["state"]
        for row in json.loads(done.stdout)["rows"]
        if row["tenant"] == "default"
    }


def test_rotation_is_recorded_with_both_keys(used: Path, receipts: Receipts) -> None:
    before = Keyring.open(used / "keys").tenant("default").payload
    done = receipts("keys", "rotate")
    assert done.returncode == 0, done.stderr
    after = Keyring.open(used / "keys").tenant("default").payload
    [(event, act)] = acts(used)
    assert (event, act.target) == (Event.KEY_ROTATED, "default")
    assert (act.key_id_from, act.key_id_to) == (before.id, after.id)
    states = listed(receipts)
    assert (states[before.id], states[after.id]) == ("earlier", "current")


def test_destruction_is_recorded_once_for_each_key(used: Path, receipts: Receipts) -> None:
    ids = set(listed(receipts))
    assert len(ids) == 3
    done = receipts("keys", "destroy", "--yes")
    assert done.returncode == 0, done.stderr
    assert set(listed(receipts).values()) == {"destroyed"}
    assert receipts("keys", "destroy", "--yes").returncode == 0, "again, after a crash"
    recorded = acts(used)
    assert {event for event, _ in recorded} == {Event.KEY_DESTROYED}
    assert sorted(act.key_id_from or "" for _, act in recorded) == sorted(ids)


def test_what_a_crash_left_unrecorded_is_recorded_when_done_again(
    used: Path, receipts: Receipts
) -> None:
    Keyring.open(used / "keys").destroy("default")
    assert receipts("keys", "destroy", "--yes").returncode == 0
    assert len(acts(used)) == 3


def test_nothing_is_destroyed_without_being_asked_for(used: Path, receipts: Receipts) -> None:
    done = receipts("keys", "destroy")
    assert done.returncode == 2
    assert "confirmation_missing" in done.stderr
    assert set(listed(receipts).values()) == {"current"}


def test_the_keys_of_a_running_watcher_stay(used: Path, receipts: Receipts) -> None:
    presence = Presence.announce(used, "default")
    try:
        done = receipts("keys", "destroy", "--yes")
    finally:
        presence.leave([])
    assert done.returncode == 3
    assert "key_in_use" in done.stderr
    assert set(listed(receipts).values()) == {"current"}


def test_an_epoch_that_is_not_there_is_named(used: Path, receipts: Receipts) -> None:
    done = receipts("keys", "destroy", "--epoch", "7", "--yes")
    assert (done.returncode, done.stdout) == (3, "")
    assert "key_unknown" in done.stderr


def test_a_tenant_cannot_call_itself_operators(used: Path, receipts: Receipts) -> None:
    for command in (["keys", "rotate"], ["keys", "destroy", "--yes"]):
        done = receipts(*command, "--tenant", OPERATORS)
        assert done.returncode == 2
        assert "setting_invalid" in done.stderr


def test_keys_in_two_places_are_refused(
    used: Path, receipts: Receipts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECEIPTS_KEYS", "root=" + 64 * "a")
    monkeypatch.setenv("RECEIPTS_KEYS_COMMAND", "true")
    done = receipts("keys", "list")
    assert done.returncode == 2
    assert "keys_ambiguous" in done.stderr


def test_a_server_behind_a_tap_does_not_inherit_the_keys(home: Path) -> None:
    names = [f"tenants/default/{one}-0001" for one in ("tenant", "epoch")]
    keys = " ".join(f"{name}={place:064}" for place, name in enumerate(["root", *names]))
    tap = [sys.executable, "-m", "elicitation_receipts", "tap", "--", sys.executable, "-c"]
    done = subprocess.run(
        [*tap, "import os; print([name for name in os.environ if name.startswith('RECEIPTS_')])"],
        env=os.environ | {"RECEIPTS_KEYS": keys},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "['RECEIPTS_HOME']\n"
    assert not list((home / "keys").rglob("*.key"))
