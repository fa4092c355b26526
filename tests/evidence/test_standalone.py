"""The verifier in one file, in a process of its own, beside `receipts verify` on every bundle."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attacks import ATTACKS, options
from scene import Scene

from elicitation_receipts.evidence import standalone

pytestmark = pytest.mark.slow

#: The attacks that are made on a bundle.
_ON_BUNDLES = [name for name in ATTACKS if "bundle" in name or "schema file" in name]
#: Python as it comes: no package of ours, nor of anybody else.
_BARE = [sys.executable, "-I", "-S"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene.build(tmp_path_factory.mktemp("scene"))


def run(bundle: str, *arguments: str, python: list[str] | None = None) -> tuple[int, Any]:
    """The exit code, and what was printed as JSON."""
    program = [*(python or [sys.executable, "-I"]), standalone.__file__]
    done = subprocess.run(
        [*program, bundle, *arguments, "--json"], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def assert_the_same(scene: Scene, bundle: str, *arguments: str) -> int:
    ours = scene.verify(bundle, *arguments)
    code, said = run(bundle, *arguments)
    assert code == ours.code
    assert {check: verdict for check, (verdict, _) in said["answers"].items()} == ours.verdicts
    found = {(each["check"], each["class"]) for each in said["findings"]}
    # Our own verifier reads by the schemas it brings, this one by those in the bundle: with
    # another schema file it knows the receipts no more.
    if ("integrity", "schema_mismatch") in found:
        found.discard(("integrity", "unknown_fingerprint"))
    assert found == ours.found
    return code


def test_a_bundle_nobody_touched(whole: Scene) -> None:
    bundle = str(whole.bundle)
    assert assert_the_same(whole, bundle) == 0
    pinned = ("--keys", str(whole.pins), "--as-of", "2026-01-01")
    assert assert_the_same(whole, bundle, *pinned, "--against", bundle) == 0
    assert assert_the_same(whole, bundle, "--as-of", "2100-01-01") == 1
    later = str(whole.evidence / "registry.note")
    assert assert_the_same(whole, bundle, "--against", later) == 1


@pytest.mark.parametrize("name", _ON_BUNDLES)
def test_an_attack_has_the_same_verdicts(name: str, whole: Scene, tmp_path: Path) -> None:
    scene = whole.copy(tmp_path / "scene")
    attack = ATTACKS[name]
    [bundle] = attack.make(scene)
    assert assert_the_same(scene, bundle, *options(attack, scene)) == 1


def test_a_part_of_a_stream(whole: Scene, tmp_path: Path) -> None:
    scene = whole.copy(tmp_path / "scene")
    scene.run("bundle", "--since", "2026-11-01", "--output", str(scene.bundle))
    assert assert_the_same(scene, str(scene.bundle), "--keys", str(scene.pins)) == 0


def test_without_any_package_signatures_are_not_checked(whole: Scene) -> None:
    code, said = run(str(whole.bundle), python=_BARE)
    assert code == 0
    assert said["answers"]["authenticity"][0] == "not checked"
    assert said["answers"]["integrity"][0] == "holds"
    code, _ = run(str(whole.bundle), "--keys", str(whole.pins), python=_BARE)
    assert code == 4  # it was asked for, and cannot be said


def test_it_is_in_every_bundle_as_it_is_here(whole: Scene, tmp_path: Path) -> None:
    subprocess.run(["tar", "-xf", whole.bundle, "-C", tmp_path], check=True)
    assert (tmp_path / "verify.py").read_bytes() == Path(standalone.__file__).read_bytes()
