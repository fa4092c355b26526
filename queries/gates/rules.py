"""Rules of the gates, and attestations of what no wire shows: data, read and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

from elicitation_receipts.queries.data_file import read_data_file
from elicitation_receipts.queries.gates.combination import Combination

_FILES: Final = resources.files(__package__)


@dataclass(frozen=True, slots=True)
class Rule:
    """What passes and fails a gate; ``rules.schema.json`` says what each member means."""

    gate: str
    attested: bool
    fails_on: frozenset[str]
    fails_on_findings: frozenset[str]
    at_most: Mapping[str, int]
    needs: Mapping[str, int]

    def is_failed_by(self, gate: str, name: str, severity: str) -> bool:
        """Whether a finding fails this gate."""
        return name in self.fails_on_findings or (gate == self.gate and severity in self.fails_on)


@dataclass(frozen=True, slots=True)
class Attestation:
    """``by`` says ``at`` a time that the gate ``passed``, for what ``combination`` names."""

    gate: str
    passed: bool
    by: str
    at: str
    what: str
    combination: Mapping[str, str]

    def differs_from(self, combination: Combination) -> list[str]:
        """The members in which it is about another combination."""
        return [
            member
            for member, value in self.combination.items()
            if getattr(combination, member) != value
        ]


def load_rules(path: Path | None = None) -> list[Rule]:
    """The rules of a file, else the built-in ones. Raises UsageError ``rules_…``."""
    given = (
        json.loads(_FILES.joinpath("rules.json").read_text("utf-8"))
        if path is None
        else read_data_file(path, _FILES.joinpath("rules.schema.json"), "rules")
    )
    return [_rule(gate, rule) for gate, rule in given["gates"].items()]


def load_attestations(path: Path | None = None) -> list[Attestation]:
    """The attestations of a file; without one there are none. Raises UsageError ``evidence_…``."""
    if path is None:
        return []
    given = read_data_file(path, _FILES.joinpath("attestations.schema.json"), "evidence")
    return [Attestation(**item) for item in given["attestations"]]


def _rule(gate: str, rule: Mapping[str, Any]) -> Rule:
    return Rule(
        gate,
        rule.get("attested", False),
        frozenset(rule.get("fails_on", ())),
        frozenset(rule.get("fails_on_findings", ())),
        rule.get("at_most", {}),
        rule.get("needs", {}),
    )
