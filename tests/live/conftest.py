"""Fixtures of the live tests: a tap command, what it left in its spool, and every Python SDK."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from site import getsitepackages

import pytest

from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool

#: Each SDK, and what it needs beside us. None: what is installed for the tests anyway.
SDKS = {"v2": None, "v1": "mcp==1.30.*", "fastmcp": "fastmcp==4.2.*"}


@pytest.fixture(scope="session")
def tap() -> Callable[..., list[str]]:
    """The command that stands a tap with a home in front of a server's command."""

    def command(home: Path, *server: str) -> list[str]:
        module = "elicitation_receipts.main"
        return [sys.executable, "-m", module, "--home", str(home), "tap", "--", *server]

    return command


@pytest.fixture(scope="session")
def read_spool() -> Callable[[Path], list[Receipt]]:
    """The receipts about elicitations in a home's spool, in the order they were written."""

    def read(home: Path) -> list[Receipt]:
        with Spool.open(home, create=False) as spool:
            receipts = [decode(stored.message) for stored in spool.read(0, 10_000)]
        return [receipt for receipt in receipts if receipt.elicitation_id is not None]

    return read


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """An interpreter that has an SDK, and us; skips where it cannot be installed."""
    made: dict[str, str] = {}

    def interpreter(sdk: str) -> str:
        requirement = SDKS[sdk]
        if requirement is None:
            return sys.executable
        if sdk not in made:
            made[sdk] = install(tmp_path_factory.mktemp(sdk), requirement)
        return made[sdk]

    return interpreter


def install(folder: Path, requirement: str) -> str:
    """An environment with the SDK, and behind it everything that is installed here."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, requirement], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot install {requirement}: {done.stderr.strip().splitlines()[-1]}")
    places = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.run([python, "-c", places], capture_output=True, text=True, check=True)
    behind = "".join(f"import site; site.addsitedir({place!r})\n" for place in getsitepackages())
    (Path(own.stdout.strip()) / "behind.pth").write_text(behind)
    return python
