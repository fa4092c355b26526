"""Many sessions behind one proxy, a question open in each: nothing is lost, nothing crossed."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from conversation import form, success, told
from http_sessions import AskingServer, converse, event
from http_watching import proxied, receipts_in

from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Event

pytestmark = pytest.mark.slow

SESSIONS = 200


@pytest.fixture(autouse=True)
def _many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_every_session_has_its_question_its_answer_and_its_end(tmp_path: Path) -> None:
    home = tmp_path / "home"
    while_open: list[Receipt] = []

    async def all_open() -> None:
        while_open.extend(receipts_in(home))

    async def test() -> list[bytes]:
        server = AskingServer()
        async with (
            asyncio.timeout(120),
            server.upstream.running(backlog=SESSIONS) as upstream,
            proxied(home, f"http://127.0.0.1:{upstream.port}/mcp") as port,
        ):
            return await converse(port, SESSIONS, all_open)

    heard = asyncio.run(test())
    assert len(heard) == SESSIONS
    assert all(event(form(7)) in one and event(success(1)) in one for one in heard)
    assert [receipt.event for receipt in while_open] == [Event.REQUESTED] * SESSIONS
    stories: dict[object, list[Receipt]] = {}
    for receipt in receipts_in(home):
        stories.setdefault(receipt.session_ref, []).append(receipt)
    assert len(stories) == SESSIONS
    assert {tuple(told(story)) for story in stories.values()} == {
        (
            "requested open",
            "answered accepted by person_claimed",
            "resumed (success)",
        )
    }
    assert all(len({one.elicitation_id for one in story}) == 1 for story in stories.values())
