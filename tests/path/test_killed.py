"""Whatever is killed, and whenever: no gap, no receipt twice, no chain broken.

What the sealer, the shipper and the lander survive by themselves is tested with them. Here
it is the commands, with real clients and servers, side by side on one home.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path

import pytest
from asking_client import SERVER, Client
from sample import assert_unbroken, read_all
from streams import landed
from topic import assert_topic_equals, read_topic

from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.codec import encode
from elicitation_receipts.schemas.digest import reference
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event, ReferenceKind

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

RECEIPTS = [sys.executable, "-m", "elicitation_receipts"]
TENANT = "default"
PATIENCE = 60.0


class Talk:
    """A client that is asked and answers without end, through a tap, in a thread of its own.

    ``seen``: the ids of the questions that reached the client; ``resumed``: of those whose
    tool then gave its result.
    """

    _ids = count(1)  # of requests, and with them of questions: none is used twice

    def __init__(self, home: Path) -> None:
        self.seen: list[object] = []
        self.resumed: list[object] = []
        self._is_asked = threading.Event()
        self._last = threading.Event()
        self._client = Client([*RECEIPTS, "--home", str(home), "tap", "--", *SERVER])
        self._thread = threading.Thread(target=self._talk)
        self._thread.start()

    def wait_until_asked(self) -> None:
        assert self._is_asked.wait(PATIENCE)

    def kill(self) -> None:
        """Kill the tap."""
        self._client.process.kill()
        self._thread.join()

    def end(self) -> None:
        """End in good order, with nothing open."""
        self._last.set()
        self._thread.join()

    def _talk(self) -> None:
        # Where the tap is gone nothing can be written, or nothing whole comes back.
        with suppress(OSError, ValueError), ExitStack() as ending:
            ending.push(self._client)  # it may be killed while they greet
            self._client.__enter__()
            while not self._last.is_set():
                question = self._client.ask(next(self._ids))
                self.seen.append(question)
                self._is_asked.set()
                self._client.answer(question, action="decline")
                self.resumed.append(question)
            self._client.end()


class Follower(subprocess.Popen[bytes]):
    """A command that goes on until it is killed."""

    def __init__(self, home: Path, command: str, *arguments: str) -> None:
        super().__init__([*RECEIPTS, "--home", str(home), command, "--follow", *arguments])

    def kill(self) -> None:
        super().kill()
        self.wait()


class Questions:
    """The receipts of a home by question, as a client knows it by its id."""

    def __init__(self, home: Path, receipts: list[Receipt]) -> None:
        self._key = Keyring.open(home / "keys").tenant(TENANT).reference
        self._events: dict[bytes, list[Event]] = {}
        for receipt in receipts:
            for each in receipt.correlation_refs:
                if each.kind is ReferenceKind.QUESTION_ID:
                    self._events.setdefault(each.value, []).append(receipt.event)

    def events(self, question: object) -> list[Event]:
        known = reference(self._key, ReferenceKind.QUESTION_ID, json.dumps(question))
        return self._events.get(known.value, [])


def test_taps_killed_at_random(tmp_path: Path) -> None:
    home = tmp_path / "home"
    chance = random.Random(20261130)
    talks: list[Talk] = []
    for _ in range(14):
        together = [Talk(home) for _ in range(4)]
        for talk in together:
            talk.wait_until_asked()
        survivor, *victims = chance.sample(together, k=4)
        for victim in victims:  # while the others are at work
            time.sleep(chance.uniform(0, 0.1))
            victim.kill()
        survivor.end()
        talks += together
        with Spool.open(home, create=False) as spool:
            assert_told(home, read_all(spool), together)

    assert len({len(talk.seen) for talk in talks}) > 5, "the kills all hit one place"
    assert sum(len(talk.seen) > len(talk.resumed) for talk in talks) > 5, "none hit a question"
    receipts(home, "tap", "--", "true")  # ends what the killed have left open
    with Spool.open(home, create=False) as spool:
        assert_told(home, read_all(spool), talks)
        assert_ended_once(spool)
    receipts(home, "land")
    assert_landed(home)


def receipts(home: Path, *arguments: str) -> None:
    subprocess.run([*RECEIPTS, "--home", str(home), *arguments], check=True)


def assert_told(home: Path, receipts: list[Receipt], talks: list[Talk]) -> None:
    """What a client saw was durable before."""
    questions = Questions(home, receipts)
    for talk in talks:
        for question in talk.seen:
            assert questions.events(question)[0] is Event.REQUESTED
        for question in talk.resumed:
            assert questions.events(question) == [
                Event.REQUESTED,
                Event.ANSWERED,
                Event.RESUMED,
            ]


def assert_ended_once(spool: Spool) -> None:
    assert_unbroken(spool)
    assert [stream.tenant for stream in spool.streams()] == [TENANT]
    assert spool.open_questions() == []
    assert list((spool.home / "watchers").iterdir()) == []
    receipts = read_all(spool)
    put = [receipt.elicitation_id for receipt in receipts if receipt.event is Event.REQUESTED]
    ends = [
        receipt.elicitation_id
        for receipt in receipts
        if receipt.outcome is not None and receipt.outcome.is_terminal
    ]
    assert len(ends) == len(set(ends))
    assert sorted(map(str, put)) == sorted(map(str, ends))


def assert_landed(home: Path) -> None:
    """The database holds the spool, each receipt once."""
    with Spool.open(home, create=False) as spool, Warehouse(home / "warehouse.duckdb").read() as db:
        spooled = [stored.message for stored in spool.read(0, 10**9)]
        assert sorted(map(encode, landed(db))) == sorted(spooled)
        beside = "SELECT (SELECT count(*) FROM breaks), (SELECT count(*) FROM rejects)"
        assert db.execute(beside).fetchall() == [(0, 0)]


@pytest.mark.kafka
def test_everything_killed_at_random(tmp_path: Path, kafka: str, topic: str) -> None:
    home = tmp_path / "home"
    chance = random.Random(20261130)
    address = ["--kafka", kafka, "--kafka-topic", topic]
    talks: list[Talk] = []

    def talk() -> Talk:
        talks.append(Talk(home))
        return talks[-1]

    talk().wait_until_asked()
    starts: list[Callable[[], Talk | Follower]] = [
        talk,
        talk,
        lambda: Follower(home, "ship", *address),
        lambda: Follower(home, "land", *address),
    ]
    running = [start() for start in starts]
    for turn in range(48):
        place = turn % len(running)
        time.sleep(chance.uniform(0.2, 0.8))
        running[place].kill()
        running[place] = starts[place]()
    for each in [*running, talks[0]]:
        each.kill()

    receipts(home, "tap", "--", "true")  # ends what the killed have left open
    receipts(home, "ship", *address)
    receipts(home, "land", *address)
    with Spool.open(home, create=False) as spool:
        assert_told(home, read_all(spool), talks)
        assert_ended_once(spool)
        assert spool.unshipped(1) == []
        assert_topic_equals(spool, read_topic(kafka, topic))
    assert_landed(home)
