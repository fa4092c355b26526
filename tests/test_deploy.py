"""The examples in `deploy/`: they call commands as they are."""

from __future__ import annotations

import shlex
from configparser import ConfigParser
from pathlib import Path

import pytest
from command import run_here

UNITS = sorted((Path(__file__).parent.parent / "deploy" / "systemd").glob("*.service"))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_a_command_there_is(unit: Path, tmp_path: Path) -> None:
    read = ConfigParser(strict=True, interpolation=None)
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read(unit)
    service = read["Service"]
    program, command, *options = shlex.split(service["ExecStart"])
    assert program == "%h/.local/bin/receipts"
    said = run_here(tmp_path, command, "--help").out
    assert all(option in said for option in options)
    if service["Type"] == "notify":  # its watchdog waits longer than a broker may take
        assert "--follow" in options
        assert int(service["WatchdogSec"]) >= 120
