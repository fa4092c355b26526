"""Tap: stands in front of a stdio MCP server and lets every byte pass.

A thin shell around a relay. Everything here is being invisible: the command shares our
process group, environment and standard error, gets the signals we get, and we end as it
ended.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Final, NoReturn

from elicitation_receipts.producers.stdio.lines import DEFAULT_LIMIT
from elicitation_receipts.producers.stdio.relay import FOR_THE_MAIN_THREAD, Observer, Relay
from elicitation_receipts.schemas.errors import ReceiptsError

_STDIN, _STDOUT = 0, 1
_FORWARDED: Final = FOR_THE_MAIN_THREAD
#: The terminal's keys send these to every process of the foreground group, the command included.
_FROM_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)


class Tap:
    """Runs a command between our standard input and output, see :class:`Relay`."""

    def __init__(
        self, command: Sequence[str], observer: Observer, *, limit: int = DEFAULT_LIMIT
    ) -> None:
        self._command = list(command)
        self._relay = Relay(observer, limit=limit)

    def run(self) -> int:
        """Run the command to its end and return its exit code; -N if signal N ended it.

        Raises ``command_not_started``.
        """
        with _signals_forwarded() as forward_to:
            child, server_input, server_output = self._start()
            forward_to(child)
            self._relay.start(_STDIN, server_input, server_output, _STDOUT)
            returncode = child.wait()
        # From here on a signal ends us: there is nobody left to forward it to.
        self._relay.end()
        return returncode

    def _start(self) -> tuple[subprocess.Popen[bytes], int, int]:
        """The command, and our ends of the pipes to its input and from its output."""
        server_stdin, server_input = os.pipe()
        server_output, server_stdout = os.pipe()
        try:
            child = subprocess.Popen(  # noqa: S603  (the user's own command)
                self._command, stdin=server_stdin, stdout=server_stdout
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "not a possible command line"
            raise ReceiptsError(
                "command_not_started",
                f"cannot start {self._command[0]!r} ({why}); check the command after --",
            ) from error
        finally:
            os.close(server_stdin)
            os.close(server_stdout)
        return child, server_input, server_output


def end_like(returncode: int) -> NoReturn:
    """Exit as a process that returned ``returncode`` did: with its code, or of its signal."""
    if returncode < 0:
        with contextlib.suppress(OSError, ValueError):
            # Our memory holds traffic: the command may dump core, we never do.
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(-returncode, signal.SIG_DFL)  # (SIGKILL: refused, and not needed)
        os.kill(os.getpid(), -returncode)
        sys.exit(128 - returncode)  # a signal that does not end a process by default
    sys.exit(returncode)


@contextlib.contextmanager
def _signals_forwarded() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Forward signals to the command that is named by calling what this yields.

    Signals that come before are forwarded then. Those we were started to ignore
    (``nohup``) stay ignored, by the command as well.
    """
    command: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def forward(signum: int, _frame: FrameType | None) -> None:
        if signum in _FROM_TERMINAL and _in_foreground():
            return
        if command is None:
            early.append(signum)
        else:
            command.send_signal(signum)

    def forward_to(child: subprocess.Popen[bytes]) -> None:
        nonlocal command
        command = child
        for signum in early:
            child.send_signal(signum)

    previous = {
        signum: signal.signal(signum, forward)
        for signum in _FORWARDED
        if signal.getsignal(signum) is not signal.SIG_IGN
    }
    try:
        yield forward_to
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)


def _in_foreground() -> bool:
    """Does the terminal's Ctrl-C reach our process group, and with it the command?"""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
