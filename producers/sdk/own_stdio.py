"""Own stdio: watch a stdio MCP server from inside its own process.

For servers whose framework opens standard input and output itself. What a tap does from
outside happens here on the file descriptors: the server reads and writes pipes, and a
relay carries their bytes from and to the client.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from types import TracebackType
from typing import Final, Self

from elicitation_receipts.producers.sdk.server_records import ServerRecords
from elicitation_receipts.producers.stdio.relay import Relay
from elicitation_receipts.producers.watcher import Watcher

_STDIN: Final = 0
_STDOUT: Final = 1


class OwnStdio(ServerRecords):
    """``with OwnStdio(…): server.run()``, once, before anything is read from standard input.

    ``start``: opens and closes what receipts are written through. To enter raises what it
    raises; from then on no failure of ours reaches the server.
    """

    def __init__(self, start: Callable[[], AbstractContextManager[Watcher]]) -> None:
        self._opened = start()

    def __enter__(self) -> Self:
        self._watcher = self._opened.__enter__()
        self._client_in, self._client_out = os.dup(_STDIN), os.dup(_STDOUT)
        server_in, to_server = os.pipe()
        from_server, server_out = os.pipe()
        _flush()
        _move(server_in, _STDIN)
        _move(server_out, _STDOUT)
        self._relay = Relay(self._watcher)
        # A server that has returned has written all it will: its silence need not be awaited.
        self._relay.start(
            os.dup(self._client_in), to_server, from_server, os.dup(self._client_out), linger=0
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _flush()
        _move(self._client_out, _STDOUT)
        _move(self._client_in, _STDIN)
        self._relay.end()
        with suppress(Exception):
            self._opened.__exit__(None, None, None)


def _move(descriptor: int, place: int) -> None:
    """Let ``place`` be what ``descriptor`` is, and nothing else be."""
    os.dup2(descriptor, place)
    os.close(descriptor)


def _flush() -> None:
    """What Python has buffered goes where it was meant to go."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
