"""Fixtures of the command line's tests: `receipts` in a home of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from elicitation_receipts import main


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that does not exist yet; no other setting is given."""
    for name in list(os.environ):
        if name.startswith(("RECEIPTS_", "OTEL_")):
            monkeypatch.delenv(name)
    path = tmp_path / "home"
    monkeypatch.setenv("RECEIPTS_HOME", str(path))
    return path


@pytest.fixture
def receipts(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the entry point in this process; keywords are variables."""

    def run(
        *arguments: str, stdin: bytes = b"", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["receipts", *arguments])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            for name, value in variables.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as exited:
                main.run()
        said = capsys.readouterr()
        code = exited.value.code
        return subprocess.CompletedProcess(
            arguments, code if isinstance(code, int) else 0, said.out, said.err
        )

    return run
