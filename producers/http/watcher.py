"""A watcher of HTTP: the pure core of all exchanges with one server, a clock, and the sealer.

The twin of ``watcher`` for servers and proxies on asyncio: nothing here blocks the event
loop, and whatever the core does never stops traffic.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from types import TracebackType
from typing import Final, Self

from elicitation_receipts.producers.http.event_stream import Event
from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.producers.record import Entry, Recorded, Recorder
from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.seal import Sealer
from elicitation_receipts.producers.stdio.lines import Fragment
from elicitation_receipts.producers.watcher import Passage
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.exchange import Exchange, Exchanges
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.refusal import Refusal, not_written, refuse
from elicitation_receipts.producers.wire.scribe import Post
from elicitation_receipts.producers.wire.stamp import stamp
from elicitation_receipts.schemas.errors import ReceiptsError
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Proof

_TICK_SECONDS: Final = 1.0
_RECOVER_TICKS: Final = 60

Step = Callable[[Moment], list[Receipt]]


class HttpWatcher:
    """Watches all traffic with one server. Time passes for it while it is entered.

    ``warn`` is told, once, that something went by unread, and of questions a policy warns of.
    What is open when it is left stays open: sessions outlive their watcher. ``take_up``, called
    first and about once a minute, ends what watchers before it left open for too long and gives
    the rest: it may yet be answered.
    """

    def __init__(
        self,
        redactor: Redactor,
        post: Post,
        name: str,
        sealer: Sealer,
        warn: Callable[[str], None],
        recorded: Recorded | None = None,
        renewed: Callable[[], Policy | None] = lambda: None,
        take_up: Callable[[], Iterable[Receipt]] = tuple,
    ) -> None:
        self._renewed = renewed
        self._take_up = take_up
        self._exchanges = Exchanges(redactor, post, name)
        self._post = post
        self._recorder = Recorder(redactor, sealer, recorded, warn)
        self._warn = warn
        self._warned = False
        self._left = threading.Event()
        self._ticker = threading.Thread(target=self._ticks, name="tick", daemon=True)

    def __enter__(self) -> Self:
        self._offer_orphans()
        self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._left.set()
        self._ticker.join()

    def open(
        self,
        method: str,
        headers: Mapping[str, str],
        principal: str | None,
        subject: str | None = None,
    ) -> WatchedExchange:
        """A request arrives, see :meth:`Exchanges.open`."""
        exchange = self._recorder.locked(
            lambda: self._exchanges.open(method, headers, principal, subject)
        )
        return WatchedExchange(self, exchange)

    @property
    def may_lose(self) -> bool:
        """Whether a message goes on whose receipts are lost."""
        return self._recorder.may_lose

    def record(self, step: Step, stopped: Callable[[], Refusal | None] = lambda: None) -> Entry:
        """Take a step of the core; one that fails leaves nothing, and is accounted for."""
        try:
            return self._recorder.record(step, stopped)
        except Exception as error:  # noqa: BLE001  (traffic goes on whatever the watcher does)
            name = error.reason if isinstance(error, ReceiptsError) else type(error).__name__
            self.unread(f"watcher_fault: {name}")
            return Entry([], None)

    def stamped(self, data: bytes, entry: Entry) -> bytes:
        """``data`` with the policy in its questions, where that is switched on."""
        if self._post.stamps and entry.puts_question:
            return stamp(data, self._post.policy)
        return data

    def renew_policy(self) -> None:
        """Judge by a new policy from now on, where there is one."""
        policy = self._renewed()
        if policy is not None:
            self._recorder.use_policy(policy, lambda: self._use(policy))

    def _use(self, policy: Policy) -> None:
        self._post = replace(self._post, policy=policy)
        self._exchanges.use_policy(policy)

    def locked(self, step: Callable[[], None]) -> None:
        """Take a step that leaves no receipt."""
        self._recorder.locked(step)

    def unread(self, reason: str) -> None:
        """A message goes on unread: what it would have left is lost."""
        self._recorder.count_lost()
        if not self._warned:
            self._warned = True
            self._warn(f"{reason}; traffic goes on, receipts may be missing")

    # What a server says of itself, see `Exchanges`

    async def record_completion(self, question: str, proof: Proof) -> bool:
        """Whether that completed a question. Returns once it is written, or lost."""
        entry = self.record(lambda at: self._exchanges.on_completion(question, proof, at))
        await entry.settled()
        return entry.completes_question

    def record_subject(self, session_id: str, subject: str) -> None:
        try:
            self._recorder.locked(lambda: self._exchanges.on_subject(session_id, subject))
        except ReceiptsError as error:
            self._warn(f"watcher_fault: {error.reason}; a record is missing")

    def record_checkpoint(self, task_id: str, version: int) -> bool:
        return self._recorder.locked(lambda: self._exchanges.on_checkpoint(task_id, version))

    def _ticks(self) -> None:
        for tick in count(1):
            if self._left.wait(_TICK_SECONDS):
                return
            self.renew_policy()
            self.record(self._exchanges.on_tick)
            if tick % _RECOVER_TICKS == 0:
                self._offer_orphans()

    def _offer_orphans(self) -> None:
        with contextlib.suppress(ReceiptsError):  # next minute, then
            orphans = self._take_up()
            self._recorder.locked(lambda: self._exchanges.offer(orphans))


@dataclass(frozen=True, slots=True)
class Judged:
    """What becomes of a message. ``on``: what goes on, normally itself; None: nothing does.

    ``back``: what its sender is told, normally nothing.
    """

    on: bytes | None
    back: bytes | None = None


class WatchedExchange:
    """One request and its response. Each call returns once its receipts are durable, or lost."""

    def __init__(self, watcher: HttpWatcher, exchange: Exchange) -> None:
        self._watcher = watcher
        self._exchange = exchange

    async def request(self, body: bytes) -> Judged:
        """The request's body, whole."""
        entry = self._watcher.record(lambda at: self._exchange.on_request(body, at))
        return await self._judged(Direction.CLIENT_TO_SERVER, body, entry) or Judged(body)

    async def status(self, status: int, headers: Mapping[str, str]) -> None:
        """The response begins. ``headers``: names in lower case."""
        await self._watcher.record(
            lambda at: self._exchange.on_status(status, headers, at)
        ).settled()

    async def body(self, body: bytes) -> Judged:
        """The body of a response in JSON, whole."""
        entry = self._on_frame(body)
        return await self._judged(Direction.SERVER_TO_CLIENT, body, entry) or Judged(body)

    async def event(self, part: Event | Fragment) -> Judged:
        """Part of a response in events."""
        if isinstance(part, Fragment):
            if part.first:
                await self.oversized(Direction.SERVER_TO_CLIENT)
            return Judged(part.data)
        if not part.data and part.id is None:
            return Judged(part.raw)
        entry = self._on_frame(part.data, part.id)
        judged = await self._judged(Direction.SERVER_TO_CLIENT, part.data, entry, part.id)
        if judged is None:
            return Judged(part.raw)
        # Without its data it still says how far the stream has come.
        return Judged(part.with_data(judged.on or b""), judged.back)

    def _on_frame(self, data: bytes, event_id: str | None = None) -> Entry:
        return self._watcher.record(
            lambda at: self._exchange.on_frame(data, at, event_id), lambda: self._exchange.stopped
        )

    async def oversized(self, direction: Direction) -> None:
        """A body or event too long to read goes by."""
        await self._watcher.record(lambda at: self._exchange.on_oversized(direction, at)).settled()

    def encoded(self) -> None:
        """A body goes by in a content coding, unread."""
        self._watcher.unread("content_encoded: a body was compressed and not read")

    def end(self) -> None:
        """The exchange is over, however it ended. Does not wait: there is nothing to hold back."""
        self._watcher.record(self._exchange.on_end)

    async def _judged(
        self, direction: Direction, data: bytes, entry: Entry, event_id: str | None = None
    ) -> Judged | None:
        """None: it goes on as it is."""
        is_written = await entry.settled()
        if entry.stopped is not None:
            refusal = entry.stopped
        elif is_written or self._watcher.may_lose:
            stamped = self._watcher.stamped(data, entry)
            return None if stamped is data else Judged(stamped)
        else:
            refusal = not_written(entry.reason)
            self._watcher.locked(lambda: self._exchange.retract(entry.receipts))
        # Where the event is delivered once more, it is judged once more.
        self._watcher.locked(lambda: self._exchange.forget(event_id))
        lines = refuse(direction, data, refusal)
        return Judged(_text(lines, direction), _text(lines, direction.back))


def may_be_mcp(method: str, path: str, content_type: str, mcp_path: str | None) -> bool:
    """Whether to watch a request. ``mcp_path`` None: nobody said where MCP is spoken."""
    if mcp_path is not None:
        return path == mcp_path
    # What OAuth adds to a server is none of ours.
    is_json = content_type.partition(";")[0].strip().lower() == "application/json"
    return not path.startswith("/.well-known/") and (is_json or method != "POST")


def _text(lines: Passage, direction: Direction) -> bytes | None:
    """The lines of one direction as one JSON text: a message, or an array of several."""
    own = [line.rstrip(b"\n") for one, line in lines if one is direction]
    return own[0] if len(own) == 1 else b"[" + b",".join(own) + b"]" if own else None
