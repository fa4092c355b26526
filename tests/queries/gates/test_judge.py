"""A gate's verdict: pass, fail, stale, no evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elicitation_receipts.queries.gates.combination import MEMBERS, Combination
from elicitation_receipts.queries.gates.judge import Found, Judged, Shown, Verdict, judge
from elicitation_receipts.queries.gates.rules import Attestation, Rule, load_rules

RULES = {rule.gate: rule for rule in load_rules()}
NOW = Combination(
    "files", "2.0", "editor", "7", "sign-up", "2025-11-25", "ab" * 6, "cd" * 6, "production"
)
PLENTY = {
    "put": 100,
    "answered": 90,
    "refused": 10,
    "resumed": 90,
    "urls_completed": 10,
    "interrupted": 5,
    "automatic_navigations": 0,
}
OBSERVED = ["hard", "protocol", "recovery", "ux"]


def shown(*findings: Found, combination: Combination = NOW, **numbers: int) -> Shown:
    return Shown(combination, PLENTY | numbers, findings)


def found(gate: str, name: str, severity: str) -> Found:
    return Found(gate, name, severity, 3, ("r1", "r2"))


def attested(passed: bool = True, **combination: str) -> Attestation:
    named = combination or {"server": "files", "client": "editor", "flow": "sign-up"}
    return Attestation("phishing", passed, "Ada", "2026-11-01T00:00:00Z", "relay tried", named)


@pytest.mark.parametrize("gate", OBSERVED)
def test_enough_seen_and_nothing_found_is_a_pass(gate: str) -> None:
    assert judge(RULES[gate], [shown()], []).verdict is Verdict.PASS


@pytest.mark.parametrize("gate", OBSERVED)
@pytest.mark.parametrize("number", sorted({name for rule in RULES.values() for name in rule.needs}))
def test_without_what_it_needs_there_is_no_evidence(gate: str, number: str) -> None:
    judged = judge(RULES[gate], [shown(**{number: 0})], [])
    needed = number in RULES[gate].needs
    assert judged.verdict is (Verdict.NO_EVIDENCE if needed else Verdict.PASS)
    assert (f"0/{RULES[gate].needs.get(number)} {number}" in judged.reason) is needed


@pytest.mark.parametrize(
    ("gate", "finding", "fails"),
    [
        ("hard", found("hard", "secret_field", "error"), True),
        ("hard", found("hard", "secret_field", "info"), True),  # also where a policy plays it down
        ("hard", found("protocol", "mode_not_declared", "error"), False),
        ("protocol", found("protocol", "mode_not_declared", "warning"), True),
        ("protocol", found("protocol", "mode_not_declared", "info"), False),
        ("recovery", found("recovery", "duplicate_effect", "warning"), True),
        ("ux", found("ux", "missing_description", "info"), False),
        ("ux", found("ux", "url_punycode", "info"), True),
        ("ux", found("ux", "missing_description", "warning"), True),
    ],
)
def test_a_finding_fails_the_gate_whose_rule_says_so(
    gate: str, finding: Found, fails: bool
) -> None:
    judged = judge(RULES[gate], [shown(finding)], [])
    assert judged.verdict is (Verdict.FAIL if fails else Verdict.PASS)
    assert list(judged.findings) == ([finding] if fails else [])


def test_an_address_that_was_opened_by_itself_fails_the_hard_gate() -> None:
    judged = judge(RULES["hard"], [shown(automatic_navigations=1)], [])
    assert judged == Judged("hard", Verdict.FAIL, "1 automatic_navigations, at most 0")


def test_a_failure_needs_no_minimum() -> None:
    finding = found("hard", "secret_field", "error")
    assert judge(RULES["hard"], [shown(finding, put=1)], []).verdict is Verdict.FAIL


@pytest.mark.parametrize("member", MEMBERS)
def test_evidence_for_another_combination_is_stale(member: str) -> None:
    before = replace(NOW, **{member: "before"})
    judged = judge(RULES["hard"], [shown(put=3), shown(combination=before)], [])
    assert judged.verdict is Verdict.STALE
    assert judged.reason.endswith(f": {member}")


def test_too_little_before_is_no_evidence_either() -> None:
    before = replace(NOW, server_version="1.0")
    judged = judge(RULES["hard"], [shown(put=3), shown(combination=before, put=4)], [])
    assert judged.verdict is Verdict.NO_EVIDENCE


@pytest.mark.parametrize("gate", OBSERVED)
def test_an_environment_that_changed_makes_everything_stale(gate: str) -> None:
    judged = judge(RULES[gate], [shown()], [], ["environment"])
    assert judged.verdict is Verdict.STALE


PHISHING = Rule("phishing", True, frozenset(), frozenset(), {}, {})


@pytest.mark.parametrize(
    ("attestations", "changed", "verdict"),
    [
        ([], [], Verdict.NO_EVIDENCE),
        ([attested()], [], Verdict.PASS),
        ([attested(passed=False)], [], Verdict.FAIL),
        ([attested(), attested(passed=False)], [], Verdict.FAIL),
        ([attested(server_version="1.0")], [], Verdict.STALE),
        ([attested(server_version="1.0"), attested(server_version="2.0")], [], Verdict.PASS),
        ([attested()], ["environment"], Verdict.STALE),
        ([], ["environment"], Verdict.NO_EVIDENCE),
    ],
)
def test_what_no_wire_shows_is_attested(
    attestations: list[Attestation], changed: list[str], verdict: Verdict
) -> None:
    assert judge(PHISHING, [shown()], attestations, changed).verdict is verdict
