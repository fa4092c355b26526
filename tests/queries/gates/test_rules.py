"""Rules and attestations as data: the built-in ones, a user's, and broken ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elicitation_receipts.queries.gates.rules import load_attestations, load_rules
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.vocabulary import FindingName, Gate

ATTESTATION = {
    "gate": "phishing",
    "passed": True,
    "by": "Ada",
    "at": "2026-11-01T00:00:00Z",
    "what": "a relayed link, another browser's session",
    "combination": {"client": "editor"},
}


def test_the_built_in_rules_know_every_gate_and_only_findings_there_are() -> None:
    rules = {rule.gate: rule for rule in load_rules()}
    assert {gate.value for gate in Gate} < rules.keys()
    assert {rule.gate for rule in rules.values() if rule.attested} == {"accessibility", "phishing"}
    for rule in rules.values():
        assert rule.fails_on_findings <= {name.value for name in FindingName}


def test_a_users_rules_stand_alone(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"gates": {"hard": {"needs": {"put": 3}}}}))
    [rule] = load_rules(file)
    assert (rule.gate, rule.needs, rule.fails_on) == ("hard", {"put": 3}, frozenset())


@pytest.mark.parametrize(
    "gates",
    [
        {},
        {"soft": {"needs": {"put": 1}}},
        {"hard": {}},
        {"hard": {"needs": {}}},
        {"hard": {"needs": {"smiles": 1}}},
        {"hard": {"needs": {"put": -1}}},
        {"hard": {"needs": {"put": 1}, "fails_on": ["catastrophe"]}},
        {"phishing": {"attested": False}},
    ],
)
def test_broken_rules(gates: object, tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"gates": gates}))
    with pytest.raises(UsageError, match="rules_invalid"):
        load_rules(file)


def test_attestations(tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps({"attestations": [ATTESTATION]}))
    [attestation] = load_attestations(file)
    assert (attestation.by, attestation.combination) == ("Ada", {"client": "editor"})
    assert load_attestations(None) == []


@pytest.mark.parametrize(
    "change",
    [
        {"gate": "hard"},
        {"at": "yesterday"},
        {"by": ""},
        {"combination": {}},
        {"combination": {"moon": "full"}},
        {"mood": "good"},
    ],
)
def test_broken_attestations(change: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps({"attestations": [ATTESTATION | change]}))
    with pytest.raises(UsageError, match="evidence_invalid"):
        load_attestations(file)
