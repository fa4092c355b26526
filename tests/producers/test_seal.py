"""The sealer: durable or counted, in order, whatever becomes of disk, lock and home."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from policies import policy_with
from sample import PRODUCER, assert_unbroken, question, read_all, receipt, run

from elicitation_receipts.producers.policy import BUILT_IN
from elicitation_receipts.producers.recover import recover
from elicitation_receipts.producers.seal import Sealer, WhenFull
from elicitation_receipts.schemas.lock import FileLock
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event, LossReason


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def spool(home: Path) -> Iterator[Spool]:
    with Spool.open(home, lock_timeout=0.1) as opened:
        yield opened


@contextmanager
def sealer(spool: Spool, when_full: WhenFull = WhenFull.DROP, **options: Any) -> Iterator[Sealer]:
    with Sealer(spool, "default", PRODUCER, when_full=when_full, **options) as opened:
        yield opened


def events(spool: Spool) -> list[Event]:
    return [found.event for found in read_all(spool)]


def losses(spool: Spool) -> list[tuple[int | None, LossReason]]:
    found = [each.loss for each in read_all(spool) if each.event is Event.LOST]
    return [(loss.count, loss.reason) for loss in found if loss is not None]


# Writing works


def test_what_a_ticket_says_is_durable_others_can_read(spool: Spool, home: Path) -> None:
    with sealer(spool) as sealing:
        sent = [receipt(sealing.stream_id) for _ in range(3)]
        assert sealing.submit(sent).wait()
        with Spool.open(home, create=False) as other:
            assert [each.receipt_id for each in read_all(other)[1:]] == [
                each.receipt_id for each in sent
            ]


def test_submissions_keep_their_order(spool: Spool) -> None:
    with sealer(spool) as sealing:
        sent = [receipt(sealing.stream_id) for _ in range(200)]
        tickets = [sealing.submit([each]) for each in sent]
        assert all(ticket.wait() for ticket in tickets)
    assert [each.receipt_id for each in read_all(spool)[1:]] == [each.receipt_id for each in sent]
    assert_unbroken(spool)


def test_closing_writes_what_waits(spool: Spool) -> None:
    with sealer(spool) as sealing:
        tickets = [sealing.submit([receipt(sealing.stream_id)]) for _ in range(20)]
    assert all(ticket.wait() for ticket in tickets)
    assert len(read_all(spool)) == 21


def test_nothing_to_write_is_written_at_once(spool: Spool) -> None:
    with sealer(spool) as sealing:
        assert sealing.submit([]).wait()


def test_a_policy_is_told_once_until_it_changes(spool: Spool) -> None:
    other = policy_with("form", max_fields=3)
    for policy in (BUILT_IN, BUILT_IN, other, BUILT_IN):
        Sealer(spool, "default", PRODUCER, policy=policy).close()
    told = [each.policy_digest for each in read_all(spool) if each.event is Event.POLICY_LOADED]
    assert told == [BUILT_IN.digest, other.digest, BUILT_IN.digest]


def test_an_open_question_is_its_watchers(spool: Spool) -> None:
    with sealer(spool) as sealing:
        sealing.submit([question(sealing.stream_id)]).wait()
        assert [each.watcher for each in spool.open_questions()] == [sealing.watcher]


# Writing fails


def test_dropped_receipts_are_told_of_before_the_next(spool: Spool, home: Path) -> None:
    with sealer(spool) as sealing:
        stream_id = sealing.stream_id
        with FileLock(home / "spool.lock"):
            first = receipt(stream_id)
            for sent in ([first, receipt(stream_id)], [receipt(stream_id)]):
                ticket = sealing.submit(sent)
                assert not ticket.wait()
                assert ticket.reason is LossReason.SPOOL_LOCKED
        assert sealing.submit([receipt(stream_id)]).wait()

    *_, lost, _ = read_all(spool)
    assert events(spool) == [Event.STREAM_OPENED, Event.LOST, Event.NOTED]
    assert lost.loss is not None
    assert (lost.loss.count, lost.loss.since) == (3, first.occurred_at)
    assert_unbroken(spool)


def test_a_loss_is_told_of_though_nothing_follows(spool: Spool, home: Path) -> None:
    with sealer(spool) as sealing:
        with FileLock(home / "spool.lock"):
            assert not sealing.submit([receipt(sealing.stream_id)]).wait()
        deadline = time.monotonic() + 10
        while not losses(spool) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert losses(spool) == [(1, LossReason.SPOOL_LOCKED)]
    assert losses(spool) == [(1, LossReason.SPOOL_LOCKED)]


def test_what_could_not_be_made_is_counted(spool: Spool) -> None:
    with sealer(spool) as sealing:
        sealing.count_lost(2, LossReason.KEY_UNAVAILABLE)
    assert losses(spool) == [(2, LossReason.KEY_UNAVAILABLE)]


def test_block_waits_until_writing_works(spool: Spool, home: Path) -> None:
    with sealer(spool, WhenFull.BLOCK, block_timeout=60) as sealing:
        lock = FileLock(home / "spool.lock")
        lock.acquire()
        tickets = [sealing.submit([receipt(sealing.stream_id)]) for _ in range(5)]
        time.sleep(0.5)
        assert not any(ticket.settled for ticket in tickets)
        lock.release()
        assert all(ticket.wait() for ticket in tickets)
    assert losses(spool) == []
    assert_unbroken(spool)


def test_block_gives_up_and_says_why(spool: Spool, home: Path) -> None:
    with sealer(spool, WhenFull.BLOCK, block_timeout=0.3) as sealing:
        began = time.monotonic()
        with FileLock(home / "spool.lock"):
            ticket = sealing.submit([receipt(sealing.stream_id)])
            assert not ticket.wait()
        assert ticket.reason is LossReason.SPOOL_LOCKED
        assert time.monotonic() - began >= 0.3
    assert losses(spool) == [(1, LossReason.SPOOL_LOCKED)]


def test_a_receipt_without_an_encoding_takes_no_other_with_it(spool: Spool, home: Path) -> None:
    with sealer(spool, WhenFull.BLOCK) as sealing:
        good = [receipt(sealing.stream_id) for _ in range(4)]
        bad = receipt(sealing.stream_id, tool="not an identifier")
        with FileLock(home / "spool.lock"):  # so that they come to share an attempt
            tickets = [sealing.submit([each]) for each in (*good[:2], bad, *good[2:])]
        assert [ticket.wait() for ticket in tickets] == [True, True, False, True, True]
        assert tickets[2].reason is LossReason.WATCHER_FAULT
    written = [each.receipt_id for each in read_all(spool) if each.event is Event.NOTED]
    assert written == [each.receipt_id for each in good]
    assert losses(spool) == [(1, LossReason.WATCHER_FAULT)]
    assert_unbroken(spool)


def test_what_is_buffered_goes_on_and_is_written_in_order_later(spool: Spool, home: Path) -> None:
    with sealer(spool, WhenFull.BUFFER) as sealing:
        with FileLock(home / "spool.lock"):
            tickets = []
            sent = [receipt(sealing.stream_id) for _ in range(300)]
            for each in sent:
                tickets.append(sealing.submit([each]))
                assert not tickets[-1].wait()  # it is not durable, and nobody waits for that
            assert {ticket.reason for ticket in tickets} == {LossReason.SPOOL_LOCKED}
            assert not any(ticket.written.done() for ticket in tickets)
        assert all(ticket.written.result(60) for ticket in tickets)
        last = sealing.submit([receipt(sealing.stream_id)])
        assert last.wait()
    written = [each.receipt_id for each in read_all(spool) if each.event is Event.NOTED]
    assert written[:-1] == [each.receipt_id for each in sent]
    assert losses(spool) == []
    assert list((home / "watchers").iterdir()) == []


def test_a_buffer_that_is_full_drops(spool: Spool, home: Path) -> None:
    with sealer(spool, WhenFull.BUFFER, buffer=10) as sealing:
        with FileLock(home / "spool.lock"):
            tickets = [sealing.submit([receipt(sealing.stream_id)] * 2) for _ in range(12)]
            for ticket in tickets:
                ticket.wait()
        assert [ticket.written.result(60) for ticket in tickets] == [True] * 5 + [False] * 7
    assert events(spool) == [Event.STREAM_OPENED, *[Event.NOTED] * 10, Event.LOST]
    assert losses(spool) == [(14, LossReason.SPOOL_LOCKED)]


@pytest.mark.parametrize("when_full", WhenFull)
def test_one_that_ends_while_it_cannot_write_leaves_the_number(
    spool: Spool, home: Path, when_full: WhenFull
) -> None:
    sealing = Sealer(spool, "default", PRODUCER, when_full=when_full, block_timeout=0.1)
    with FileLock(home / "spool.lock"):
        for _ in range(3):
            sealing.submit([receipt(sealing.stream_id)])
        sealing.close()
    for _ in range(2):
        recover(spool, PRODUCER)
        assert losses(spool) == [(3, LossReason.SPOOL_LOCKED)]


#: A watcher that loses or buffers three receipts, and is killed as it writes what it still owes.
#: The first note is that something is lost; the second would be that it no longer is.
KILLED_WITH_A_DEBT = """
import os, signal, sys
from pathlib import Path
from elicitation_receipts.producers.presence import Presence
from elicitation_receipts.producers.seal import Sealer, WhenFull
from elicitation_receipts.schemas.lock import FileLock
from elicitation_receipts.schemas.spool import Spool
from sample import PRODUCER, receipt

