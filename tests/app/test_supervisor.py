"""What systemd hears of a service, over a real notification socket."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sample import PRODUCER

from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.supervisor import supervised


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    """What listens at `NOTIFY_SOCKET`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(60)
        yield listening


@pytest.mark.parametrize("command", [["land"], ["ship", "--kafka", "127.0.0.1:1"]], ids=" ".join)
def test_a_service_is_ready_alive_and_stops(
    tmp_path: Path, systemd: socket.socket, command: list[str]
) -> None:
    home = tmp_path / "home"
    with Spool.open(home) as spool:
        spool.stream_for("default", PRODUCER)
    with subprocess.Popen(
        [sys.executable, "-m", "elicitation_receipts", "--home", home, *command, "--follow"],
        env=os.environ | {"NOTIFY_SOCKET": systemd.getsockname(), "WATCHDOG_USEC": "200000"},
        stdout=subprocess.PIPE,
    ) as service:
        assert [systemd.recv(100) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        service.send_signal(signal.SIGTERM)
        while (heard := systemd.recv(100)) == b"WATCHDOG=1":
            pass
        assert heard == b"STOPPING=1"
        service.communicate()
    assert service.returncode == 0


def test_a_watchdog_of_another_process_is_not_fed(systemd: socket.socket) -> None:
    environ = {"NOTIFY_SOCKET": systemd.getsockname(), "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1"}
    with supervised(environ) as turn:
        for _ in range(3):
            turn()
    assert [systemd.recv(100) for _ in range(2)] == [b"READY=1", b"STOPPING=1"]


def test_who_does_not_listen_is_not_told(tmp_path: Path) -> None:
    for environ in ({}, {"NOTIFY_SOCKET": str(tmp_path / "nobody")}):
        with supervised(environ) as turn:
            turn()
