"""Architecture: which folder may import which, and what a process must not load."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "elicitation_receipts"

#: Folder, and the folders it may import from (itself apart). `app` may import from all.
MAY_IMPORT = {
    "schemas": set[str](),
    "producers": {"schemas"},
    "consumers": {"schemas"},
    "queries": {"schemas"},
    "evidence": {"schemas"},
}


def imported(file: Path) -> Iterator[str]:
    """The full names of modules of ours that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == PACKAGE)


def folder_of(module: str) -> str:
    """`elicitation_receipts.schemas.codec` → `schemas`; anything else of the root is `app`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in MAY_IMPORT else "app"


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_folders_import_only_what_they_may(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    forbidden = [
        f"{file.relative_to(ROOT)} imports {module}"
        for file in files
        for module in imported(file)
        if folder_of(module) not in {folder} | MAY_IMPORT[folder]
    ]
    assert forbidden == []


@pytest.mark.parametrize("module", ["io", "pathlib", "socket", "subprocess", "time"])
def test_the_pure_core_reads_no_clock_file_or_process(module: str) -> None:
    importers = [
        file.name
        for file in (ROOT / "producers" / "wire").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Import) and module in [alias.name for alias in node.names])
        or (isinstance(node, ast.ImportFrom) and node.module == module)
    ]
    assert importers == []


def test_every_file_says_in_its_first_line_what_it_is_for() -> None:
    folders = ["app", *MAY_IMPORT, "tests"]
    silent = [
        str(file.relative_to(ROOT))
        for folder in folders
        for file in (ROOT / folder).rglob("*.py")
        if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_a_tap_loads_neither_kafka_nor_duckdb() -> None:
    code = (
        "import sys, elicitation_receipts.main, elicitation_receipts.tap; "
        "print(*{'kafka', 'duckdb', 'rich', 'pyarrow', 'mcp'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
