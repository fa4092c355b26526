"""Recordings of ours with bytes changed: the reader and the core follow whatever comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random

import pytest
from accounting import check_life, check_rounds, lives
from conversation import MODERN, Conversation
from http_traffic import Traffic
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from marked_traffic import REVISIONS, Session, full_session
from scripted_server import CLIENT, Step

from elicitation_receipts.leaks import LeakSearch
from elicitation_receipts.producers.stdio.lines import Line, LineSplitter
from elicitation_receipts.schemas.codec import encode
from elicitation_receipts.schemas.identifiers import is_identifier, is_version
from elicitation_receipts.schemas.vocabulary import Event

#: Every session ends, however its messages were changed, within this many receipts a message.
MOST = 40
#: What breaks JSON, JSON-RPC and MCP in ways of their own.
TOKENS = (
    *(b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\n", b"\xff", b"\x00", b"\xed\xa0\x80"),
    *(b"null", b"1e999", b"-0", b"1.0", b"true", b'"id":7,', b'"action":"accept",', b"{}", b"[]"),
    *(b'"method":"elicitation/create",', b'"result":{},', b'"error":{},', b'"mode":"url",'),
)
SESSIONS = {revision: full_session(revision, 1) for revision in REVISIONS}
#: For every mark but the safe names: one that a change moves where names stand is a name.
SEARCHES = {
    revision: LeakSearch(
        core for core in session.marks.places if not is_identifier(core) and not is_version(core)
    )
    for revision, session in SESSIONS.items()
}

Mutation = Callable[[Random, list[Step]], None]


def _anywhere(random: Random, steps: list[Step]) -> tuple[int, bytes, int]:
    number = random.randrange(len(steps))
    line = steps[number][1]
    return number, line, random.randrange(len(line) + 1)


def _put(steps: list[Step], number: int, line: bytes) -> None:
    steps[number] = (steps[number][0], line)


def flip(random: Random, steps: list[Step]) -> None:
    number, line, at = _anywhere(random, steps)
    if at < len(line):
        _put(
            steps, number, line[:at] + bytes([line[at] ^ 1 << random.randrange(8)]) + line[at + 1 :]
        )


def insert(random: Random, steps: list[Step]) -> None:
    number, line, at = _anywhere(random, steps)
    _put(steps, number, line[:at] + random.choice(TOKENS) + line[at:])


def cut(random: Random, steps: list[Step]) -> None:
    number, line, at = _anywhere(random, steps)
    _put(steps, number, line[:at] + line[at + random.randrange(1, 40) :])


def double(random: Random, steps: list[Step]) -> None:
    number, line, at = _anywhere(random, steps)
    end = at + random.randrange(1, 40)
    _put(steps, number, line[:end] + line[at:])


def move(random: Random, steps: list[Step]) -> None:
    step = steps.pop(random.randrange(len(steps)))
    steps.insert(random.randrange(len(steps) + 1), step)


def repeat(random: Random, steps: list[Step]) -> None:
    steps.insert(random.randrange(len(steps) + 1), random.choice(steps))


def turn(random: Random, steps: list[Step]) -> None:
    """The other side says it."""
    number = random.randrange(len(steps))
    who = "server" if steps[number][0] == CLIENT else CLIENT
    steps[number] = (who, steps[number][1])


MUTATIONS: tuple[Mutation, ...] = (flip, insert, cut, double, move, repeat, turn)


def mutated(session: Session, seed: int, times: int) -> list[Step]:
    random, steps = Random(seed), list(session.steps)
    for _ in range(times):
        random.choice(MUTATIONS)(random, steps)
    return steps


def lines(stream: bytes, random: Random, splitter: LineSplitter) -> Iterator[bytes]:
    """What the reader makes of bytes that come in pieces."""
    while stream:
        size = random.randrange(1, 2_000)
        for part in splitter.feed(stream[:size]):
            if isinstance(part, Line):
                yield part.data
        stream = stream[size:]


def questions_in(line: bytes) -> int | None:
    """How many questions a line of the server puts; None where a task may put one again."""
    try:
        value = json.loads(line.decode(), parse_constant=int)  # NaN is no JSON
    except (ValueError, RecursionError):
        return 0
    if b"related-task" in line:
        return None
    messages = value if isinstance(value, list) else [value]
    return sum(
        isinstance(message, dict) and message.get("method") == "elicitation/create"
        for message in messages
    )


def check(revision: str, seed: int, times: int) -> None:
    session = SESSIONS[revision]
    random, talk = Random(seed), Conversation(revision, greet=False)
    splitters = {who: LineSplitter() for who in (CLIENT, "server")}
    for who, data in mutated(session, seed, times):
        for line in lines(data, random, splitters[who]):
            if who == CLIENT:
                talk.client(line)
            else:
                put = [r for r in talk.server(line) if r.event is Event.REQUESTED]
                expected = questions_in(line)
                asked = [r for r in put if r.carrier == "server_request"]
                assert expected is None or len(asked) == expected
        talk.wait(seconds=1)
    talk.close()
    assert talk.close() == []
    for life in lives(talk.receipts):
        check_life(life)
    assert len(talk.receipts) < MOST * len(session.steps)
    search = SEARCHES[revision]
    search.look("receipts", b"".join(encode(receipt) for receipt in talk.receipts))
    search.require_nothing()


def check_with_restarts(revision: str, seed: int, times: int) -> None:
    """Over HTTP, with watchers that die: what is open is taken up, and ends once at most."""
    random, traffic = Random(seed), Traffic()
    session = None if revision == MODERN else "one"
    exchange = traffic.open(session=session)
    for who, data in mutated(SESSIONS[revision], seed, times):
        if random.random() < 0.1:
            traffic.restart()
            exchange = traffic.open(session=session, method="GET")
        if who == CLIENT:
            exchange = traffic.open(session=session)
            traffic.keep(exchange.on_request(data, traffic.now()))
        else:
            traffic.keep(exchange.on_frame(data, traffic.now()))
    traffic.status(traffic.open(session="one", method="DELETE"))
    for life in lives(traffic.receipts):
        check_rounds(life)


SEEDS = st.integers(0, 2**32)
TIMES = st.integers(1, 30)


@pytest.mark.parametrize("revision", REVISIONS)
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(seed=SEEDS, times=TIMES)
def test_a_changed_recording(revision: str, seed: int, times: int) -> None:
    check(revision, seed, times)


@pytest.mark.parametrize("revision", REVISIONS)
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(seed=SEEDS, times=TIMES)
def test_a_changed_recording_with_watchers_that_die(revision: str, seed: int, times: int) -> None:
    check_with_restarts(revision, seed, times)


@pytest.mark.slow
@pytest.mark.parametrize("revision", REVISIONS)
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(seed=SEEDS, times=TIMES)
def test_very_many_changed_recordings(revision: str, seed: int, times: int) -> None:
    check(revision, seed, times)
    check_with_restarts(revision, seed, times)
