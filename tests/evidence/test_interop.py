"""Checkpoints and proofs, held to other implementations in both directions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from elicitation_receipts.evidence.checkpoint import Checkpoint
from elicitation_receipts.evidence.note import Note, VerifierKey, base64_bytes, sign
from elicitation_receipts.evidence.tree import (
    Frontier,
    Node,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    root_from_inclusion,
)
from elicitation_receipts.schemas.chain import leaf_hash

pytestmark = pytest.mark.slow

_SOURCE = Path(__file__).parent.parent / "support" / "go"


@pytest.fixture(scope="module")
def go(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of `tests/support/go`; skips, or fails, where it cannot be built."""
    program = tmp_path_factory.mktemp("go") / "interop"
    if shutil.which("go"):
        built = subprocess.run(
            ["go", "build", "-o", program, "."],
            cwd=_SOURCE,
            capture_output=True,
            text=True,
            check=False,
        )
        if built.returncode == 0:
            return program
        reason = built.stderr.strip()[-300:]
    else:
        reason = "Go is not installed"
    if os.environ.get("RECEIPTS_REQUIRE_GO") == "1":
        pytest.fail(f"cannot build the Go program: {reason}")
    pytest.skip(f"cannot build the Go program: {reason}")


def root_of(leaves: list[bytes]) -> bytes:
    tree = Frontier()
    for leaf in leaves:
        tree.append(leaf)
    return tree.root()


@pytest.mark.parametrize(("size", "index", "old"), [(1, 0, 1), (8, 7, 3), (61, 17, 43)])
def test_go_verifies_ours(go: Path, size: int, index: int, old: int) -> None:
    case = _ours(size, index, old)
    assert _check(go, case).stdout == "ok\n"
    case["inclusion" if case["inclusion"] else "old_root"] = _other(case)
    assert _check(go, case).returncode != 0


def test_we_verify_those_of_go(go: Path) -> None:
    made = subprocess.run([go, "make"], capture_output=True, text=True, check=True)
    case = json.loads(made.stdout)
    note = Note.parse(b64decode(case["note"]))
    key = VerifierKey.parse(case["verifier_key"])
    assert note.signer([key]) == key
    _, size, root = note.text.splitlines()
    leaves = [leaf_hash(b64decode(each)) for each in case["leaves"]]
    inclusion, consistency = (
        [b64decode(each) for each in case[name]] for name in ("inclusion", "consistency")
    )
    assert int(size) == len(leaves)
    assert root_of(leaves) == base64_bytes(root, 32)
    proved = root_from_inclusion(case["index"], len(leaves), leaves[case["index"]], inclusion)
    assert proved == root_of(leaves)
    old_root = b64decode(case["old_root"])
    assert is_consistent(case["old"], len(leaves), old_root, root_of(leaves), consistency)


def _ours(size: int, index: int, old: int) -> dict[str, Any]:
    contents = [f"receipt {number}".encode() for number in range(size)]
    leaves = [leaf_hash(each) for each in contents]
    nodes = [Node(0, leaf) for leaf in leaves]
    private = Ed25519PrivateKey.generate()
    note = sign(Checkpoint(uuid4(), size, root_of(leaves)).text, private)
    key = VerifierKey(note.signatures[0].name, private.public_key().public_bytes_raw())
    return {
        "verifier_key": str(key),
        "note": _text(bytes(note)),
        "leaves": [_text(each) for each in contents],
        "index": index,
        "inclusion": [_text(each) for each in inclusion_proof(index, size, nodes)],
        "old": old,
        "old_root": _text(root_of(leaves[:old])),
        "consistency": [_text(each) for each in consistency_proof(old, size, nodes)],
    }


def _other(case: dict[str, Any]) -> Any:
    if case["inclusion"]:
        return [_text(bytes(32)), *case["inclusion"][1:]]
    return _text(bytes(32))


def _check(go: Path, case: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [go, "check"], input=json.dumps(case), capture_output=True, text=True, check=False
    )


def _text(content: bytes) -> str:
    return b64encode(content).decode()
