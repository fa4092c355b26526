"""``receipts proxy`` on the command line: what it takes, and how it starts and stops."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest


def command(home: Path, *options: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "elicitation_receipts.main",
        "--home",
        str(home),
        "proxy",
        *options,
    ]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--upstream", "ftp://server.example"), "upstream_invalid"),
        (("--upstream", "http://me:secret@server.example/mcp"), "upstream_invalid"),
        (("--upstream", "http://server.example:99999/mcp"), "upstream_invalid"),
        (("--upstream", "http://server.example", "--listen", "8080"), "listen_invalid"),
        (("--upstream", "http://server.example", "--listen", "127.0.0.1:x"), "listen_invalid"),
        (
            ("--upstream", "http://server.example/mcp", "--public-url", "https://me.example/a"),
            "public_url_invalid",
        ),
    ],
)
def test_what_it_cannot_take_is_named_and_not_repeated(
    tmp_path: Path, options: tuple[str, ...], name: str
) -> None:
    done = subprocess.run(
        command(tmp_path / "home", *options), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"receipts: {name}: ")
    assert "secret" not in done.stderr
    assert not (tmp_path / "home").exists()


def test_a_place_that_is_taken_is_named(tmp_path: Path) -> None:
    options = ("--upstream", "http://127.0.0.1:1/mcp")
    with subprocess.Popen(
        command(tmp_path / "home", *options), stderr=subprocess.PIPE, text=True
    ) as first:
        assert first.stderr is not None
        place = first.stderr.readline().split("//")[1].split("/")[0]
        second = subprocess.run(
            command(tmp_path / "home", *options, "--listen", place),
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 3
        assert second.stderr.startswith("receipts: listen_failed: ")
        first.send_signal(signal.SIGTERM)
        assert (first.wait(20), first.stderr.read()) == (0, "")


def test_it_says_when_others_can_reach_it(tmp_path: Path) -> None:
    options = ("--upstream", "http://127.0.0.1:1/mcp", "--listen", "0.0.0.0:0")
    with subprocess.Popen(
        command(tmp_path / "home", *options), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("receipts: listens on 0.0.0.0: ")
        assert process.stderr.readline().startswith("receipts: proxy at http://0.0.0.0:")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
