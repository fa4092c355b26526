"""Watched streams: a program cannot tell that they are watched, and what it asks is recorded."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import io
import json
import logging
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import ElicitResult, jsonrpc_message_adapter
from sdk_pair import MODERN, Person, comparable, connected, sessions
from telling import tell

from elicitation_receipts import watch
from elicitation_receipts.home import Home
from elicitation_receipts.producers.sdk.hooks import UNSEEN
from elicitation_receipts.producers.stdio.lines import DEFAULT_LIMIT
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.errors import ReceiptsError
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import (
    Event,
    Fidelity,
    FindingName,
    LossReason,
    RedactionStatus,
    Vantage,
)
from elicitation_receipts.settings import load
from elicitation_receipts.watcher import open_watcher

pytestmark = pytest.mark.anyio

ERAS = ("legacy", MODERN)
TYPED = "Ærøskøbing 4711-0815"
ACCEPT = ElicitResult(action="accept", content={"city": TYPED})

INITIALIZE = {
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {"form": {}, "url": {}}},
        "clientInfo": {"name": "scripted", "version": "1.0"},
    },
}
INITIALIZED = {"method": "notifications/initialized"}
CALL = {"id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {}}}
QUESTION = {
    "id": "q",
    "method": "elicitation/create",
    "params": {
        "message": "Which city?",
        "requestedSchema": {
            "type": "object",
            "properties": {"city": {"type": "string", "title": "City"}},
        },
    },
}
ANSWER = {"id": "q", "result": {"action": "accept", "content": {"city": TYPED}}}
RESULT = {"id": 1, "result": {"content": []}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def message(members: dict[str, Any], metadata: Any = None) -> SessionMessage:
    parsed = jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **members})
    return SessionMessage(parsed, metadata)


def spooled(home: Path) -> list[Receipt]:
    with Spool.open(home, create=False) as spool:
        return [decode(stored.message) for stored in spool.read(0, 10_000)]


class Wire:
    """The two ends of a client's watched connection: ours, and the server's."""

    def __init__(self, ours: tuple[Any, Any], theirs: tuple[Any, Any]) -> None:
        self.read, self.write = ours
        self._their_read, self._their_write = theirs

    async def say(self, item: Any) -> Any:
        """The client sends; what the server gets."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.write.send, item)
            return await self._their_read.receive()

    async def hear(self, item: Any) -> Any:
        """The server sends; what the client gets."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._their_write.send, item)
            return await self.read.receive()

    async def tell(self, item: Any) -> None:
        """The server sends."""
        await self._their_write.send(item)

    async def told(self) -> Any:
        """What the server gets."""
        return await self._their_read.receive()

    async def hang_up(self) -> None:
        """The server ends its side."""
        await self._their_write.aclose()

    async def greet(self) -> None:
        await self.say(message(INITIALIZE))
        await self.say(message(INITIALIZED))
        await self.say(message(CALL))


Pipe = tuple[MemoryObjectSendStream[Any], MemoryObjectReceiveStream[Any]]


@asynccontextmanager
async def wire(home: Path, **settings: object) -> AsyncIterator[Wire]:
    up: Pipe = anyio.create_memory_object_stream[Any](0)
    down: Pipe = anyio.create_memory_object_stream[Any](0)
    with contextlib.ExitStack() as streams:
        for stream in (*up, *down):
            streams.enter_context(stream)
        async with watch(down[1], up[0], home=home, **settings) as ours:
            yield Wire(ours, (up[1], down[0]))  # type: ignore[arg-type]


class TestInvisible:
    async def test_items_are_the_very_same_both_ways_in_order(self, home: Path) -> None:
        items = [
            message(INITIALIZE, ServerMessageMetadata(related_request_id=1)),
            message(CALL),
            message(QUESTION),
            message(ANSWER),
            message({"id": 5, "error": {"code": -1, "message": "no"}}),
            ValueError("refused by a parser"),
            OSError("the transport says"),
        ]
        async with wire(home) as talk:
            for item in items:
                assert await talk.hear(item) is item
                assert await talk.say(item) is item

    async def test_what_several_tasks_send_goes_out_as_it_was_observed(self, home: Path) -> None:
        async with wire(home) as talk:
            await talk.greet()
            async with anyio.create_task_group() as tasks:
                for number in range(30):
                    asked = (
                        {**QUESTION, "id": number} if number % 3 == 0 else {**CALL, "id": number}
                    )
                    tasks.start_soon(talk.write.send, message(asked))
                got = [(await talk.told()).message.id for _ in range(30)]
        assert got == list(range(30))

    async def test_no_item_is_taken_ahead_of_need(self, home: Path) -> None:
        async with wire(home) as talk:
            await talk.tell(message(CALL))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await talk.tell(message(CALL))

    async def test_after_the_last_item_comes_the_end(self, home: Path) -> None:
        async with wire(home) as talk:
            last = message(CALL)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(talk.tell, last)
                assert await anext(talk.read) is last
            await talk.hang_up()
            assert [item async for item in talk.read] == []
            with pytest.raises(anyio.EndOfStream):
                await talk.read.receive()

    async def test_what_the_transport_raises_is_raised(self, home: Path) -> None:
        class Broken:
            async def receive(self, *_: object) -> Any:
                raise anyio.BrokenResourceError

            send = aclose = receive

        async with watch(Broken(), Broken(), home=home) as (read, write):
            with pytest.raises(anyio.BrokenResourceError):
                await read.receive()
            with pytest.raises(anyio.BrokenResourceError):
                await write.send(message(CALL))

    async def test_closing_closes_the_transports_own(self, home: Path) -> None:
        async with wire(home) as talk:
            await talk.write.aclose()
            with pytest.raises(anyio.EndOfStream):
                await talk.told()
            await talk.read.aclose()
            with pytest.raises(anyio.BrokenResourceError):
                await talk.tell(message(CALL))
            with pytest.raises(anyio.ClosedResourceError):
                await talk.read.receive()

    async def test_more_than_two_streams_stay(self, home: Path) -> None:
        async with create_client_server_memory_streams() as (ours, _):
            opened = nullcontext((*ours, "what v1 over HTTP gives"))
            async with watch(opened, home=home) as (_read, _write, more):
                assert more == "what v1 over HTTP gives"

    async def test_the_senders_context_comes_along(self, home: Path) -> None:
        variable = contextvars.ContextVar("variable", default="unset")

        async def send(stream: Any) -> None:
            variable.set("of the sender")
            await stream.send(message(CALL))

        async with (
            create_client_server_memory_streams() as (ours, (_, theirs)),
            watch(*ours, home=home) as (read, _write),
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(send, theirs)
            await read.receive()
            assert read.last_context.get(variable) == "of the sender"

    async def test_the_programs_own_exception_is_raised_as_it_is(self, home: Path) -> None:
        with pytest.raises(LookupError, match="mine"):
            async with wire(home):
                raise LookupError("mine")

    async def test_it_can_be_cancelled(self, home: Path) -> None:
        with anyio.move_on_after(0.3) as scope:
            async with wire(home) as talk:
                await talk.read.receive()
        assert scope.cancelled_caught

    def test_the_package_alone_needs_neither_anyio_nor_an_sdk(self) -> None:
        code = (
            "import sys, elicitation_receipts, elicitation_receipts.tap; "
            "print(*{'anyio', 'mcp', 'mcp_types', 'pydantic'} & set(sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert done.stdout.split() == []


class TestRecorded:
    async def test_a_question_is_durable_before_it_is_seen(self, home: Path) -> None:
        async with wire(home) as talk:
            await talk.greet()
            await talk.hear(message(QUESTION))
            assert tell(spooled(home)[-1:]) == ["requested open"]
            await anyio.sleep(0.3)
            await talk.say(message(ANSWER))
            assert tell(spooled(home)[-1:]) == ["answered accepted person_claimed"]
            await talk.hear(message(RESULT))
            assert tell(spooled(home)[-1:]) == ["resumed success"]
        assert {(one.vantage, one.fidelity) for one in spooled(home)[2:]} == {
            (Vantage.STREAM, Fidelity.PARSED)
        }

    async def test_what_is_open_at_the_end_is_abandoned(self, home: Path) -> None:
        async with wire(home) as talk:
            await talk.greet()
            await talk.hear(message(QUESTION))
        assert tell(spooled(home)[-1:]) == ["abandoned runtime !unanswered"]

    async def test_also_where_the_program_is_cancelled(self, home: Path) -> None:
        with anyio.CancelScope() as scope:
            async with wire(home) as talk:
                await talk.greet()
                await talk.hear(message(QUESTION))
                scope.cancel()
                await anyio.sleep(1)
        assert tell(spooled(home)[-1:]) == ["abandoned runtime !unanswered"]

    async def test_settings_are_arguments(self, home: Path) -> None:
        async with wire(home, tenant="acme", environment="test", automatic_below_ms=0) as talk:
            await talk.greet()
            await talk.hear(message(QUESTION))
            await talk.say(message(ANSWER))
        answered = next(one for one in spooled(home) if one.event is Event.ANSWERED)
        assert (answered.tenant, answered.environment) == ("acme", "test")
        assert answered.decided_by == "person_claimed"

    async def test_what_a_parser_refused_is_a_finding_once(self, home: Path) -> None:
        async with wire(home) as talk:
            await talk.hear(OSError("no message"))
            await talk.hear(ValueError("refused"))
            await talk.hear(ValueError("refused"))
        assert tell(spooled(home)[2:]) == ["noted !malformed_message"]

    @pytest.mark.parametrize("era", ERAS)
    async def test_both_ends_of_the_sdk_say_the_same(self, home: Path, era: str) -> None:
        answers = [
            ACCEPT,
            ElicitResult(action="decline"),
            ElicitResult(action="cancel"),
            ElicitResult(action="accept", content={"city": 7}),
            ElicitResult(action="accept"),
        ]
        async with connected(era, Person(iter(answers)), home) as (client, _):
            for tool in ("form", "form", "form", "form", "page"):
                await client.call_tool(tool, {})
        proof = "operation_result" if era == MODERN else "server_notification"
        one, other = sessions(home)
        assert comparable(one) == comparable(other)
        assert tell(one) == [
            "requested open",
            "answered accepted person_claimed",
            "resumed success",
            "requested open !reask_after_accept",
            "answered declined person_claimed",
            "resumed success",
            "requested open !reask_after_refusal",
            "answered cancelled person_claimed",
            "resumed success",
            "requested open !reask_after_refusal",
            "answered invalid person_claimed !accept_schema_mismatch",
            "resumed success",
            "requested open",
            "answered consented person_claimed",
            f"completed runtime {proof}",
            "resumed success",
        ]
        assert {receipt.redaction_status for receipt in one} == {RedactionStatus.APPLIED}
        assert TYPED.encode() not in (home / "spool.db").read_bytes()


class TestServerRecords:
    @pytest.mark.parametrize(
        ("era", "proof"), [("legacy", "authenticated_callback"), (MODERN, "status_check")]
    )
    async def test_a_proof_of_its_own(self, home: Path, era: str, proof: str) -> None:
        person = Person(iter([ElicitResult(action="accept")]))
        async with connected(era, person, home) as (client, _):
            await client.call_tool("proved", {})
        told = [tell(receipts) for receipts in sessions(home)]
        assert [
            "requested open",
            "answered consented person_claimed",
            f"completed runtime {proof}",
            "resumed success",
        ] in told

    async def test_whom_it_talks_to(self, home: Path) -> None:
        async with connected("legacy", Person(iter([ACCEPT])), home) as (client, watched):
            await watched.record_subject("auth0|1834-5567")
            await client.call_tool("form", {})
        references = [{one.subject_ref for one in receipts} for receipts in sessions(home)]
        assert {None} in references  # the client's watch knows nothing of it
        [[reference]] = [found for found in references if found != {None}]
        assert reference is not None
        assert b"1834-5567" not in (home / "spool.db").read_bytes()

    async def test_what_makes_no_sense(self, home: Path) -> None:
        async with connected("legacy", Person(iter([])), home) as (_, watched):
            assert not await watched.record_completion("never asked", "status_check")
            assert not await watched.record_checkpoint("no such task", 1)
            for proof in ("server_notification", "my word"):
                with pytest.raises(ReceiptsError, match=r"^proof_invalid: "):
                    await watched.record_completion("x", proof)  # type: ignore[arg-type]
            for version in (-1, 2**63):
                with pytest.raises(ReceiptsError, match=r"^checkpoint_invalid: "):
                    await watched.record_checkpoint("task", version)
        assert tell(spooled(home)[-1:]) == ["noted !unknown_completion_id"]


def take_away(home: Path) -> None:
    """Nothing can be written there any more."""
    shutil.rmtree(home)
    home.write_text("")


class TestFailing:
    async def test_block_refuses_a_question_by_name(self, home: Path) -> None:
        async with wire(home, when_full="block", block_timeout=0.2) as talk:
            await talk.greet()
            take_away(home)
            await talk.tell(message(QUESTION))
            answer = (await talk.told()).message
            assert (answer.id, answer.error.message.split(":")[0]) == ("q", "receipt_not_written")
            other = message({**CALL, "id": 9})
            assert await talk.hear(other) is other

    async def test_block_refuses_an_answer_in_its_place(self, home: Path) -> None:
        metadata = ServerMessageMetadata(related_request_id=1)
        async with wire(home, when_full="block", block_timeout=0.2) as talk:
            await talk.greet()
            await talk.hear(message(QUESTION))
            take_away(home)
            refused = await talk.say(message(ANSWER, metadata))
            assert refused.metadata is metadata
            assert refused.message.error.data == {"reason": LossReason.SPOOL_UNAVAILABLE.value}

    async def test_a_server_that_asks_in_vain_is_told(self, home: Path) -> None:
        person = Person(iter([ACCEPT]))
        async with connected("legacy", person, home, when_full="block", block_timeout=0.2) as (
            client,
            _,
        ):
            take_away(home)
            with pytest.raises(MCPError, match=r"^receipt_not_written"):
                await client.call_tool("form", {})
            assert len((await client.list_tools()).tools) == 3
        assert person.asked == []

    async def test_drop_lets_everything_pass(self, home: Path) -> None:
        person = Person(iter([ACCEPT]), pace=0)
        async with connected("legacy", person, home) as (client, _):
            take_away(home)
            assert not (await client.call_tool("form", {})).is_error
        assert person.asked == ["Which city?"]

    async def test_a_fault_is_named_once_without_what_it_was_about(
        self, home: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Odd:
            """What no SDK passes."""

            message = TYPED

        caplog.set_level(logging.DEBUG, "elicitation_receipts")
        async with wire(home) as talk:
            odd = Odd()
            assert await talk.hear(odd) is odd
            assert await talk.say(odd) is odd
        assert [record.getMessage() for record in caplog.records] == [
            "watcher_fault: AttributeError; traffic goes on, receipts may be missing"
        ]
        assert TYPED not in caplog.text
        lost = next(one.loss for one in spooled(home) if one.event is Event.LOST)
        assert lost is not None
        assert lost.reason is LossReason.WATCHER_FAULT

    async def test_where_nothing_can_be_written_the_transport_is_not_opened(
        self, home: Path
    ) -> None:
        home.mkdir(mode=0o755)

        @asynccontextmanager
        async def transport() -> AsyncIterator[tuple[Any, ...]]:
            pytest.fail("opened")
            yield ()

        with pytest.raises(ReceiptsError, match=r"^home_open_to_others: "):
            async with watch(transport(), home=home):
                pass

    async def test_a_transport_that_does_not_open_leaves_nothing_behind(self, home: Path) -> None:
        @asynccontextmanager
        async def transport() -> AsyncIterator[tuple[Any, ...]]:
            raise LookupError("no such server")
            yield ()

        with pytest.raises(LookupError, match="no such server"):
            async with watch(transport(), home=home):
                pass
        assert list((home / "watchers").iterdir()) == []

    def test_an_unknown_setting(self, home: Path) -> None:
        with pytest.raises(ReceiptsError, match=r"^setting_unknown: "):
            watch(nullcontext(()), home=home, tennant="acme")


def answer(result: str) -> bytes:
    return b'{"jsonrpc":"2.0","id":"q","result":%b}' % result.encode()


#: A client's answers, each of which shows its finding to who sees the bytes.
UNSEEN_ANSWERS = {
    FindingName.DUPLICATE_MEMBER: answer('{"action":"decline","action":"cancel"}'),
    FindingName.BATCH_ARRAY: b"[%b]" % answer('{"action":"decline"}'),
    FindingName.OVERSIZED_MESSAGE: answer(
        '{"action":"accept","content":{"city":"%s"}}' % ("x" * DEFAULT_LIMIT)
    ),
}


@pytest.mark.parametrize("name", UNSEEN)
async def test_what_is_listed_as_unseen_is_seen_by_bytes_alone(
    tmp_path: Path, name: FindingName
) -> None:
    raw = UNSEEN_ANSWERS[name]
    await watch_parsed(tmp_path / "parsed", raw)
    watch_bytes(tmp_path / "bytes", raw)
    assert name in found(tmp_path / "bytes")
    assert name not in found(tmp_path / "parsed")


BEFORE = [json.dumps({"jsonrpc": "2.0", **one}).encode() for one in (INITIALIZE, INITIALIZED, CALL)]


async def watch_parsed(home: Path, raw: bytes) -> None:
    """A server behind the SDK's own parser asks, and is answered with ``raw``."""
    lines = b"".join(line + b"\n" for line in (*BEFORE, raw))
    stdin = anyio.wrap_file(io.StringIO(lines.decode()))
    stdout = anyio.wrap_file(io.StringIO())
    async with watch(stdio_server(stdin, stdout), side="server", home=home) as (read, write):
        for _ in BEFORE:
            await read.receive()
        await write.send(message(QUESTION))
        await read.receive()
        await read.aclose()
        await write.aclose()


def watch_bytes(home: Path, raw: bytes) -> None:
    """The same conversation as a tap sees it."""
    opened = Home.open(home, create=True)
    settings = load(opened.settings_file, environ={}).settings
    with open_watcher(opened, settings, Vantage.STDIO, Fidelity.BYTES, print) as watcher:
        for line in BEFORE:
            watcher.observe(Direction.CLIENT_TO_SERVER, line)
        question = json.dumps({"jsonrpc": "2.0", **QUESTION}).encode()
        watcher.observe(Direction.SERVER_TO_CLIENT, question)
        if len(raw) > DEFAULT_LIMIT:
            watcher.observe_oversized(Direction.CLIENT_TO_SERVER)
        else:
            watcher.observe(Direction.CLIENT_TO_SERVER, raw)
        watcher.close()


def found(home: Path) -> set[FindingName]:
    return {finding.name for receipt in spooled(home) for finding in receipt.findings}
