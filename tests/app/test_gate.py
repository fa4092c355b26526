"""`receipts gate` from the command line: what it prints, and what a pipeline reads."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from lives import DAY, START, Lives, answered, ended, requested, resumed

from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.receipt import Finding
from elicitation_receipts.schemas.vocabulary import FindingName, Gate, Outcome, Severity

Receipts = Callable[..., subprocess.CompletedProcess[str]]
GATES = ["hard", "protocol", "recovery", "ux", "accessibility", "phishing"]
LEAK = Finding(FindingName.VALUE_LEAKED_IN_ERROR, Severity.ERROR, Gate.HARD)


def good(lives: Lives, at: int = START, **origin: str) -> None:
    for _ in range(20):
        lives.add(requested(), answered(Outcome.ACCEPTED), resumed(), at=at, **origin)
    lives.add(requested(), answered(Outcome.DECLINED), at=at, **origin)
    lives.add(requested(), ended(Outcome.EXPIRED), at=at, **origin)


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`good` passes; `leaky` leaks; `young` has a new version that nobody has used yet."""
    home = tmp_path_factory.mktemp("gate") / "home"
    home.mkdir(mode=0o700)
    with Warehouse(home / "warehouse.duckdb").open() as database:
        lives = Lives(database)
        with lives.at_once():
            good(lives, server_name="good", environment="production")
            good(lives, server_name="leaky")
            lives.add(requested(findings=(LEAK,)), answered(Outcome.ACCEPTED), server_name="leaky")
            good(lives, server_name="young", server_version="1")
            lives.add(requested(), at=START + DAY, server_name="young", server_version="2")
    return home


@pytest.fixture
def evidence(tmp_path: Path) -> str:
    """What somebody attests of `good`."""
    attested = {
        "passed": True,
        "by": "Ada",
        "at": "2026-11-01T00:00:00Z",
        "what": "by hand",
        "combination": {"server": "good"},
    }
    file = tmp_path / "evidence.json"
    file.write_text(
        json.dumps({"attestations": [{"gate": gate, **attested} for gate in GATES[4:]]})
    )
    return str(file)


@pytest.fixture
def gate(landed: Path, receipts: Receipts) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(server: str, *options: str) -> subprocess.CompletedProcess[str]:
        return receipts("--home", str(landed), "gate", "--server", server, *options)

    return run


def verdicts(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return {row["gate"]: row["verdict"] for row in rows}


def test_a_combination_that_passes_every_gate(gate: Any, evidence: str) -> None:
    done = gate("good", "--evidence", evidence, "--format", "json")
    assert verdicts(done) == dict.fromkeys(GATES, "pass")
    assert done.returncode == 0
    assert json.loads(done.stdout)["server"] == "good"


def test_what_nobody_attested_does_not_pass(gate: Any) -> None:
    done = gate("good", "--format", "json")
    assert verdicts(done) == dict.fromkeys(GATES[:4], "pass") | dict.fromkeys(
        GATES[4:], "no_evidence"
    )
    assert done.returncode == 4
    assert gate("good", "--require", "hard,ux", "--require", "protocol").returncode == 0


def test_a_leak_fails_and_is_shown(gate: Any) -> None:
    done = gate("leaky", "--format", "json")
    assert done.returncode == 1
    rows = {row["gate"]: row for row in json.loads(done.stdout)["rows"]}
    assert rows["hard"]["verdict"] == "fail"
    assert rows["hard"]["reason"] == "1 value_leaked_in_error"
    assert len(rows["hard"]["receipts"]) == 36
    assert rows["protocol"]["verdict"] == "pass"


def test_a_new_version_is_stale(gate: Any) -> None:
    done = gate("young", "--require", "hard")
    assert done.returncode == 4
    assert "changed since there was evidence: server_version" in done.stdout


def test_another_environment_is_stale(gate: Any, evidence: str) -> None:
    options = ("--evidence", evidence, "--format", "json", "--environment")
    assert gate("good", *options, "production").returncode == 0
    done = gate("good", *options, "new browser")
    assert verdicts(done) == dict.fromkeys(GATES, "stale")
    assert done.returncode == 4


def test_junit(gate: Any) -> None:
    suite = ET.fromstring(gate("leaky", "--format", "junit").stdout)
    assert suite.attrib == {"name": "receipts gate", "tests": "6", "failures": "1", "skipped": "2"}
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {gate_: [] for gate_ in GATES[1:4]} | {
        "hard": ["failure"],
        "accessibility": ["skipped"],
        "phishing": ["skipped"],
    }


def test_sarif(gate: Any, tmp_path: Path) -> None:
    file = tmp_path / "gate.sarif"
    assert gate("leaky", "--format", "sarif", "--output", str(file)).returncode == 1
    document = json.loads(file.read_text())
    [run] = document["runs"]
    [result] = run["results"]
    assert document["version"] == "2.1.0"
    assert (result["ruleId"], result["level"]) == ("value_leaked_in_error", "error")
    assert len(result["locations"]) == 1
    assert run["tool"]["driver"]["rules"] == [{"id": "value_leaked_in_error"}]


@pytest.mark.parametrize(
    ("options", "code", "reason"),
    [
        (["--require", "soft"], 2, "unknown_gate"),
        (["--rules", "none.json"], 2, "rules_unreadable"),
        (["--evidence", "none.json"], 2, "evidence_unreadable"),
        (["--flow", "unheard-of"], 4, "nothing_to_judge"),
    ],
)
def test_what_cannot_be_judged(options: list[str], code: int, reason: str, gate: Any) -> None:
    done = gate("good", *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"receipts: {reason}: ")
