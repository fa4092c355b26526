"""The official SDK over every transport: one conversation leaves equal receipts everywhere."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager, nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from http_demo import proxy, server
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import Implementation
from telling import tell

from elicitation_receipts import watch
from elicitation_receipts.demo.person import Person
from elicitation_receipts.demo.scenes import ASKED, Era
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.receipt import ZERO_HASH, Receipt
from elicitation_receipts.schemas.vocabulary import Event, Vantage

pytestmark = pytest.mark.slow

#: Where every session ends in good order. That a consent is never proved shows as a stdio
#: connection ends, over HTTP from 2026-07-28 on only as time passes. Who answers at once
#: may be held up here, where many talk at once.
SCENES = tuple(
    scene for scene in ASKED if scene.tool not in ("suggest_book", "pay_fee", "review_book")
)

Server = str | StdioServerParameters | Any
SERVER = (sys.executable, "-m", "elicitation_receipts.demo.server")
Tap = Callable[..., list[str]]


@contextmanager
def by_tap(home: Path, tap: Tap) -> Iterator[Server]:
    command = tap(home, *SERVER)
    yield StdioServerParameters(command=command[0], args=command[1:])


@contextmanager
def by_stream(home: Path, tap: Tap) -> Iterator[Server]:
    parameters = StdioServerParameters(command=SERVER[0], args=list(SERVER[1:]))
    yield watch(stdio_client(parameters), home=home)


@contextmanager
def by_proxy(home: Path, tap: Tap) -> Iterator[Server]:
    with server() as upstream, proxy(home, upstream) as url:
        yield url


@contextmanager
def by_middleware(home: Path, tap: Tap) -> Iterator[Server]:
    with server(home) as url:
        yield url


WAYS = {
    Vantage.STDIO: by_tap,
    Vantage.STREAM: by_stream,
    Vantage.HTTP: by_proxy,
    Vantage.ASGI: by_middleware,
}


async def converse(target: Server, era: Era) -> None:
    person = Person()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(asyncio.timeout(60))
        if hasattr(target, "__aenter__"):
            target = nullcontext(await stack.enter_async_context(target))
        client = Client(
            target,
            mode="legacy" if era is Era.HANDSHAKE else era.value,
            elicitation_callback=person.answer,
            client_info=Implementation(name="demo-client", version="1"),
        )
        async with client:
            for scene in SCENES:
                person.expect(scene.deeds)
                await client.call_tool(scene.tool)


@pytest.fixture(scope="module")
def told(
    tmp_path_factory: pytest.TempPathFactory,
    tap: Tap,
    read_spool: Callable[[Path], list[Receipt]],
) -> dict[tuple[Vantage, Era], list[Receipt]]:
    """The receipts of the conversation, by where the watcher stood. All homes have one key."""
    folder = tmp_path_factory.mktemp("live")
    Keyring.open(folder / "keys").tenant("default")
    homes = {(vantage, era): folder / f"{vantage}-{era}" for vantage in WAYS for era in Era}

    async def all_at_once(targets: dict[tuple[Vantage, Era], Server]) -> None:
        await asyncio.gather(*(converse(target, era) for (_, era), target in targets.items()))

    with ExitStack() as stack:
        targets = {}
        for (vantage, era), home in homes.items():
            home.mkdir(mode=0o700)
            shutil.copytree(folder / "keys", home / "keys")
            targets[vantage, era] = stack.enter_context(WAYS[vantage](home, tap))
        asyncio.run(all_at_once(targets))
    return {place: read_spool(home) for place, home in homes.items()}


@pytest.mark.parametrize("era", Era)
@pytest.mark.parametrize("vantage", [vantage for vantage in WAYS if vantage is not Vantage.STDIO])
def test_one_conversation_leaves_equal_receipts_everywhere(
    told: dict[tuple[Vantage, Era], list[Receipt]], vantage: Vantage, era: Era
) -> None:
    expected, found = told[Vantage.STDIO, era], told[vantage, era]
    assert {receipt.vantage for receipt in found} == {vantage}
    assert stories(found) == stories(expected)
    assert [
        (number, field.name, getattr(one, field.name), getattr(other, field.name))
        for number, (one, other) in enumerate(
            zip(comparable(found), comparable(expected), strict=True)
        )
        for field in fields(Receipt)
        if getattr(one, field.name) != getattr(other, field.name)
    ] == []


@pytest.mark.parametrize("era", Era)
def test_every_question_was_seen(told: dict[tuple[Vantage, Era], list[Receipt]], era: Era) -> None:
    put = [receipt for receipt in told[Vantage.HTTP, era] if receipt.event is Event.REQUESTED]
    assert [receipt.tool for receipt in put] == [
        scene.tool for scene in SCENES for _ in scene.deeds
    ]


def stories(receipts: list[Receipt]) -> list[list[str]]:
    by_elicitation: dict[UUID | None, list[Receipt]] = {}
    for receipt in receipts:
        by_elicitation.setdefault(receipt.elicitation_id, []).append(receipt)
    return [tell(story) for story in by_elicitation.values()]


def comparable(receipts: list[Receipt]) -> list[Receipt]:
    """Without ids, times, nonces and where the watcher stood; ids become places in order."""
    places: dict[UUID, UUID] = {}

    def place(id_: UUID | None) -> UUID | None:
        return id_ and places.setdefault(id_, UUID(int=len(places)))

    nothing = UUID(int=0)
    return [
        replace(
            receipt,
            receipt_id=nothing,
            stream_id=nothing,
            sequence=0,
            previous_hash=ZERO_HASH,
            elicitation_id=place(receipt.elicitation_id),
            operation_id=place(receipt.operation_id),
            session_ref=None,
            vantage=None,
            fidelity=None,
            occurred_at=0,
            since_previous_us=receipt.since_previous_us and 0,
            payload_digest=receipt.payload_digest
            and replace(receipt.payload_digest, nonce=b"", value=b""),
            correlation_refs=tuple(
                replace(reference, value=b"") for reference in receipt.correlation_refs
            ),
        )
        for receipt in receipts
    ]
