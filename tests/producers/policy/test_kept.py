"""Kept policies: each by its digest, whole, and readable as a policy file."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from policies import policy_with

from elicitation_receipts.producers.policy import BUILT_IN, load
from elicitation_receipts.producers.policy.kept import keep, read_kept
from elicitation_receipts.schemas.errors import PolicyError


def test_a_kept_policy_is_checked_by_its_name_and_loads_as_it_was(tmp_path: Path) -> None:
    policy = policy_with("form", max_fields=3)
    path = keep(policy, tmp_path / "policies")
    assert path.name == f"{sha256(path.read_bytes()).hexdigest()}.json"
    assert load(path) == policy
    assert read_kept(tmp_path / "policies", policy.digest) == policy.canonical
    assert read_kept(tmp_path / "policies", BUILT_IN.digest) is None


def test_each_is_kept_once_and_a_damaged_one_anew(tmp_path: Path) -> None:
    path = keep(BUILT_IN, tmp_path)
    before = path.stat().st_ino
    assert keep(BUILT_IN, tmp_path).stat().st_ino == before
    path.write_bytes(path.read_bytes()[:-1])
    assert read_kept(tmp_path, BUILT_IN.digest) is None
    keep(BUILT_IN, tmp_path)
    assert read_kept(tmp_path, BUILT_IN.digest) == BUILT_IN.canonical


def test_where_it_cannot_be_kept_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "policies").write_text("a file")
    with pytest.raises(PolicyError) as caught:
        keep(BUILT_IN, tmp_path / "policies")
    assert caught.value.reason == "policy_not_kept"