home, when_full, moment = Path(sys.argv[1]), WhenFull(sys.argv[2]), sys.argv[3]

def killed(self, accounts):
    os.kill(os.getpid(), signal.SIGKILL)

sealer = Sealer(Spool.open(home, lock_timeout=0.05), "default", PRODUCER, when_full=when_full)
with FileLock(home / "spool.lock"):
    for _ in range(3):
        sealer.submit([receipt(sealer.stream_id)]).wait()
    if moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    Presence.note = killed
sealer.submit([receipt(sealer.stream_id)]).written.result(60)
"""


@pytest.mark.parametrize(
    ("when_full", "moment", "told"),
    [
        (WhenFull.DROP, "before", [None]),
        (WhenFull.BUFFER, "before", [None]),
        (WhenFull.DROP, "after", [3]),
        (WhenFull.BUFFER, "after", []),
    ],
)
def test_killed_at_any_moment_a_loss_is_told_of_once(
    spool: Spool, home: Path, when_full: WhenFull, moment: str, told: list[int | None]
) -> None:
    with run(KILLED_WITH_A_DEBT, home, when_full, moment) as watcher:
        watcher.wait(60)
    assert watcher.returncode == -signal.SIGKILL
    for _ in range(2):
        recover(spool, PRODUCER)
        assert losses(spool) == [(count, LossReason.SPOOL_LOCKED) for count in told]
    assert_unbroken(spool)


# A full disk


def fill(disk: Path) -> None:
    with (disk / "filler").open("ab", buffering=0) as filler:
        for size in (65536, 4096, 1):
            try:
                while True:
                    filler.write(bytes(size))
            except OSError:
                continue


@contextmanager
def full(disk: Path) -> Iterator[None]:
    fill(disk)
    yield
    (disk / "filler").unlink()


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    home = disk / "home"
    # Over itself: what is open already keeps a file system from being made read-only.
    subprocess.run(["mount", "--bind", home, home], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", home], check=True)
    yield
    subprocess.run(["umount", "--lazy", home], check=True)


@contextmanager
def locked(disk: Path) -> Iterator[None]:
    with FileLock(disk / "home" / "spool.lock"):
        yield


@pytest.mark.parametrize("when_full", WhenFull)
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (full, LossReason.DISK_FULL),
        (read_only, LossReason.READ_ONLY),
        (locked, LossReason.SPOOL_LOCKED),
    ],
    ids=["full", "read-only", "locked"],
)
def test_emitted_and_lost_are_all_that_was_observed(
    small_disk: Path,
    when_full: WhenFull,
    fault: Callable[[Path], AbstractContextManager[None]],
    reason: LossReason,
) -> None:
    observed = 0
    outcomes: set[LossReason | None] = set()
    with (
        Spool.open(small_disk / "home", lock_timeout=0.01) as spool,
        sealer(spool, when_full, block_timeout=0.01, buffer=9) as sealing,
    ):

        def observe(count: int) -> None:
            nonlocal observed
            for _ in range(count):
                observed += 1
                ticket = sealing.submit([question(sealing.stream_id)])
                ticket.wait()
                outcomes.add(ticket.reason)

        for _ in range(2):
            observe(20)
            with fault(small_disk):
                # A full disk has some room left in files that are there.
                observe(200 if fault is full and when_full is not WhenFull.BLOCK else 20)
        observe(20)
        sealing.close()
        assert outcomes == {None, reason}
        assert {told for _, told in losses(spool)} == {reason}
        assert events(spool).count(Event.REQUESTED) + total(spool) == observed
        assert_unbroken(spool)


@pytest.mark.parametrize("when_full", WhenFull)
def test_a_home_that_is_taken_away_is_begun_again(
    spool: Spool, home: Path, when_full: WhenFull
) -> None:
    with sealer(spool, when_full, block_timeout=0.3) as sealing:
        before = sealing.stream_id
        shutil.rmtree(home)
        # What was of the stream that is gone cannot be written in another's place.
        assert not sealing.submit([receipt(before)]).wait()
        while sealing.stream_id == before:
            time.sleep(0.01)
        ticket = sealing.submit([receipt(sealing.stream_id)])
        assert ticket.written.result(60)
    assert sorted(events(spool)) == sorted([Event.STREAM_OPENED, Event.LOST, Event.NOTED])
    assert losses(spool) == [(1, LossReason.HOME_UNAVAILABLE)]
    assert list((home / "watchers").iterdir()) == []


def test_a_watcher_that_ends_on_a_full_disk_leaves_word(small_disk: Path) -> None:
    with Spool.open(small_disk / "home") as spool:
        with sealer(spool) as sealing:
            fill(small_disk)
            ticket = sealing.submit([receipt(sealing.stream_id) for _ in range(100)])
            assert not ticket.wait()
        assert losses(spool) == []
        (small_disk / "filler").unlink()

        recover(spool, PRODUCER)
        assert losses(spool) == [(100, LossReason.DISK_FULL)]
        recover(spool, PRODUCER)
        assert losses(spool) == [(100, LossReason.DISK_FULL)]


def total(spool: Spool) -> int:
    return sum(count or 0 for count, _ in losses(spool))
