"""A policy file in force: every watcher loads it, says so, and keeps it where landing finds it."""

from __future__ import annotations

import json
import subprocess
from datetime import date
from hashlib import sha256
from pathlib import Path

import duckdb
import pytest
from asking_client import SERVER, TAP, Client
from command import run_here

from elicitation_receipts.policy_in_force import policy_in_force
from elicitation_receipts.producers.policy import BUILT_IN
from elicitation_receipts.producers.policy import load as load_policy
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.errors import PolicyError
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import DecidedBy, Event
from elicitation_receipts.settings import Settings, load

TEXT = """\
id: acme
version: "3"
effective: 2026-11-01
thresholds: {automatic_below_ms: 0}
operations:
  - {tool: "*", purpose: choose-city, retention_class: short}
"""


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    path = tmp_path / "acme.yaml"
    path.write_text(TEXT)
    return path


def spooled(home: Path) -> list[Receipt]:
    with Spool.open(home, create=False) as spool:
        return [decode(stored.message) for stored in spool.read(0, 1000)]


def converse(*options: str) -> None:
    with Client([*TAP, *options, "--", *SERVER]) as client:
        client.answer(client.ask(), action="decline")
        client.end()


def test_a_tap_judges_by_the_file_says_so_and_keeps_it(home: Path, policy_file: Path) -> None:
    policy = load_policy(policy_file)
    converse("--policy", str(policy_file))
    receipts = spooled(home)
    (loaded,) = (one for one in receipts if one.event is Event.POLICY_LOADED)
    asked = [one for one in receipts if one.elicitation_id is not None]
    assert asked
    for one in (loaded, *asked):
        assert (one.policy_id, one.policy_version) == ("acme", "3")
        assert one.policy_digest == policy.digest
    assert {(one.purpose, one.retention_class) for one in asked} == {("choose-city", "short")}
    answered = next(one for one in asked if one.event is Event.ANSWERED)
    assert answered.decided_by is DecidedBy.PERSON_CLAIMED  # in no time, and the policy's is 0
    kept = home / "policies" / f"{policy.digest.hex()}.json"
    assert kept.read_bytes() == policy.canonical


def test_landing_puts_the_kept_policy_beside_what_receipts_say(
    home: Path, policy_file: Path
) -> None:
    converse("--policy", str(policy_file))
    converse()
    assert run_here(home, "land").code == 0
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as database:
        rows = database.execute(
            "SELECT policy_digest, policy_id, policy_version, document FROM policies"
        ).fetchall()
    assert {row[1:3] for row in rows} == {("acme", "3"), (BUILT_IN.id, BUILT_IN.version)}
    for digest, *_, document in rows:
        assert sha256(document.encode()).digest() == digest
    documents = {row[1]: json.loads(row[3]) for row in rows}
    assert documents["acme"] == load_policy(policy_file).document


@pytest.mark.slow
def test_a_policy_that_is_not_kept_here_lands_without_its_text(
    home: Path, policy_file: Path
) -> None:
    converse("--policy", str(policy_file))
    for kept in (home / "policies").iterdir():
        kept.unlink()
    run_here(home, "land")
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as database:
        assert database.execute("SELECT document FROM policies").fetchall() == [(None,)]


def test_a_wrong_file_keeps_a_tap_from_starting(home: Path, policy_file: Path) -> None:
    policy_file.write_text(TEXT + "enforcment: warn\n")
    done = subprocess.run(
        [*TAP, "--policy", str(policy_file), "--", *SERVER], capture_output=True, text=True
    )
    assert done.returncode == 3
    assert done.stderr == (
        f"receipts: policy_unknown_key: {policy_file}, line 7, at enforcment: unknown key "
        "'enforcment'; did you mean enforcement?\n"
    )
    assert done.stdout == ""


def test_the_file_is_taken_from_option_variable_or_settings(
    tmp_path: Path, policy_file: Path
) -> None:
    (tmp_path / "receipts.toml").write_text('policy = "acme.yaml"\n')
    file = tmp_path / "receipts.toml"
    # In the settings file it is seen from there, else from where one stands.
    assert load(file, {}, {}).settings.policy == str(policy_file)
    assert load(file, {}, {"RECEIPTS_POLICY": "a.yaml"}).settings.policy == "a.yaml"
    assert load(file, {"policy": "b.yaml"}, {"RECEIPTS_POLICY": "a"}).settings.policy == "b.yaml"


def test_a_policy_is_not_in_force_before_its_day(policy_file: Path) -> None:
    settings = Settings(policy=str(policy_file))
    assert policy_in_force(settings, date(2026, 11, 1)).id == "acme"
    with pytest.raises(PolicyError) as caught:
        policy_in_force(settings, date(2026, 10, 31))
    assert caught.value.reason == "policy_not_yet_effective"


def test_a_setting_changes_the_number_and_with_it_the_digest(policy_file: Path) -> None:
    settings = Settings(policy=str(policy_file), automatic_below_ms=7)
    policy = policy_in_force(settings, date(2026, 11, 1))
    assert policy.thresholds.automatic_below_ms == 7
    assert policy.digest != load_policy(policy_file).digest
    assert policy_in_force(Settings()) is BUILT_IN
