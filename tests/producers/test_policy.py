"""The built-in policy: numbers that stand behind a receipt, known by their digest."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from hashlib import sha256
from typing import Any

import pytest

from elicitation_receipts.producers.policy import BUILT_IN, Policy
from elicitation_receipts.schemas.vocabulary import FindingName, Gate, Proof, Severity


def test_the_default_numbers() -> None:
    assert BUILT_IN.automatic_below_ms == 250
    assert BUILT_IN.max_fields == 10
    assert BUILT_IN.max_length == 1_000
    assert BUILT_IN.max_options == 100
    assert BUILT_IN.reask_loop_round == 4
    assert BUILT_IN.reask_window_s == 600
    assert BUILT_IN.wait_s == 3_600
    assert BUILT_IN.required_proof is None


def test_the_digest_is_that_of_the_canonical_form() -> None:
    # RFC 8785 of plain ASCII words and whole numbers is what sorted, compact JSON gives.
    text = json.dumps(asdict(BUILT_IN), sort_keys=True, separators=(",", ":"))
    assert BUILT_IN.digest == sha256(text.encode()).digest()


@pytest.mark.parametrize("name", [field.name for field in fields(Policy)])
def test_any_other_number_is_another_policy(name: str) -> None:
    value = getattr(BUILT_IN, name)
    other: Any = {str: "other", int: 7, type(None): Proof.STATUS_CHECK}[type(value)]
    assert replace(BUILT_IN, **{name: other}).digest != BUILT_IN.digest
    assert replace(BUILT_IN).digest == BUILT_IN.digest


def test_without_a_requirement_any_proof_is_accepted() -> None:
    assert all(BUILT_IN.accepts(proof) for proof in Proof)


@pytest.mark.parametrize("required", list(Proof))
def test_a_proof_is_accepted_if_it_is_at_least_as_strong_as_required(required: Proof) -> None:
    weakest_first = [
        Proof.SERVER_NOTIFICATION,
        Proof.OPERATION_RESULT,
        Proof.STATUS_CHECK,
        Proof.AUTHENTICATED_CALLBACK,
    ]
    accepted = [proof for proof in weakest_first if Policy(required_proof=required).accepts(proof)]
    assert accepted == weakest_first[weakest_first.index(required) :]


def test_a_finding_weighs_what_its_gate_says() -> None:
    weights = {
        Gate.HARD: Severity.ERROR,
        Gate.PROTOCOL: Severity.WARNING,
        Gate.RECOVERY: Severity.WARNING,
        Gate.UX: Severity.INFO,
    }
    for name in FindingName:
        assert BUILT_IN.severity(name) is weights[name.gate]
