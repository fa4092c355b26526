"""Main: what a user of `receipts` meets, whatever goes wrong."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from elicitation_receipts import __version__

Receipts = Callable[..., subprocess.CompletedProcess[str]]


def test_version(receipts: Receipts) -> None:
    assert receipts("--version").stdout == f"receipts {__version__}\n"


def test_every_command_has_help_and_the_list_shows_it(receipts: Receipts) -> None:
    listed = receipts("--help").stdout
    for command in (
        *("demo", "tap", "wrap", "unwrap", "ship", "land", "report"),
        *("status", "schema", "settings"),
    ):
        assert f" {command} " in listed
        shown = receipts(command, "--help")
        assert (shown.returncode, shown.stderr) == (0, "")
        assert f"receipts {command}" in shown.stdout


def test_help_of_a_setting_names_option_variable_and_default(receipts: Receipts) -> None:
    shown = " ".join(receipts("tap", "--help").stdout.replace("│", " ").split())
    assert "--when-full drop|block" in shown
    assert "[RECEIPTS_BLOCK_TIMEOUT; default: 10.0]" in shown


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["--nonsense"], ["schema", "show", "--version", "x"], ["tap"]]
)
def test_wrong_usage_exits_2_and_says_so(receipts: Receipts, arguments: list[str]) -> None:
    done = receipts(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Usage" in done.stderr


def test_a_named_error_is_one_line_and_exit_3(receipts: Receipts, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = receipts("--home", str(tmp_path / "file"), "tap", "--", "true")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("receipts: home_not_a_directory: ")
    assert done.stderr.count("\n") == 1


def test_a_wrong_setting_exits_2(receipts: Receipts, home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "receipts.toml").write_text("nonsense = 1\n")
    done = receipts("settings")
    assert done.returncode == 2
    assert done.stderr.startswith("receipts: setting_unknown: ")


class TestUnforeseen:
    """An error nobody foresaw, planted in place of a command."""

    RUN = """
import sys
from elicitation_receipts import main, show_settings

def fail(*_):
    raise {error}

show_settings.Invocation.load_settings = fail
sys.argv = ["receipts", "settings"]
main.run()
"""

    def run(self, error: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", self.RUN.format(error=error)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **env},
        )

    def test_names_its_type_and_nothing_else(self) -> None:
        done = self.run("LookupError('a-typed-value')")
        assert done.returncode == 3
        assert done.stderr.startswith("receipts: internal_error: LookupError; ")
        assert done.stderr.count("\n") == 1
        assert "a-typed-value" not in done.stderr + done.stdout

    def test_shows_where_when_asked(self) -> None:
        done = self.run("LookupError('a-typed-value')", RECEIPTS_DEBUG="1")
        assert "Traceback" in done.stderr
        assert "a-typed-value" in done.stderr

    def test_a_refusal_of_the_system_says_what_it_is(self) -> None:
        done = self.run("OSError(28, 'No space left on device', 'a-typed-value')")
        assert done.returncode == 3
        assert done.stderr.startswith("receipts: system_error: No space left on device; ")
        assert "a-typed-value" not in done.stderr

    def test_an_interruption_is_no_error(self) -> None:
        done = self.run("KeyboardInterrupt")
        assert (done.returncode, done.stderr) == (130, "")

    def test_nor_is_one_before_the_command_is_even_there(self) -> None:
        program = """
import sys
from elicitation_receipts.__main__ import run

class Interrupt:
    def find_spec(self, name, *_):
        if name == "elicitation_receipts.main":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
run()
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (130, b"")


def test_a_reader_that_leaves_is_no_error(home: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "elicitation_receipts.main", "schema", "show"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_settings_shows_values_and_where_they_come_from(receipts: Receipts, home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "receipts.toml").write_text('tenant = "acme"\nkafka_ssl_password = "hunter2"\n')
    done = receipts("settings", RECEIPTS_FLOW="signup", RECEIPTS_KAFKA_SASL_PLAIN_PASSWORD="pw")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["home", str(home)] in lines
    assert ["tenant", "acme", "receipts.toml"] in lines
    assert ["flow", "signup", "variable"] in lines
    assert ["block_timeout", "10.0", "default"] in lines
    assert ["kafka_ssl_password", "***", "receipts.toml"] in lines
    assert ["kafka_sasl_plain_password", "***", "variable"] in lines
    assert "hunter2" not in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_knows_the_commands(home: Path, shell: str) -> None:
    env = {
        "_RECEIPTS_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": "receipts sch",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": "receipts sch",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(
        [sys.executable, "-m", "elicitation_receipts.main"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )
    assert "schema" in done.stdout
    assert "ship" not in done.stdout


def test_no_colours_or_bars_without_a_terminal(receipts: Receipts) -> None:
    assert "\x1b" not in receipts("--help").stdout
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(sys.executable, [sys.executable, "-m", "elicitation_receipts.main", "--help"])
    said = b""
    while True:
        try:
            said += (more := os.read(terminal, 65536))
        except OSError:
            break
        if not more:
            break
    os.close(terminal)
    os.waitpid(pid, 0)
    assert b"\x1b[" in said
