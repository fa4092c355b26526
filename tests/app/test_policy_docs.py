"""docs/policy.md says what is so: its files load, and what it names is there."""

from __future__ import annotations

import re
from pathlib import Path

from elicitation_receipts.producers.fixtures.fixture import read, shipped
from elicitation_receipts.producers.fixtures.run import run
from elicitation_receipts.producers.policy import BUILT_IN, load

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
POLICY, FIXTURE = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
DEMANDS = TEXT.partition("| demanded | held by |")[2].partition("**What cannot be seen")[0]


def test_its_examples_work(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    policy = load(tmp_path / "policy.yaml")
    assert policy.rules_for("tools/call", "transfer").consequential
    (tmp_path / "fixture.yaml").write_text(FIXTURE)
    (fixture,) = read(tmp_path / "fixture.yaml")
    assert run(fixture, BUILT_IN).differences == ()


def test_whatever_it_says_holds_a_demand_is_there() -> None:
    fixtures = {fixture.name for fixture in shipped()}
    tests = "\n".join(file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))
    for name in re.findall(r"`([^`]+)`", DEMANDS):
        if "/" in name:
            assert (ROOT / name).is_file(), name
        elif name.startswith("test_"):
            assert f"def {name}(" in tests, name
        elif name.endswith("…"):
            assert any(one.startswith(name.removesuffix("…")) for one in fixtures), name
        elif "_" in name:
            assert name in fixtures, name
