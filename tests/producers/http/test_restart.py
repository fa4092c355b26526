"""Restart: a proxy is killed with questions open in every carrier, and the next one goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from conversation import (
    DECLINED,
    MODERN,
    accept,
    accepted,
    call,
    completion,
    decline,
    form,
    form_params,
    interim,
    request,
    result,
    retry,
    success,
    told,
    url,
    url_params,
    url_required,
)
from http_demo import started_proxy
from http_peers import EVENTS, Message, Upstream, Writer, exchange, json_answer, post
from http_watching import receipts_in

from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Vantage

pytestmark = pytest.mark.slow

Json = dict[str, Any]
META = "io.modelcontextprotocol/"
RELATED = {META + "related-task": {"taskId": "its task"}}
QUESTIONS = {"k": {"method": "elicitation/create", "params": form_params()}}


@dataclass
class Scene:
    """What passes before the proxy is killed and after: a message of the client (None: it
    listens), and what the server says to it (None: nothing)."""

    before: list[tuple[Json | None, Json | None]]
    after: list[tuple[Json | None, Json | None]]
    story: list[str]
    has_session: bool = True


def modern(message: Json) -> Json:
    meta = {
        META + "protocolVersion": MODERN,
        META + "clientCapabilities": {"elicitation": {"form": {}, "url": {}}},
    }
    return {**message, "params": {**message["params"], "_meta": meta}}


def poll(id_: int, **task: Any) -> tuple[Json, Json]:
    asking = modern(request(id_, "tasks/get", {"taskId": "a task"}))
    return asking, result(id_, taskId="a task", **task)


UPDATE = modern(
    request(4, "tasks/update", {"taskId": "a task", "inputResponses": {"k": accepted({})}})
)
COMPLETED = "completed completed by runtime (server_notification)"
SCENES = {
    "request, declined": Scene(
        [(call(1), form(7))],
        [(decline(7), None)],
        ["requested open", "answered declined by person_claimed"],
    ),
    "request, accepted": Scene(
        [(call(1), form(7))],
        [(accept(7, {"branch": "main"}), None), (None, success(1))],
        ["requested open", "answered ambiguous by unknown", "resumed (success)"],
    ),
    "request, delivered again": Scene(
        [(call(1), form(7))],
        [(None, form(7)), (accept(7, {"branch": "main"}), None), (None, success(1))],
        ["requested open", "answered accepted by person_claimed", "resumed (success)"],
    ),
    "request of a URL": Scene(
        [(call(1), url(7)), (accept(7), None)],
        [(None, completion()), (None, success(1))],
        [
            "requested open",
            "answered consented by person_claimed",
            COMPLETED,
            "resumed (success)",
        ],
    ),
    "error that requires a URL": Scene(
        [(call(1), url_required(1, url_params()))],
        [(None, completion())],
        ["requested open", COMPLETED],
    ),
    "round trip": Scene(
        [(modern(call(1)), interim(1, {"k": form_params()}, state="of nobody else"))],
        [(modern(retry(2, {"k": DECLINED}, "of nobody else")), success(2))],
        ["requested open", "answered declined by person_claimed", "resumed (success)"],
        has_session=False,
    ),
    "round trip of a URL": Scene(
        [(modern(call(1)), interim(1, {"k": url_params(None)}, state="of this one"))],
        [(modern(retry(2, {"k": accepted()}, "of this one")), success(2))],
        [
            "requested open",
            "answered consented by person_claimed",
            "completed completed by runtime (operation_result)",
            "resumed (success)",
        ],
        has_session=False,
    ),
    "task": Scene(
        [
            (modern(call(1)), result(1, resultType="task", taskId="a task", status="working")),
            poll(2, status="input_required", inputRequests=QUESTIONS),
        ],
        [
            poll(3, status="input_required", inputRequests=QUESTIONS),
            (UPDATE, None),
            poll(5, status="completed", result={"content": []}),
        ],
        ["requested open", "answered accepted by person_claimed", "resumed (success)"],
        has_session=False,
    ),
    "task of 2025-11-25": Scene(
        [
            (call(1), result(1, task={"taskId": "its task", "status": "working"})),
            (
                request(2, "tasks/result", {"taskId": "its task"}),
                form(7) | {"params": {**form(7)["params"], "_meta": RELATED}},
            ),
        ],
        [(decline(7), None), (None, success(2))],
        ["requested open", "answered declined by person_claimed"],
    ),
}


def run(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await test

    asyncio.run(bounded())


async def answer(message: Message, writer: Writer) -> None:
    """The server says what the client's request tells it to."""
    said = message.field("X-Said") or ""
    writer.write(
        EVENTS + f"data: {said}\n\n".encode()
        if said and message.first.startswith("GET")
        else json_answer(said.encode(), status="200 OK" if said else "202 Accepted")
    )
    await writer.drain()


async def play(port: int, name: str, scene: Scene, *, again: bool) -> None:
    fields = [f"Mcp-Session-Id: {name}"] if scene.has_session else []
    for asked, said in scene.after if again else scene.before:
        saying = [f"X-Said: {json.dumps(said)}"] if said is not None else []
        method = "GET" if asked is None else "POST"
        body = b"" if asked is None else json.dumps(asked).encode()
        await exchange(port, post(body, *fields, *saying, method=method))


def port_of(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port


@contextmanager
def started(home: Path, upstream: int) -> Iterator[tuple[Any, int]]:
    server = f"http://127.0.0.1:{upstream}/mcp"
    with started_proxy(home, server, "--automatic-below-ms", "0") as (process, url_):
        yield process, port_of(url_)


@pytest.fixture(scope="module")
def receipts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Receipt]]:
    """What a killed proxy and the next one wrote, by scene."""
    home = tmp_path_factory.mktemp("restart") / "home"

    async def test() -> None:
        async with Upstream(answer).running() as upstream:
            with started(home, upstream.port) as (process, port):
                for name, scene in SCENES.items():
                    await play(port, name, scene, again=False)
                process.kill()
                process.wait()
            with started(home, upstream.port) as (_, port):
                for name, scene in SCENES.items():
                    await play(port, name, scene, again=True)

    run(test())
    found: dict[object, list[Receipt]] = {}
    for receipt in receipts_in(home):
        found.setdefault(receipt.elicitation_id, []).append(receipt)
    assert None not in found, told(found[None])
    return dict(zip(SCENES, found.values(), strict=True))


@pytest.mark.parametrize("name", SCENES)
def test_a_killed_proxys_questions_are_taken_up(
    receipts: dict[str, list[Receipt]], name: str
) -> None:
    assert told(receipts[name]) == SCENES[name].story
    assert {receipt.vantage for receipt in receipts[name]} == {Vantage.HTTP}
    if SCENES[name].has_session:
        assert len({receipt.session_ref for receipt in receipts[name]}) == 1
    assert len({receipt.operation_id for receipt in receipts[name]}) == 1


def test_what_was_answered_is_closed(tmp_path: Path) -> None:
    """What is taken up has its new watcher for its own, who alone ends it."""

    async def test() -> None:
        async with Upstream(answer).running() as upstream:
            for again in (False, True):
                with started(tmp_path, upstream.port) as (process, port):
                    name = "request of a URL"
                    await play(port, name, SCENES[name], again=again)
                    process.kill()
                    process.wait()

    run(test())
    with Spool.open(tmp_path, create=False) as spool:
        assert spool.open_questions() == []
