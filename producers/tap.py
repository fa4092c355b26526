"""Tap: stands in front of a stdio MCP server and lets every byte pass.

A thin shell around a pure core: two pumps, one a direction, cut what they read
into lines, hand each line to the observer and write what it returns. Everything
else is being invisible: the command shares our process group, environment and
standard error, gets the signals we get, and we end as it ended.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Final, NoReturn, Protocol, TypeVar

from elicitation_receipts.producers.lines import DEFAULT_LIMIT, Fragment, Line, LineSplitter
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.schemas.errors import ReceiptsError

T = TypeVar("T")

#: How long a command's output is still awaited once the command is gone: a process it left
#: behind may hold the pipe open for ever.
LINGER_SECONDS: Final = 1.0
TICK_SECONDS: Final = 1.0
_CHUNK: Final = 64 * 1024
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_FORWARDED: Final = (
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
#: The terminal's keys send these to every process of the foreground group, the command included.
_FROM_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)


class Observer(Protocol):
    """Who watches. Called from two threads, one a direction, and from a third for ``tick``.

    Whatever it raises never stops traffic: the line goes on as it is, ``on_fault`` is
    told, and standard error names the fault once.
    """

    def observe(self, direction: Direction, line: bytes) -> Sequence[tuple[Direction, bytes]]:
        """What to write where, normally ``[(direction, line)]``.

        ``line`` has its newline; the last of a stream may have none. To block here
        delays this direction only.
        """

    def observe_oversized(self, direction: Direction) -> None:
        """A line longer than the limit passes through unread."""

    def tick(self) -> None:
        """About a second has passed."""

    def on_fault(self, direction: Direction | None) -> None:
        """One of the above raised. None: ``tick`` or ``close``."""

    def close(self) -> None:
        """The command has ended and everything it said was observed."""


class Tap:
    """Runs a command between our standard input and output.

    Lines longer than ``limit`` bytes are not read. Each line goes on as soon as it was
    observed: none waits for one behind it.
    """

    def __init__(
        self, command: Sequence[str], observer: Observer, *, limit: int = DEFAULT_LIMIT
    ) -> None:
        self._command = list(command)
        self._observer = observer
        self._limit = limit
        self._fault_named = threading.Event()
        self._ended = threading.Event()

    def run(self) -> int:
        """Run the command to its end and return its exit code; -N if signal N ended it.

        Raises ``command_not_started``.
        """
        # Closing `alive` wakes whoever polls `gone`: the command has ended.
        gone, alive = os.pipe()
        with _signals_forwarded() as forward_to:
            child, server_input, server_output = self._start()
            forward_to(child)
            to_server = _Sink(server_input)
            to_client = _Sink(_STDOUT)
            sinks = {Direction.CLIENT_TO_SERVER: to_server, Direction.SERVER_TO_CLIENT: to_client}
            from_client = _Inlet(_STDIN, to_server, gone, linger=0)
            from_server = _Inlet(server_output, to_client, gone, linger=LINGER_SECONDS)
            upstream = _start_thread(
                "client-to-server", self._pump, Direction.CLIENT_TO_SERVER, from_client, sinks
            )
            downstream = _start_thread(
                "server-to-client", self._pump, Direction.SERVER_TO_CLIENT, from_server, sinks
            )
            ticker = _start_thread("tick", self._ticks)
            returncode = child.wait()
        # From here on a signal ends us: there is nobody left to forward it to.
        os.close(alive)
        self._ended.set()
        downstream.join()
        for thread in (upstream, ticker):
            thread.join(LINGER_SECONDS)  # not for ever: nobody may be left to read what it writes
        self._guarded(None, self._observer.close, None)
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

    def _pump(self, direction: Direction, inlet: _Inlet, sinks: dict[Direction, _Sink]) -> None:
        splitter = LineSplitter(self._limit)
        try:
            while chunk := inlet.read():
                for part in splitter.feed(chunk):
                    self._pass_on(direction, part, sinks)
            if (rest := splitter.end()) is not None:
                self._pass_on(direction, rest, sinks)
        except OSError:
            pass  # one end is gone; closing both tells the other
        finally:
            inlet.close()
            sinks[direction].close()

    def _pass_on(
        self, direction: Direction, part: Line | Fragment, sinks: dict[Direction, _Sink]
    ) -> None:
        if isinstance(part, Fragment):
            if part.first:
                self._guarded(direction, lambda: self._observer.observe_oversized(direction), None)
            sinks[direction].write_fragment(part.data, last=part.last)
            return
        as_it_is: Sequence[tuple[Direction, bytes]] = [(direction, part.data)]
        for target, data in self._guarded(
            direction, lambda: self._observer.observe(direction, part.data), as_it_is
        ):
            if target is direction:
                sinks[target].write(data)
            else:
                with contextlib.suppress(BrokenPipeError):  # its own pump takes note of that
                    sinks[target].write(data)

    def _ticks(self) -> None:
        while not self._ended.wait(TICK_SECONDS):
            self._guarded(None, self._observer.tick, None)

    def _guarded(self, direction: Direction | None, call: Callable[[], T], otherwise: T) -> T:
        """What ``call`` returns, or ``otherwise`` where it raises."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001  (traffic goes on whatever the watcher does)
            if not self._fault_named.is_set():
                self._fault_named.set()
                name = error.reason if isinstance(error, ReceiptsError) else type(error).__name__
                _say(f"watcher_fault: {name}; traffic goes on, receipts may be missing")
            with contextlib.suppress(Exception):
                self._observer.on_fault(direction)
            return otherwise


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


