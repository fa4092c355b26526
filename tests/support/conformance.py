"""The MCP conformance suite: its scenarios run against a server or a client, and what it found.

It needs Node.js 22, which comes as a package of npm's as the suite itself does.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import platformdirs

from elicitation_receipts.schemas.lock import FileLock

#: The first has the revisions of 2025, the second 2026-07-28.
OLD_VERSION, NEW_VERSION = "0.1.16", "0.2.0-alpha.12"
#: What each is installed as.
OLD, NEW = "conformance-2025", "conformance-2026"
PACKAGES: Final = {
    OLD: f"npm:@modelcontextprotocol/conformance@{OLD_VERSION}",
    NEW: f"npm:@modelcontextprotocol/conformance@{NEW_VERSION}",
    "node": "22",
}
#: Members that differ from run to run. A state is sealed anew each time.
_OF_THE_RUN: Final = {"timestamp", "requestState", "requestStateSent", "requestStateReceived"}
_INSTALLS_WITHIN: Final = 300
_RUNS_WITHIN: Final = 90


class ConformanceError(Exception):
    """The suite cannot be had here; the message says why."""


@dataclass(frozen=True)
class Suite:
    """Both versions of the suite, installed under ``folder``."""

    folder: Path

    @classmethod
    def install(cls) -> Suite:
        """Once per version into the user's cache. Raises :class:`ConformanceError`."""
        cache = platformdirs.user_cache_path("elicitation-receipts")
        suite = cls(cache / f"conformance-{OLD_VERSION}-{NEW_VERSION}")
        suite.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(suite.folder / "lock"):
            if not suite._is_there():
                suite._fetch()
        return suite

    def _fetch(self) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise ConformanceError("npm (Node.js) is not installed")
        packages = [f"{name}@{package}" for name, package in PACKAGES.items()]
        try:
            installed = subprocess.run(
                [npm, "install", "--no-audit", "--no-fund", "--prefix", self.folder, *packages],
                capture_output=True,
                text=True,
                timeout=_INSTALLS_WITHIN,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ConformanceError(f"npm has not installed it in {error.timeout} s") from error
        if not self._is_there():
            raise ConformanceError(f"npm could not install it: {installed.stderr[-500:]}")

    def server(self, package: str, scenario: str, url: str, output: Path) -> Any:
        """What a scenario finds of the server at ``url``."""
        return self._run(package, ["server", "--scenario", scenario, "--url", url], output)

    def client(self, package: str, scenario: str, command: list[str], output: Path) -> Any:
        """What a scenario finds of a client, told the suite's address as its last word."""
        words = " ".join(command)
        return self._run(package, ["client", "--scenario", scenario, "--command", words], output)

    def _run(self, package: str, arguments: list[str], output: Path) -> Any:
        ended = subprocess.run(
            [self._node, self._entry(package), *arguments, "--output-dir", output],
            env=os.environ | {"NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=_RUNS_WITHIN,
            check=False,
        )
        written = list(output.glob("**/checks.json"))
        assert len(written) == 1, ended.stdout + ended.stderr
        return _verdicts(json.loads(written[0].read_text()))

    @property
    def _node(self) -> Path:
        return self.folder / "node_modules" / ".bin" / "node"

    def _entry(self, package: str) -> Path:
        return self.folder / "node_modules" / package / "dist" / "index.js"

    def _is_there(self) -> bool:
        needed = [self._node, self._entry(OLD), self._entry(NEW)]
        return all(path.exists() for path in needed)


def _verdicts(checks: list[dict[str, Any]]) -> Any:
    """What of a run's checks must be the same in every run: all but logs, times and states."""
    return [_lasting(check) for check in checks if check["status"] != "INFO"]


def _lasting(found: Any) -> Any:
    match found:
        case Mapping():
            return {name: _lasting(one) for name, one in found.items() if name not in _OF_THE_RUN}
        case list():
            return [_lasting(one) for one in found]
        case _:
            return found
