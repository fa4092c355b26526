"""``watch`` and ``watch_stdio``: the two lines in a user's own code that keep receipts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal, cast, overload

from elicitation_receipts.invocation import Invocation
from elicitation_receipts.producers.sdk.fastmcp_client import fastmcp_transport
from elicitation_receipts.producers.sdk.hooks import ReadStream, Transport, Watch, WriteStream
from elicitation_receipts.producers.sdk.own_stdio import OwnStdio
from elicitation_receipts.producers.sdk.server_records import LOG
from elicitation_receipts.producers.watcher import Watcher
from elicitation_receipts.schemas.vocabulary import Fidelity, Vantage
from elicitation_receipts.settings import check_names
from elicitation_receipts.watcher import open_watcher


@overload
def watch(
    transport: Transport,
    /,
    *,
    side: Literal["client", "server"] = "client",
    home: Path | str | None = None,
    **settings: object,
) -> Watch: ...


@overload
def watch(
    read: ReadStream,
    write: WriteStream,
    /,
    *,
    side: Literal["client", "server"] = "client",
    home: Path | str | None = None,
    **settings: object,
) -> Watch: ...


def watch(
    transport: Transport | ReadStream,
    write: WriteStream | None = None,
    /,
    *,
    side: Literal["client", "server"] = "client",
    home: Path | str | None = None,
    **settings: object,
) -> Watch:
    """Keep receipts of what is asked over an MCP connection of this program.

    A client::

        async with watch(stdio_client(parameters)) as (read, write):
            async with ClientSession(read, write, …) as session: …

    A server::

        async with watch(stdio_server(), side="server") as (read, write):
            await server.run(read, write, server.create_initialization_options())

    ``transport``  what the SDK opens, or its two streams where they are open already; it is
                   opened and closed as without us, and may be of SDK v1 or v2
    ``side``       which end of the connection this program is
    ``home``       where receipts go; None: as for `receipts tap`
    ``settings``   as `receipts settings` lists them (``tenant="acme"``); what is not given
                   comes from the environment and ``receipts.toml``

    Raises ``setting_unknown``; to enter raises :class:`ReceiptsError` where a setting makes no
    sense or nothing could be written at all. After that no failure of ours stops a message.
    """

    start = _opener(home, settings, Vantage.STREAM, Fidelity.PARSED)
    streams = nullcontext((transport, write)) if write is not None else cast("Transport", transport)
    return Watch(streams, start, side)


def watch_stdio(*, home: Path | str | None = None, **settings: object) -> OwnStdio:
    """Keep receipts of what this program, a server on standard input and output, asks.

    For frameworks that open these themselves::

        with watch_stdio():
            mcp.run()

    Arguments and errors: see :func:`watch`.
    """
    return OwnStdio(_opener(home, settings, Vantage.STDIO, Fidelity.BYTES))


def watch_fastmcp(
    connect: Callable[[], Transport], *, home: Path | str | None = None, **settings: object
) -> Any:
    """Keep receipts of what a client of FastMCP 4 is asked.

    It takes what the SDK opens, as a function, for it may connect more than once::

        async with Client(watch_fastmcp(lambda: stdio_client(parameters))) as client: …

    Other arguments and errors: see :func:`watch`.
    """
    start = _opener(home, settings, Vantage.STREAM, Fidelity.PARSED)
    return fastmcp_transport(lambda: Watch(connect(), start, "client"))


def _opener(
    home: Path | str | None, settings: Mapping[str, object], vantage: Vantage, fidelity: Fidelity
) -> Callable[[], AbstractContextManager[Watcher]]:
    """What opens a watcher when it is needed, in the thread that may wait for the disk."""
    check_names(settings)

    @contextmanager
    def start() -> Iterator[Watcher]:
        invocation = Invocation.of(None if home is None else Path(home))
        loaded = invocation.load_settings(settings).settings
        opened = invocation.home(create=True)
        with open_watcher(opened, loaded, vantage, fidelity, LOG.warning) as watcher:
            yield watcher

    return start
