"""The policy as data: the built-in one, its digest, and how its rules are looked up."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import date
from hashlib import sha256
from typing import Any

import pytest
from policies import policy_with

from elicitation_receipts.producers.policy import BUILT_IN, Policy
from elicitation_receipts.producers.policy.document import URL_RULES, Operation, Rules, Weight
from elicitation_receipts.producers.policy.plain import from_plain
from elicitation_receipts.producers.policy.words import (
    DataClass,
    Effect,
    Enforcement,
    FieldNames,
    Match,
)
from elicitation_receipts.schemas.vocabulary import (
    FindingName,
    Gate,
    Mode,
    Outcome,
    Proof,
    Severity,
)


def operation(**pattern: Any) -> Operation:
    """Rules under a pattern that can be told by their purpose."""
    rules = {field.name: getattr(BUILT_IN.defaults, field.name) for field in fields(Rules)}
    return Operation(**{**rules, "purpose": "covered"}, **pattern)


def covered(pattern: dict[str, Any], method: str, name: str | None) -> bool:
    policy = replace(BUILT_IN, operations=(operation(**pattern),))
    return policy.rules_for(method, name).purpose == "covered"


def test_the_built_in_policy_observes_by_the_published_numbers() -> None:
    assert BUILT_IN.enforcement is Enforcement.OBSERVE
    assert BUILT_IN.thresholds.automatic_below_ms == 250
    assert BUILT_IN.form.max_fields == 10
    assert BUILT_IN.form.max_length == 1_000
    assert BUILT_IN.form.max_options == 100
    assert BUILT_IN.thresholds.reask_loop_round == 4
    assert BUILT_IN.thresholds.reask_window_s == 600
    assert BUILT_IN.thresholds.silence_s == 3_600
    assert BUILT_IN.defaults.required_proof is None
    assert BUILT_IN.defaults.modes == (Mode.FORM, Mode.URL, Mode.TASK_INPUT)


def test_the_built_in_policy_prohibits_every_secret() -> None:
    assert {one for one in DataClass if one.is_secret} <= set(BUILT_IN.prohibited_classes)


def test_the_digest_is_that_of_the_canonical_form() -> None:
    # RFC 8785 of plain ASCII words and whole numbers is what sorted, compact JSON gives.
    text = json.dumps(BUILT_IN.document, sort_keys=True, separators=(",", ":"))
    assert BUILT_IN.canonical == text.encode()
    assert BUILT_IN.digest == sha256(text.encode()).digest()


def test_the_document_read_back_is_the_same_policy() -> None:
    policy = replace(BUILT_IN, operations=(operation(tool="deploy_*"),))
    assert from_plain(Policy, json.loads(policy.canonical)) == policy


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict) and value:
        return [leaf for key, part in value.items() for leaf in leaves(part, (*path, key))]
    return [path]


@pytest.mark.parametrize("path", leaves(BUILT_IN.document))
def test_any_other_value_is_another_policy(path: tuple[str, ...]) -> None:
    """Also a value nothing else is derived from: it was in force, and a reader must know."""
    document = BUILT_IN.document
    part = document
    for key in path[:-1]:
        part = part[key]
    others: dict[str, Any] = {
        "effective": "2020-01-01",
        "enforcement": "enforce",
        "field_names": "ordinal",
        "required_text": "both",
        "required_proof": "status_check",
        "allowed_origins": ["https://id.example"],
        "modes": ["form"],
        "data_classes": ["health"],
        "prohibited_classes": ["health"],
        "effect": "off",
        "single_use": False,
        "operations": [],
    }
    old = part[path[-1]]
    new = others.get(path[-1], 7 if isinstance(old, int) else "off")
    if path[0] == "ttl":
        new = 7
    if path[0] == "receipt_fields":
        new = ["tenant"]
    if path[-1] == "operations":
        new = replace(BUILT_IN, operations=(operation(tool="x"),)).document["operations"]
    part[path[-1]] = new
    assert from_plain(Policy, document).digest != BUILT_IN.digest


@pytest.mark.parametrize(
    ("pattern", "method", "name", "expected"),
    [
        ({"tool": "deploy_*"}, "tools/call", "deploy_eu", True),
        ({"tool": "deploy_*"}, "tools/call", "deploy_", True),
        ({"tool": "deploy_*"}, "tools/call", "redeploy_eu", False),
        ({"tool": "deploy_?"}, "tools/call", "deploy_1", True),
        ({"tool": "deploy_?"}, "tools/call", "deploy_12", False),
        ({"tool": "a.b"}, "tools/call", "a.b", True),
        ({"tool": "a.b"}, "tools/call", "axb", False),
        ({"tool": "*"}, "tools/call", "two\nlines", True),
        ({"tool": "*"}, "tools/call", None, False),
        ({"tool": "deploy"}, "prompts/get", "deploy", False),
        ({"prompt": "deploy"}, "prompts/get", "deploy", True),
        ({"resource": "file:///etc/*"}, "resources/read", "file:///etc/passwd", True),
        ({"resource": "file:///etc/*"}, "resources/read", "file:///home/x", False),
        ({"tool": "deploy_(eu|us)", "match": Match.REGEX}, "tools/call", "deploy_us", True),
        ({"tool": "deploy_(eu|us)", "match": Match.REGEX}, "tools/call", "deploy_usa", False),
    ],
)
def test_a_pattern_covers_whole_names(
    pattern: dict[str, Any], method: str, name: str | None, expected: bool
) -> None:
    assert covered(pattern, method, name) is expected


def test_the_first_pattern_that_covers_a_name_counts() -> None:
    first = replace(operation(tool="deploy_eu"), purpose="first")
    policy = replace(BUILT_IN, operations=(first, operation(tool="*")))
    assert policy.rules_for("tools/call", "deploy_eu").purpose == "first"
    assert policy.rules_for("tools/call", "deploy_us").purpose == "covered"
    assert policy.rules_for(None, None) is policy.defaults


def test_a_pattern_takes_linear_time() -> None:
    """This one takes an engine that backtracks longer than the universe has existed."""
    assert not covered({"tool": "(a+)+b", "match": Match.REGEX}, "tools/call", "a" * 100_000)


def test_without_a_requirement_any_proof_is_accepted() -> None:
    assert all(BUILT_IN.defaults.accepts(proof) for proof in Proof)


@pytest.mark.parametrize("required", list(Proof))
def test_a_proof_is_accepted_if_it_is_at_least_as_strong_as_required(required: Proof) -> None:
    weakest_first = [
        Proof.SERVER_NOTIFICATION,
        Proof.OPERATION_RESULT,
        Proof.STATUS_CHECK,
        Proof.AUTHENTICATED_CALLBACK,
    ]
    rules = policy_with("defaults", required_proof=required).defaults
    accepted = [proof for proof in weakest_first if rules.accepts(proof)]
    assert accepted == weakest_first[weakest_first.index(required) :]


def test_a_finding_weighs_what_its_gate_says_unless_the_policy_says_otherwise() -> None:
    weights = {
        Gate.HARD: Severity.ERROR,
        Gate.PROTOCOL: Severity.WARNING,
        Gate.RECOVERY: Severity.WARNING,
        Gate.UX: Severity.INFO,
    }
    for name in FindingName:
        assert BUILT_IN.severity_of(name) is weights[name.gate]
        assert BUILT_IN.gate_of(name) is name.gate
    heavy = Weight(severity=Severity.ERROR, gate=Gate.HARD)
    policy = replace(BUILT_IN, findings={FindingName.REASK_LOOP: heavy})
    assert policy.severity_of(FindingName.REASK_LOOP) is Severity.ERROR
    assert policy.gate_of(FindingName.REASK_LOOP) is Gate.HARD
    assert policy.severity_of(FindingName.TOO_MANY_FIELDS) is Severity.INFO


def test_the_effect_of_a_finding_about_an_address_is_a_rule_of_url() -> None:
    for name, rule in URL_RULES.items():
        for effect in Effect:
            assert policy_with("url", **{rule: effect}).effect_of(name) is effect


def test_what_the_policy_says_nothing_of_is_warned_of() -> None:
    assert BUILT_IN.effect_of(FindingName.MISSING_DESCRIPTION) is Effect.WARN
    assert BUILT_IN.effect_of(FindingName.SECRET_FIELD) is Effect.BLOCK


def test_receipt_fields_are_those_of_every_outcome_and_of_this_one() -> None:
    policy = replace(BUILT_IN, receipt_fields={"every": ("mode",), "completed": ("proof",)})
    assert policy.required_fields(Outcome.COMPLETED) == ("mode", "proof")
    assert policy.required_fields(Outcome.DECLINED) == ("mode",)
    assert policy.required_fields(None) == ()


def test_words_are_what_the_file_has() -> None:
    document = BUILT_IN.document
    assert document["effective"] == BUILT_IN.effective.isoformat()
    assert from_plain(date | None, "2026-11-30") == date(2026, 11, 30)
    assert document["field_names"] == FieldNames.KEEP.value