class _Inlet:
    """The reading end of a direction."""

    def __init__(self, fd: int, sink: _Sink, gone: int, *, linger: float) -> None:
        self._fd = fd
        self._sink_fd = sink.fd
        self._gone = gone
        self._linger = linger
        self._timeout: float | None = None
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)
        self._poll.register(gone, select.POLLIN)
        # No event is asked for: poll says even so when the reader has closed its end.
        self._poll.register(sink.fd, 0)

    def read(self) -> bytes:
        """The next bytes; b"" where there is nothing more to carry.

        That is: end of file, nobody left to read what would be written, or the
        command gone and nothing more within ``linger`` seconds.
        """
        while True:
            ready = dict(self._poll.poll(self._timeout))
            if self._gone in ready:
                self._poll.unregister(self._gone)
                self._timeout = self._linger * 1000
            if self._fd in ready:
                with contextlib.suppress(BlockingIOError):  # somebody else's reader was faster
                    return os.read(self._fd, _CHUNK)
            elif self._gone not in ready:
                return b""

    def close(self) -> None:
        _release(self._fd)


class _Sink:
    """The writing end of a direction. Lines written by two threads never mix."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._closed = False
        self._lock = threading.Lock()
        self._within_line = False

    def write(self, data: bytes) -> None:
        """Write whole lines. Raises OSError where nobody reads any more."""
        with self._lock:
            self._write(data)

    def write_fragment(self, data: bytes, *, last: bool) -> None:
        """Write part of a long line; until its last part nobody else's line gets between.

        Only the thread that closes the sink may write fragments.
        """
        if not self._within_line:
            self._lock.acquire()
            self._within_line = True
        self._write(data)
        if last:
            self._end_line()

    def close(self) -> None:
        if self._within_line:
            self._end_line()
        with self._lock:
            self._closed = True
            _release(self.fd)

    def _end_line(self) -> None:
        self._within_line = False
        self._lock.release()

    def _write(self, data: bytes) -> None:
        if self._closed:
            raise BrokenPipeError
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self.fd, rest) :]
            except BlockingIOError:  # the client made its pipe non-blocking
                select.select([], [self.fd], [])


def _release(fd: int) -> None:
    """Close ``fd``. Standard streams keep their number, so that nothing else ever gets it."""
    if fd > _STDERR:
        os.close(fd)
        return
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, fd)
    os.close(nowhere)


def _start_thread(name: str, call: Callable[..., None], *arguments: object) -> threading.Thread:
    def run() -> None:
        # Signals interrupt the main thread, which waits for the command.
        signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
        call(*arguments)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread


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


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(_STDERR, f"receipts: {text}\n".encode())
