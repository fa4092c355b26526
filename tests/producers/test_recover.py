"""Recovery: what is written for watchers that were killed."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from sample import PRODUCER, assert_unbroken, question, read_all, receipt, run

from elicitation_receipts.producers.recover import recover
from elicitation_receipts.producers.seal import Sealer
from elicitation_receipts.schemas.receipt import FailedField, Loss, Payload, Receipt, Validation
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import (
    Action,
    Carrier,
    Clock,
    DecidedBy,
    Event,
    FindingName,
    Keyword,
    LossReason,
    Outcome,
    Vantage,
)

#: A watcher that puts one question and then waits to be killed, losing receipts or not.
WATCHER = """
import sys, time
from pathlib import Path
from elicitation_receipts.producers.seal import Sealer
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import LossReason
from elicitation_receipts.schemas.lock import FileLock
from sample import PRODUCER, question, receipt

home = Path(sys.argv[1])
spool = Spool.open(home, lock_timeout=0.1)
sealer = Sealer(spool, "default", PRODUCER)
sealer.submit([question(sealer.stream_id)]).wait()
if sys.argv[2] == "losing":
    with FileLock(home / "spool.lock"):
        sealer.submit([receipt(sealer.stream_id)]).wait()
        print(flush=True)
        time.sleep(600)
print(flush=True)
time.sleep(600)
"""

#: Killed between writing what the watcher left and removing its file.
KILLED_RECOVERER = """
import os, signal, sys
from pathlib import Path
from elicitation_receipts.producers.presence import Departed
from elicitation_receipts.producers.recover import recover
from elicitation_receipts.schemas.spool import Spool
from sample import PRODUCER

