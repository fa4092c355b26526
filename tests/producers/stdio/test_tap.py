"""Tap: a client and a server cannot tell that it is there. Real processes, real pipes."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import bare_tap
import pytest

from elicitation_receipts.producers.stdio.tap import Tap
from elicitation_receipts.schemas.errors import ReceiptsError

PATIENCE = 60.0  # seconds until a test gives up; nothing here takes longer than a second or two

#: Sends back what it gets, cut differently, and a line of its own on either stream.
ECHO = """
    import os, sys
    os.write(2, b"server: up\\n")
    while chunk := os.read(0, 997):
        rest = memoryview(chunk)
        while rest:
            rest = rest[os.write(1, rest[:331]):]
    os.write(2, b"server: done\\n")
"""


def python(source: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(source)]


def tap(observer: str, command: list[str]) -> list[str]:
    return [sys.executable, bare_tap.__file__, observer, *command]


@contextlib.contextmanager
def running(
    command: list[str], *, env: dict[str, str] | None = None, start_new_session: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env={**os.environ, **(env or {})},
        start_new_session=start_new_session,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()  # type: ignore[union-attr]


def line_from(process: subprocess.Popen[bytes]) -> bytes:
    """The next line on standard output, read byte by byte: nothing is held back."""
    assert process.stdout is not None
    line = b""
    deadline = time.monotonic() + PATIENCE
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], deadline - time.monotonic())
        assert ready, f"no line within {PATIENCE} s, only {line!r}"
        byte = os.read(process.stdout.fileno(), 1)
        if not byte:
            break
        line += byte
    return line


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "condition never became true"
        time.sleep(0.01)


def converse(command: list[str], traffic: bytes, **env: str) -> tuple[int, bytes, bytes]:
    done = subprocess.run(
        command,
        input=traffic,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, **env},
    )
    return done.returncode, done.stdout, done.stderr


def random_traffic(seed: int, lines: int = 200) -> bytes:
    rng = random.Random(seed)
    ends = [b"\n", b"\n", b"\n", b"\r\n", b"\n\n"]
    return b"".join(
        rng.randbytes(rng.choice([0, 1, 20, 300, 5000])).replace(b"\n", b"") + rng.choice(ends)
        for _ in range(lines)
    )


class TestBytes:
    @pytest.mark.parametrize("seed", range(4))
    def test_both_ways_as_without_a_tap(self, seed: int) -> None:
        traffic = random_traffic(seed)
        assert converse(tap("Passes", python(ECHO)), traffic) == converse(python(ECHO), traffic)

    @pytest.mark.parametrize("limit", ["1", "100", "70000"])
    def test_lines_over_the_limit_pass_unread(self, limit: str, tmp_path: Path) -> None:
        traffic = random_traffic(7) + b"x" * 300_000 + b"\n" + b"y" * 300_000
        told = tmp_path / "told"
        _, out, _ = converse(
            tap("Passes", ["cat"]),
            traffic,
            TAP_LIMIT=limit,
            TAP_TOLD=str(told),
        )
        assert out == traffic
        *lines, last = traffic.split(b"\n")
        longer = sum(len(line) + 1 > int(limit) for line in lines) + (len(last) > int(limit))
        told_of = [line for line in told.read_text().splitlines() if line.startswith("oversized")]
        assert sorted(told_of) == ["oversized c2s"] * longer + ["oversized s2c"] * longer

    def test_a_large_message(self) -> None:
        traffic = b'{"x":"' + b"a" * 8_000_000 + b'"}\n'
        assert converse(tap("Passes", ["cat"]), traffic) == (0, traffic, b"")

    def test_half_a_line_at_the_end_passes_and_is_seen(self, tmp_path: Path) -> None:
        told = tmp_path / "told"
        traffic = b"whole\nhal"
        assert converse(tap("Passes", ["cat"]), traffic, TAP_TOLD=str(told))[1] == traffic
        lines = [
            f"line {way} {part.hex()}" for way in ("c2s", "s2c") for part in (b"whole\n", b"hal")
        ]
        assert sorted(told.read_text().splitlines()) == sorted([*lines, "close"])

    def test_a_line_goes_on_while_the_next_is_not_finished(self) -> None:
        with running(tap("Passes", ["cat"])) as process:
            assert process.stdin is not None
            process.stdin.write(b"one\ntw")
            assert line_from(process) == b"one\n"
            process.stdin.write(b"o\n")
            assert line_from(process) == b"two\n"

    def test_thousands_of_lines_at_once_both_ways(self) -> None:
        traffic = b'{"jsonrpc":"2.0","method":"ping"}\n' * 50_000
        started = time.monotonic()
        assert converse(tap("Passes", ["cat"]), traffic)[1] == traffic
        assert time.monotonic() - started < 10

    def test_an_observer_can_answer_in_the_other_direction(self) -> None:
        with running(tap("AnswersPing", ["cat"])) as process:
            assert process.stdin is not None
            process.stdin.write(b"ping\nhello\n")
            assert {line_from(process), line_from(process)} == {b"pong\n", b"hello\n"}

    def test_a_blocked_direction_leaves_the_other_one_free(self) -> None:
        talks = "import time\nfor i in range(3): print(i, flush=True); time.sleep(.05)\ninput()"
        with running(tap("BlocksClient", python(talks))) as process:
            assert process.stdin is not None
            process.stdin.write(b"held back\n")
            assert [line_from(process) for _ in range(3)] == [b"0\n", b"1\n", b"2\n"]

    def test_standard_error_is_the_very_same_file(self, tmp_path: Path) -> None:
        with (tmp_path / "err").open("wb") as err:
            done = subprocess.run(
                tap("Passes", python("import os; s = os.fstat(2); print(s.st_dev, s.st_ino)")),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=err,
                check=True,
            )
            stat = os.fstat(err.fileno())
        assert done.stdout.split() == [b"%d" % stat.st_dev, b"%d" % stat.st_ino]

    def test_a_client_with_non_blocking_pipes(self) -> None:
        ours, theirs = os.pipe()
        os.set_blocking(theirs, False)
        with subprocess.Popen(
            tap("Passes", python("import os; os.write(1, b'x' * 1_000_000 + b'\\n')")),
            stdin=subprocess.DEVNULL,
            stdout=theirs,
        ):
            os.close(theirs)
            time.sleep(0.2)  # the pipe fills up
            with os.fdopen(ours, "rb") as stream:
                assert len(stream.read()) == 1_000_001


class TestEnds:
    @pytest.mark.parametrize("code", [0, 1, 3, 77, 255])
    def test_exit_code(self, code: int) -> None:
        assert converse(tap("Passes", ["sh", "-c", f"exit {code}"]), b"")[0] == code

    @pytest.mark.parametrize("name", ["KILL", "TERM", "SEGV", "PIPE", "USR1"])
    def test_dies_of_the_signal_the_command_died_of(self, name: str) -> None:
        command = tap("Passes", ["sh", "-c", f"kill -{name} $$"])
        assert converse(command, b"") == (-signal.Signals[f"SIG{name}"], b"", b"")

    def test_what_was_said_before_the_end_arrives(self) -> None:
        source = "import os; os.write(1, b'x' * 60_000); os.kill(os.getpid(), 9)"
        assert converse(tap("Passes", python(source)), b"") == (-9, b"x" * 60_000, b"")

    def test_end_of_input_reaches_the_command(self) -> None:
        source = "import sys; sys.stdin.read(); print('saw the end')"
        assert converse(tap("Passes", python(source)), b"x\n")[1] == b"saw the end\n"

    def test_the_command_may_go_while_input_stays_open(self) -> None:
        with running(tap("Passes", ["sh", "-c", "exit 5"])) as process:
            assert process.wait(PATIENCE) == 5

    def test_output_kept_open_by_somebody_else_does_not_keep_us(self) -> None:
        with running(tap("Passes", ["sh", "-c", "sleep 30 & echo $!; exit 6"])) as process:
            sleeper = int(line_from(process))
            started = time.monotonic()
            try:
                assert process.wait(PATIENCE) == 6
                assert time.monotonic() - started < 5
            finally:
                os.kill(sleeper, signal.SIGKILL)

    def test_slow_reader_loses_nothing_of_a_command_that_is_gone(self) -> None:
        source = "import os; os.write(1, b'x' * 200_000 + b'\\n')"
        with running(tap("Passes", python(source))) as process:
            assert process.stdout is not None
            time.sleep(2)  # longer than the tap waits for a command's silence
            assert len(process.stdout.read()) == 200_001
            assert process.wait(PATIENCE) == 0

    def test_output_closed_early_is_closed_for_the_client(self) -> None:
        source = "import os; os.write(1, b'bye\\n'); os.close(1); os.read(0, 1); os._exit(4)"
        with running(tap("Passes", python(source))) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            assert process.stdout.read() == b"bye\n"
            assert process.poll() is None
            process.stdin.write(b"go\n")
            assert process.wait(PATIENCE) == 4

    def test_input_closed_early_is_closed_for_the_client(self) -> None:
        source = "import os, time; os.close(0); print('closed', flush=True); time.sleep(30)"
        with running(tap("Passes", python(source))) as process:
            assert line_from(process) == b"closed\n"
            assert process.stdin is not None
            time.sleep(0.2)
            with pytest.raises(BrokenPipeError):
                process.stdin.write(b"anybody?\n")

    def test_a_client_that_stops_reading_is_seen_by_the_command(self, tmp_path: Path) -> None:
        seen = tmp_path / "seen"
        source = f"""
            import os, select, signal
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            poll = select.poll()
            poll.register(1, 0)
            os.write(1, b"up\\n")
            poll.poll(10_000)
            try:
                os.write(1, b"anybody?\\n")
            except BrokenPipeError:
                open({str(seen)!r}, "w").write("broken pipe")
        """
        with running(tap("Passes", python(source))) as process:
            assert line_from(process) == b"up\n"
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert process.wait(PATIENCE) == 0
            assert process.stderr.read() == b""
        assert seen.read_text() == "broken pipe"

    def test_a_client_that_goes_away_altogether(self) -> None:
        with running(tap("Passes", ["cat"])) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdin.write(b"x\n")
            process.stdout.close()
            process.stdin.close()
            assert process.wait(PATIENCE) in (0, -signal.SIGPIPE)
            assert process.stderr.read() == b""

    def test_a_command_that_cannot_start_is_named(self, tmp_path: Path) -> None:
        for command in (["/no/such/command"], [str(tmp_path)], ["a\0b"]):
            with pytest.raises(ReceiptsError, match=r"^command_not_started: ") as caught:
                Tap(command, bare_tap.Passes()).run()
            assert caught.value.exit_code == 3


class TestSignals:
    #: Says which signals it gets; SIGTERM ends it.
    LISTENER = """
        import os, signal, sys
        def got(number, frame):
            os.write(1, signal.Signals(number).name.encode() + b"\\n")
            if number == signal.SIGTERM:
                sys.exit(9)
        for name in "SIGTERM SIGHUP SIGINT SIGQUIT SIGUSR1 SIGUSR2".split():
            signal.signal(getattr(signal, name), got)
        os.write(1, b"up\\n")
        while True:
            signal.pause()
    """

    @pytest.mark.parametrize("name", ["SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2"])
    def test_forwarded(self, name: str) -> None:
        with running(
            tap("Passes", python(self.LISTENER)),
            start_new_session=True,  # no terminal
        ) as process:
            assert line_from(process) == b"up\n"
            process.send_signal(signal.Signals[name])
            assert line_from(process) == name.encode() + b"\n"
            process.send_signal(signal.SIGTERM)
            assert line_from(process) == b"SIGTERM\n"
            assert process.wait(PATIENCE) == 9

    def test_a_signal_that_ends_the_command_ends_the_tap_alike(self) -> None:
        with running(tap("Passes", python("print('up', flush=True); input()"))) as process:
            assert line_from(process) == b"up\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == -signal.SIGTERM

    def test_a_signal_before_the_command_runs_is_not_lost(self) -> None:
        for delay in (0.05, 0.1, 0.15, 0.2):
            with running(tap("Passes", ["cat"])) as process:
                time.sleep(delay)
                process.send_signal(signal.SIGTERM)
                assert process.wait(PATIENCE) == -signal.SIGTERM

    def test_ignored_from_the_start_stays_ignored(self) -> None:
        with running(["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *tap("Passes", ["cat"])]) as run:
            assert run.stdin is not None
            run.stdin.write(b"up\n")
            assert line_from(run) == b"up\n"
            run.send_signal(signal.SIGHUP)
            run.stdin.write(b"still here\n")
            assert line_from(run) == b"still here\n"

    def test_ctrl_c_reaches_the_command_once(self) -> None:
        pid, terminal = pty.fork()
        if pid == 0:  # in the session of a new terminal, in its foreground
            command = tap("Passes", python(self.LISTENER))
            os.execv(command[0], command)
        try:
            said = b""
            while b"up" not in said:
                said += os.read(terminal, 100)
            os.write(terminal, b"\x03")
            while b"SIGINT" not in said:
                said += os.read(terminal, 100)
            os.kill(pid, signal.SIGTERM)
            while b"SIGTERM" not in said:
                said += os.read(terminal, 100)
            assert said.count(b"SIGINT") == 1
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
        finally:
            os.close(terminal)


class TestFaults:
    def test_traffic_goes_on_and_the_fault_is_named_once(self, tmp_path: Path) -> None:
        told = tmp_path / "told"
        traffic = b"my-secret-answer\n" * 3
        code, out, err = converse(tap("Fails", ["cat"]), traffic, TAP_TOLD=str(told))
        assert (code, out) == (0, traffic)
        assert err == (
            b"receipts: watcher_fault: KeyError; traffic goes on, receipts may be missing\n"
        )
        assert sorted(told.read_text().splitlines()) == (
            ["fault None"] + ["fault c2s"] * 3 + ["fault s2c"] * 3
        )

    def test_ticks_while_nothing_happens(self, tmp_path: Path) -> None:
        told = tmp_path / "told"
        with running(tap("Passes", ["cat"]), env={"TAP_TOLD": str(told)}):
            eventually(lambda: told.exists() and told.read_text().count("tick") >= 2)
