"""The table of failures: each row names a test, and there is that test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROWS = [
    line
    for line in (ROOT / "docs" / "failures.md").read_text().splitlines()
    if line.count("|") == 5 and not line.startswith(("| what fails", "|---"))
]


def test_every_row_names_a_test_there_is() -> None:
    assert len(ROWS) > 30
    for row in ROWS:
        named = re.search(r"\| `(tests/[\w/]+\.py)::([\w:]+)` \|$", row)
        assert named is not None, row
        tree = ast.parse((ROOT / named[1]).read_text())
        there_are = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert named[2].split("::")[-1] in there_are, row