Departed.forget = lambda self: os.kill(os.getpid(), signal.SIGKILL)
recover(Spool.open(Path(sys.argv[1])), PRODUCER)
"""


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with Spool.open(tmp_path / "home") as opened:
        yield opened


def kill_a_watcher(home: Path, how: str = "") -> None:
    with run(WATCHER, home, how) as watcher:
        assert watcher.stdout is not None
        assert watcher.stdout.readline() == "\n"
        watcher.kill()


def ends(spool: Spool) -> list[Receipt]:
    return [found for found in read_all(spool) if found.event is Event.ABANDONED]


def test_a_killed_watchers_question_is_abandoned(spool: Spool) -> None:
    kill_a_watcher(spool.home)
    (put,) = [found for found in read_all(spool) if found.event is Event.REQUESTED]

    recover(spool, PRODUCER)

    (end,) = ends(spool)
    assert (end.elicitation_id, end.operation_id) == (put.elicitation_id, put.operation_id)
    assert (end.round, end.mode, end.carrier) == (1, put.mode, put.carrier)
    assert (end.outcome, end.decided_by) == (Outcome.ABANDONED, DecidedBy.RUNTIME)
    assert [finding.name for finding in end.findings] == [FindingName.UNANSWERED]
    assert end.receipt_id != put.receipt_id
    assert end.since_previous_us == end.occurred_at - put.occurred_at
    assert end.clock is Clock.WALL
    assert spool.open_questions() == []
    assert list((spool.home / "watchers").iterdir()) == []
    assert_unbroken(spool)


def test_a_living_watchers_question_stays_open(spool: Spool) -> None:
    with Sealer(spool, "default", PRODUCER) as sealer:
        sealer.submit([question(sealer.stream_id)]).wait()
        assert recover(spool, PRODUCER) == []
        assert len(spool.open_questions()) == 1


def test_a_question_a_watcher_left_behind_is_abandoned_too(spool: Spool) -> None:
    with Sealer(spool, "default", PRODUCER) as sealer:
        sealer.submit([question(sealer.stream_id)]).wait()
    assert [each.receipt.event for each in recover(spool, PRODUCER)] == [Event.ABANDONED]


def test_consent_that_was_never_proved_is_unproven(spool: Spool) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    put = question(stream_id)
    consent = receipt(
        stream_id,
        Event.ANSWERED,
        elicitation_id=put.elicitation_id,
        outcome=Outcome.CONSENTED,
        decided_by=DecidedBy.PERSON_CLAIMED,
        action=Action.ACCEPT,
        round=1,
        attempt=1,
    )
    spool.append([put, consent], uuid4())

    (end,) = [sealed.receipt for sealed in recover(spool, PRODUCER)]
    assert (end.event, end.outcome) == (Event.ABANDONED, Outcome.UNPROVEN)
    assert (end.decided_by, end.action, end.findings) == (DecidedBy.RUNTIME, None, ())


def test_an_end_says_nothing_of_the_answer_before_it(spool: Spool) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    noted = question(
        stream_id,
        event=Event.NOTED,
        attempt=1,
        action=Action.ACCEPT,
        payload_digest=Payload("0" * 12, bytes(16), bytes(32)),
        validation=Validation(2, 1, 2, (FailedField("age", Keyword.TYPE),), 3),
        findings_more=1,
    )
    spool.append([noted], uuid4())

    (end,) = [sealed.receipt for sealed in recover(spool, PRODUCER)]
    assert end.validation == Validation(2, 1, 2)
    assert (end.action, end.payload_digest, end.findings, end.findings_more) == (None, None, (), 0)


END_WITH_THEIR_WATCHER = (Vantage.STDIO, Vantage.STREAM)


@pytest.mark.parametrize("vantage", END_WITH_THEIR_WATCHER)
def test_a_stream_in_the_watchers_process_ends_with_it(spool: Spool, vantage: Vantage) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    spool.append([question(stream_id, vantage=vantage)], uuid4())
    assert [each.receipt.event for each in recover(spool, PRODUCER)] == [Event.ABANDONED]


OUTLIVE_THEIR_WATCHER = (Vantage.HTTP, Vantage.ASGI)
HOUR_US = 3_600_000_000


@pytest.mark.parametrize("vantage", [one for one in Vantage if one not in END_WITH_THEIR_WATCHER])
def test_other_vantages_outlive_their_watcher(spool: Spool, vantage: Vantage) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    spool.append([question(stream_id, vantage=vantage)], uuid4())
    assert recover(spool, PRODUCER) == []
    assert len(spool.open_questions()) == 1


@pytest.mark.parametrize("vantage", OUTLIVE_THEIR_WATCHER)
def test_they_end_when_their_time_has_passed(spool: Spool, vantage: Vantage) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    now = time.time_ns() // 1000
    waited = question(stream_id, vantage=vantage, occurred_at=now - HOUR_US)
    consented = replace(
        question(stream_id, vantage=vantage, occurred_at=now - HOUR_US, attempt=1),
        outcome=Outcome.CONSENTED,
    )
    expired = question(stream_id, vantage=vantage, expires_at=now - 1)
    of_task = replace(expired, receipt_id=uuid4(), elicitation_id=uuid4(), carrier=Carrier.TASK)
    over = replace(expired, receipt_id=uuid4(), elicitation_id=uuid4(), outcome=Outcome.CONSENTED)
    waits = question(stream_id, vantage=vantage, occurred_at=now - HOUR_US + 60_000_000)
    spool.append([waited, consented, expired, of_task, over, waits], uuid4())

    ended = [sealed.receipt for sealed in recover(spool, PRODUCER)]
    assert [(end.event, end.outcome, [found.name for found in end.findings]) for end in ended] == [
        # Not `unanswered`: an answer may have passed while nobody watched.
        (Event.ABANDONED, Outcome.ABANDONED, []),
        (Event.ABANDONED, Outcome.UNPROVEN, []),
        (Event.EXPIRED, Outcome.EXPIRED, []),
        (Event.EXPIRED, Outcome.EXPIRED, [FindingName.TASK_EXPIRED]),
        (Event.ABANDONED, Outcome.UNPROVEN, []),
    ]
    (left,) = spool.open_questions()
    assert left.receipt.elicitation_id == waits.elicitation_id


def test_the_time_of_a_living_watchers_question_is_its_own_matter(spool: Spool) -> None:
    with Sealer(spool, "default", PRODUCER) as sealer:
        put = question(sealer.stream_id, vantage=Vantage.HTTP, occurred_at=1)
        sealer.submit([put]).wait()
        assert recover(spool, PRODUCER) == []


def test_killed_while_losing_is_a_loss_of_unknown_number(spool: Spool) -> None:
    kill_a_watcher(spool.home, "losing")
    recover(spool, PRODUCER)
    recover(spool, PRODUCER)

    (loss,) = [found.loss for found in read_all(spool) if found.event is Event.LOST]
    assert isinstance(loss, Loss)
    assert (loss.count, loss.reason) == (None, LossReason.SPOOL_LOCKED)


def test_killed_while_recovering_tells_of_a_loss_once(spool: Spool) -> None:
    kill_a_watcher(spool.home, "losing")
    with run(KILLED_RECOVERER, spool.home) as recoverer:
        assert recoverer.wait(60) == -signal.SIGKILL
    for _ in range(2):
        recover(spool, PRODUCER)
        assert [found.event for found in read_all(spool)].count(Event.LOST) == 1


def test_an_end_goes_to_the_current_stream(spool: Spool) -> None:
    old = spool.stream_for("default", PRODUCER)
    spool.append([question(old)], uuid4())
    spool.home.rename(spool.home.with_name("elsewhere"))

    with Spool.open(spool.home.with_name("elsewhere")) as moved:
        recover(moved, PRODUCER)
        (end,) = ends(moved)
        assert end.stream_id == moved.stream_for("default", PRODUCER) != old
        assert_unbroken(moved)


def test_two_who_recover_at_once_end_each_question_once(spool: Spool) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    for _ in range(20):
        spool.append([question(stream_id)], uuid4())
    kill_a_watcher(spool.home, "losing")
    barrier = threading.Barrier(4)

    def one() -> None:
        with Spool.open(spool.home) as own:
            barrier.wait()
            recover(own, PRODUCER)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    ended = [end.elicitation_id for end in ends(spool)]
    assert len(ended) == len(set(ended)) == 21
    assert [found.event for found in read_all(spool)].count(Event.LOST) == 1
    assert_unbroken(spool)
