"""Relay: carries bytes between a client's pipes and a server's, line by line past an observer.

Two pumps, one a direction, cut what they read into lines, hand each line to the observer
and write what it returns. Whatever the observer does, traffic goes on.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

from elicitation_receipts.producers.stdio.lines import DEFAULT_LIMIT, Fragment, Line, LineSplitter
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.schemas.errors import ReceiptsError

T = TypeVar("T")

#: How long a server's output is still awaited once the server is gone: a process it left
#: behind may hold the pipe open for ever.
LINGER_SECONDS: Final = 1.0
TICK_SECONDS: Final = 1.0
#: Signals that interrupt the main thread and no pump.
FOR_THE_MAIN_THREAD: Final = (
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_CHUNK: Final = 64 * 1024
_STDERR: Final = 2


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
        """The server has ended and everything it said was observed."""


class Relay:
    """Between one client and one server.

    Lines longer than ``limit`` bytes are not read. Each line goes on as soon as it was
    observed: none waits for one behind it.
    """

    def __init__(self, observer: Observer, *, limit: int = DEFAULT_LIMIT) -> None:
        self._observer = observer
        self._limit = limit
        self._fault_named = threading.Event()
        self._ended = threading.Event()

    def start(
        self,
        from_client: int,
        to_server: int,
        from_server: int,
        to_client: int,
        *,
        linger: float = LINGER_SECONDS,
    ) -> None:
        """Carry bytes between these file descriptors, which are ours from now on.

        ``linger``: seconds of silence after which a server that is gone has said all.
        """
        # Closing `_alive` wakes whoever polls `gone`: the server has ended.
        gone, self._alive = os.pipe()
        server_sink, client_sink = _Sink(to_server), _Sink(to_client)
        sinks = {Direction.CLIENT_TO_SERVER: server_sink, Direction.SERVER_TO_CLIENT: client_sink}
        client_inlet = _Inlet(from_client, server_sink, gone, linger=0)
        server_inlet = _Inlet(from_server, client_sink, gone, linger=linger)
        self._upstream = _start_thread(
            "client-to-server", self._pump, Direction.CLIENT_TO_SERVER, client_inlet, sinks
        )
        self._downstream = _start_thread(
            "server-to-client", self._pump, Direction.SERVER_TO_CLIENT, server_inlet, sinks
        )
        self._ticker = _start_thread("tick", self._ticks)

    def end(self) -> None:
        """The server has ended: carry what it has said, then close the observer."""
        os.close(self._alive)
        self._ended.set()
        self._downstream.join()
        for thread in (self._upstream, self._ticker):
            thread.join(LINGER_SECONDS)  # not for ever: nobody may be left to read what it writes
        self._guarded(None, self._observer.close, None)

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
        signal.pthread_sigmask(signal.SIG_BLOCK, FOR_THE_MAIN_THREAD)
        call(*arguments)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(_STDERR, f"receipts: {text}\n".encode())
