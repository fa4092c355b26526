"""`receipts canary` from the command line: what it prints, and what a script reads."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lives import DAY, START, Lives, answered, requested

from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.vocabulary import Outcome

Receipts = Callable[..., subprocess.CompletedProcess[str]]
ENOUGH = 150


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Version 2 is as good as 1; in 3 people decline."""
    home = tmp_path_factory.mktemp("canary") / "home"
    home.mkdir(mode=0o700)
    with Warehouse(home / "warehouse.duckdb").open() as database:
        lives = Lives(database)
        with lives.at_once():
            for version, outcome in (
                ("1", Outcome.ACCEPTED),
                ("2", Outcome.ACCEPTED),
                ("3", Outcome.DECLINED),
            ):
                step, at = answered(outcome), START - 1000 * DAY
                for _ in range(ENOUGH):
                    lives.add(requested(), step, at=at, server_version=version)
    return home


@pytest.fixture
def thresholds(tmp_path: Path) -> Path:
    file = tmp_path / "thresholds.json"
    limit = {"worse": "higher", "margin": 0.1}
    file.write_text(json.dumps({"measures": {"decline": limit, "cancel": limit}}))
    return file


@pytest.mark.parametrize(
    ("candidate", "code", "said"),
    [
        ("2", 0, "verdict: promote: no measure is worse by more than its margin\n"),
        ("3", 1, "verdict: roll back: decline worse than the baseline\n"),
    ],
)
def test_a_verdict(
    candidate: str, code: int, said: str, landed: Path, thresholds: Path, receipts: Receipts
) -> None:
    done = receipts(
        "--home", str(landed), "canary", "1", candidate, "--thresholds", str(thresholds)
    )
    assert (done.returncode, done.stderr) == (code, said)
    assert "decline" in done.stdout


def test_hold_says_how_much_is_missing(landed: Path, receipts: Receipts) -> None:
    done = receipts("--home", str(landed), "canary", "1", "2", "--format", "json")
    assert done.returncode == 4
    rows = {row["measure"]: row for row in json.loads(done.stdout)["rows"]}
    assert rows["time_to_resume"]["standing"] == "too_few"
    assert rows["decline"]["standing"] == "unclear"
    assert rows["decline"]["missing"] > 0
    assert done.stderr.startswith("verdict: hold: not enough to say for ")


def test_an_arm_nobody_has_seen(landed: Path, receipts: Receipts) -> None:
    done = receipts("--home", str(landed), "canary", "1", "9")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("receipts: nothing_to_compare: no question of the candidate")


def test_a_watch_ends_with_the_verdict(landed: Path, thresholds: Path, receipts: Receipts) -> None:
    with Warehouse(landed / "warehouse.duckdb").read() as database:
        assert database.execute("SELECT count(*) FROM elicitations").fetchone() == (3 * ENOUGH,)
    done = receipts(
        "--home", str(landed), "canary", "1", "3", "--watch", "1", "--thresholds", str(thresholds)
    )
    assert done.returncode == 1


def test_what_cannot_be_compared(landed: Path, receipts: Receipts) -> None:
    done = receipts("--home", str(landed), "canary", "1", "2", "--compare", "mood")
    assert done.returncode == 2
    assert done.stderr.startswith("receipts: unknown_dimension: ")
