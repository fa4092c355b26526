"""Wrap and unwrap: the commands, on files as clients have them, to receipts of a wrapped server."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from asking_client import SERVER, Client

from elicitation_receipts.schemas.spool import Spool

Receipts = Callable[..., subprocess.CompletedProcess[str]]

CONFIG = """{
  // servers of mine
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "s3cret-argument"],
      "env": {"TOKEN": "s3cret-token"}, // keep
    },
    "mail": {"command": "node"},
    "web": {"url": "https://me:s3cret-password@example.com/"},
  },
}
"""
#: The program as it is installed beside the interpreter that runs the tests.
PROGRAM = str(Path(sys.executable).with_name("receipts"))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "mcp.json"
    path.write_text(CONFIG)
    return path


def copy_of(config: Path, doing: str) -> Path:
    return config.with_name(f"{config.name}.before-{doing}")


def servers(config: Path) -> dict[str, dict[str, object]]:
    """Of a file whose comments have been taken out."""
    text = config.read_text()
    for comment in ("// servers of mine", "// keep"):
        text = text.replace(comment, "")
    loaded = json.loads("".join(text.split()).replace(",}", "}"))
    found: dict[str, dict[str, object]] = loaded["mcpServers"]
    return found


def test_shows_programs_and_lines_and_no_secret(receipts: Receipts, config: Path) -> None:
    done = receipts("wrap", str(config), "--dry-run")
    shown = done.stdout.splitlines()
    assert shown[0] == str(config)
    assert shown[1].startswith(f"line 4     files  npx → {PROGRAM} --home ")
    assert shown[1].endswith(" tap -- npx")
    assert shown[2].startswith("line 9     mail   node → ")
    assert shown[3].startswith("line 10    web    left: reached by URL")
    assert shown[4] == "nothing changed; would change 2 of 3 servers"
    assert "s3cret" not in done.stdout + done.stderr
    assert (done.returncode, config.read_text()) == (0, CONFIG)
    assert list(config.parent.glob("*.before*")) == []


def test_wrap_then_unwrap(receipts: Receipts, config: Path, home: Path) -> None:
    wrapped = receipts("wrap", str(config), "--yes")
    assert wrapped.returncode == 0
    assert "changed 2 of 3 servers; the file as it was: " in wrapped.stdout
    assert copy_of(config, "wrap").read_text() == CONFIG
    assert servers(config)["files"] == {
        "command": PROGRAM,
        "args": ["--home", str(home), "tap", "--", "npx", "-y", "s3cret-argument"],
        "env": {"TOKEN": "s3cret-token"},
    }
    before = config.read_text()
    again = receipts("wrap", str(config), "--yes")
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, "nothing to change")
    assert config.read_text() == before
    unwrapped = receipts("unwrap", str(config), "--yes")
    assert unwrapped.returncode == 0
    assert config.read_text() == CONFIG
    assert copy_of(config, "unwrap").read_text() == before
    assert "s3cret" not in wrapped.stdout + again.stdout + unwrapped.stdout


def test_in_a_pipe_it_shows_and_changes_nothing_without_yes(
    receipts: Receipts, config: Path
) -> None:
    done = receipts("wrap", str(config), stdin=b"y\n")
    assert done.returncode == 2
    assert done.stderr.startswith("receipts: confirmation_missing: ")
    assert "npx → " in done.stdout
    assert config.read_text() == CONFIG


@pytest.mark.parametrize(
    ("answer", "code", "changed"), [(b"y\n", 0, True), (b"n\n", 1, False), (b"\n", 1, False)]
)
def test_on_a_terminal_it_asks(
    config: Path, home: Path, answer: bytes, code: int, changed: bool
) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(
            sys.executable,
            [sys.executable, "-m", "elicitation_receipts.main", "wrap", str(config)],
        )
    said = b""
    while b"Change 2 of 3 servers? [y/N]" not in said:
        said += os.read(terminal, 65536)
    assert config.read_text() == CONFIG
    os.write(terminal, answer)
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code
    assert (config.read_text() != CONFIG) is changed


def test_only_the_servers_that_are_named(receipts: Receipts, config: Path) -> None:
    done = receipts("wrap", str(config), "--yes", "--server", "mail", "--server", "web")
    assert "changed 1 of 3 servers" in done.stdout
    assert servers(config)["files"]["command"] == "npx"
    assert servers(config)["mail"]["command"] == PROGRAM
    assert receipts("unwrap", str(config), "--yes", "--server", "files").returncode == 0
    assert servers(config)["mail"]["command"] == PROGRAM
    unknown = receipts("wrap", str(config), "--yes", "--server", "nail")
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("receipts: server_unknown: ")


def test_what_was_given_here_is_written_out_for_the_tap(
    receipts: Receipts, config: Path, home: Path
) -> None:
    home.mkdir(mode=0o700)
    (home / "receipts.toml").write_text('flow = "from-file"\n')
    receipts("wrap", str(config), "--server", "mail", "--yes", RECEIPTS_TENANT="acme")
    assert servers(config)["mail"]["args"] == [
        *["--home", str(home), "tap", "--tenant", "acme", "--", "node"]
    ]
    receipts("wrap", str(config), "--flow", "signup", "--yes")
    assert servers(config)["files"]["args"] == [
        *["--home", str(home), "tap", "--flow", "signup", "--", "npx", "-y", "s3cret-argument"]
    ]
    wrong = receipts("wrap", str(config), "--tenant", "No Tenant", "--yes")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("receipts: setting_invalid: ")


def test_a_home_that_every_tap_finds_is_not_written(
    receipts: Receipts, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECEIPTS_HOME")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    receipts("wrap", str(config), "--server", "mail", "--yes")
    assert servers(config)["mail"]["args"] == ["tap", "--", "node"]
    receipts("unwrap", str(config), "--yes")
    receipts("wrap", str(config), "--server", "mail", "--yes", XDG_DATA_HOME=str(config.parent))
    assert servers(config)["mail"]["args"] == [
        *["--home", str(config.parent / "elicitation-receipts"), "tap", "--", "node"]
    ]


def test_the_program_is_named_by_the_link_it_was_started_by(config: Path, home: Path) -> None:
    link = config.with_name("receipts")
    link.symlink_to(PROGRAM)
    subprocess.run([link, "wrap", config, "--yes"], check=True, capture_output=True)
    assert servers(config)["mail"]["command"] == str(link)


def test_names_from_the_file_do_not_command_the_terminal(receipts: Receipts, config: Path) -> None:
    config.write_text('{"servers": {"a\\u001b[2J": {"command": "x\\u0007"}}}')
    shown = receipts("wrap", str(config), "--dry-run").stdout
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "a\N{REPLACEMENT CHARACTER}[2J" in shown


@pytest.mark.parametrize("command", ["wrap", "unwrap"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{'mcpServers': {}}", "config_not_json"),
        ("[]", "config_no_servers"),
        ('{"mcpServers": {}}', "config_no_servers"),
        ('{"servers": {"a": {}, "a": {}}}', "config_ambiguous"),
    ],
)
def test_a_file_it_cannot_use_is_named_and_left(
    receipts: Receipts, config: Path, command: str, text: str, reason: str
) -> None:
    config.write_text(text)
    done = receipts(command, str(config), "--yes")
    assert done.returncode == 3
    assert done.stderr.startswith(f"receipts: {reason}: ")
    assert done.stderr.count("\n") == 1
    assert config.read_text() == text
    assert receipts(command, str(config.parent), "--yes").stderr.startswith(
        "receipts: config_not_a_file: "
    )


def test_a_wrapped_server_started_as_a_client_does_leaves_receipts(
    receipts: Receipts, home: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, *args = SERVER
    config.write_text(json.dumps({"mcpServers": {"asking": {"command": command, "args": args}}}))
    receipts("wrap", str(config), "--flow", "signup", "--yes")
    server = json.loads(config.read_text())["mcpServers"]["asking"]
    for name in set(os.environ) - {"HOME"}:  # a client started from a desktop has no more
        monkeypatch.delenv(name)
    with Client([server["command"], *server["args"]]) as client:
        client.answer(client.ask(), action="accept", content={"city": "Quetzaltenango"})
        assert client.end()[0] == 7
    with Spool.open(home, create=False) as spool:
        assert len(spool.read(0, 100)) == 5
