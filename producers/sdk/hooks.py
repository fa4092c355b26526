"""Hooks: watch an MCP connection from inside a program that is one end of it.

The program opens its transport through a :class:`Watch` and gets streams that behave as
the transport's own: same items, same order, same ends, same back-pressure. It works with
whatever has the streams of the MCP Python SDK, on AnyIO.

The watcher sees messages that a parser has read before it (fidelity ``parsed``). What
the parser has dropped, merged or refused it cannot see: :data:`UNSEEN`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from contextvars import Context
from functools import partial
from types import TracebackType
from typing import Any, Final, Literal, Protocol, Self, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream

from elicitation_receipts.producers.sdk import message as sdk_message
from elicitation_receipts.producers.sdk.server_records import LOG, ServerRecords, fault_name
from elicitation_receipts.producers.watcher import Watcher
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.schemas.vocabulary import FindingName

T = TypeVar("T")
_Envelope = tuple[Context | None, Any]

#: Findings that a watcher of bytes can make and one behind a parser cannot. Traffic that
#: would show them arrives without the trace, or not at all: then `malformed_message` says,
#: once a session, that something was refused.
UNSEEN: Final = frozenset(
    {
        FindingName.DUPLICATE_MEMBER,  # a parser keeps the last
        FindingName.BATCH_ARRAY,  # refused
        FindingName.OVERSIZED_MESSAGE,  # read whole by the SDK, or refused
    }
)

_TICK_SECONDS: Final = 1.0
#: One thread a direction and one for time passing, whatever else the program does.
_THREADS: Final = 3


class ReadStream(Protocol):
    """The receiving half of a transport, as the SDK uses it."""

    async def receive(self) -> Any:
        """The next item; raises ``anyio.EndOfStream`` after the last."""

    async def aclose(self) -> None:
        """Nothing more is wanted."""


class WriteStream(Protocol):
    """The sending half of a transport, as the SDK uses it."""

    async def send(self, item: Any, /) -> None:
        """Send, and wait until it is taken."""

    async def aclose(self) -> None:
        """Nothing more comes."""


#: What a transport opens to: a read stream, a write stream and, with some, more.
Transport = AbstractAsyncContextManager[tuple[Any, ...]]


class Watch(ServerRecords):
    """A watched connection: ``async with Watch(…) as (read, write):``, once.

    ``transport``  what would be opened without us
    ``start``      opens and closes what receipts are written through; it may block
    ``side``       which end of the connection this program is

    To enter raises what ``start`` raises, before the transport is opened. From then on no
    failure of ours reaches the program: messages pass, and what was lost is accounted for.
    """

    def __init__(
        self,
        transport: Transport,
        start: Callable[[], AbstractContextManager[Watcher]],
        side: Literal["client", "server"],
    ) -> None:
        self._transport = transport
        self._start = start
        self._incoming = (
            Direction.SERVER_TO_CLIENT if side == "client" else Direction.CLIENT_TO_SERVER
        )
        self._fault_named = False

    async def __aenter__(self) -> tuple[Any, ...]:
        async with AsyncExitStack() as stack:
            self._threads = anyio.CapacityLimiter(_THREADS)
            self._watcher = await stack.enter_async_context(self._watching())
            read, write, *more = await stack.enter_async_context(self._transport)
            self._tasks = await stack.enter_async_context(_Tasks())
            send, receive = anyio.create_memory_object_stream[_Envelope](0)
            stack.enter_context(send)
            stack.enter_context(receive)
            inlet = _Inlet(read, receive)
            outlet = _Outlet(write, self._pass_out)
            self._read, self._write, self._send_in = read, write, send
            self._tasks.start_soon(self._pump, inlet)
            self._tasks.start_soon(self._ticks)
            self._stack = stack.pop_all()
        return (inlet, outlet, *more)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    # Messages

    async def _pump(self, inlet: _Inlet) -> None:
        """Carry what comes in, one item at a time, for as long as somebody wants it."""
        async with self._send_in:
            try:
                while True:
                    item = await self._read.receive()
                    context = getattr(self._read, "last_context", None)
                    for target, passed in await self._observe(self._incoming, item):
                        if target is self._incoming:
                            await self._send_in.send((context, passed))
                        else:
                            self._tasks.start_soon(_deliver, self._write.send, passed)
            except anyio.EndOfStream:
                pass
            except Exception as error:  # noqa: BLE001  (whoever receives gets it)
                inlet.failure = error

    async def _pass_out(self, item: Any) -> None:
        """Send ``item``, or answer it where it must not go on."""
        outgoing = self._incoming.back
        for target, passed in await self._observe(outgoing, item):
            if target is outgoing:
                await self._write.send(passed)
            else:
                self._tasks.start_soon(_deliver, self._send_in.send, (None, passed))

    async def _observe(self, direction: Direction, item: Any) -> list[tuple[Direction, Any]]:
        """What to pass where instead of ``item``, once its receipts are durable."""

        def observe() -> list[tuple[Direction, Any]]:
            line = sdk_message.encode(item)
            if line is None:
                return as_it_is
            return [
                (target, item)
                if data is line
                else (target, sdk_message.decode(data, item, instead=target is direction))
                for target, data in self._watcher.observe(direction, line)
            ]

        as_it_is = [(direction, item)]
        return await self._guarded(direction, observe, as_it_is)

    async def _ticks(self) -> None:
        while True:
            await anyio.sleep(_TICK_SECONDS)
            await self._guarded(None, self._watcher.tick, None)

    # The watcher, which may block, and fail

    @contextlib.asynccontextmanager
    async def _watching(self) -> AsyncIterator[Watcher]:
        opened = self._start()
        watcher = await self._in_thread(opened.__enter__)
        try:
            yield watcher
        finally:
            with anyio.CancelScope(shield=True):
                await self._guarded(None, watcher.close, None)
                await self._guarded(None, partial(opened.__exit__, None, None, None), None)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(call, limiter=self._threads)

    async def _guarded(self, direction: Direction | None, call: Callable[[], T], otherwise: T) -> T:
        """What ``call`` returns, or ``otherwise`` where it raises."""
        try:
            return await self._in_thread(call)
        except Exception as error:  # noqa: BLE001  (traffic goes on whatever the watcher does)
            if not self._fault_named:
                self._fault_named = True
                LOG.error(
                    "watcher_fault: %s; traffic goes on, receipts may be missing", fault_name(error)
                )
            with contextlib.suppress(Exception):
                self._watcher.on_fault(direction)
            return otherwise


class _Inlet:
    """The read stream a program gets. ``failure``: what the transport's own raised at its end."""

    def __init__(self, inner: ReadStream, taken: MemoryObjectReceiveStream[_Envelope]) -> None:
        self._inner = inner
        self._taken = taken
        self.failure: Exception | None = None
        #: The context the last item was sent in, where the transport tells (SDK v2).
        self.last_context: Context | None = None

    async def receive(self) -> Any:
        try:
            self.last_context, item = await self._taken.receive()
        except anyio.EndOfStream:
            if self.failure is not None:
                raise self.failure from None
            raise
        return item

    async def aclose(self) -> None:
        await self._taken.aclose()
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Outlet:
    """The write stream a program gets: what several tasks send goes out as it was observed."""

    def __init__(self, inner: WriteStream, pass_out: Callable[[Any], Awaitable[None]]) -> None:
        self._inner = inner
        self._pass_out = pass_out
        self._turn = anyio.Lock()

    async def send(self, item: Any, /) -> None:
        async with self._turn:
            await self._pass_out(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Tasks:
    """A task group that ends with its block, and leaves the block's exception as it is."""

    async def __aenter__(self) -> TaskGroup:
        self._group = await anyio.create_task_group().__aenter__()
        return self._group

    async def __aexit__(self, *_: object) -> None:
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)


async def _deliver(send: Callable[[T], Awaitable[None]], item: T) -> None:
    """Send in a task of its own: neither direction waits for the other."""
    with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        await send(item)
