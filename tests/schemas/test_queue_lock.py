"""Who comes first is served first, whoever is killed on the way."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from elicitation_receipts.schemas.lock import LockError, LockTimeout
from elicitation_receipts.schemas.queue_lock import QueueLock

COME = """
import sys, time
from pathlib import Path
from elicitation_receipts.schemas.queue_lock import QueueLock
QueueLock(Path(sys.argv[1])).acquire(60)
print("served", flush=True)
time.sleep(60)
"""

COUNT = """
import sys
from pathlib import Path
from elicitation_receipts.schemas.queue_lock import QueueLock
lock, counter = QueueLock(Path(sys.argv[1])), Path(sys.argv[2])
for _ in range(100):
    lock.acquire(60)
    counter.write_text(str(int(counter.read_text()) + 1))
    lock.release()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "queue"


def come(folder: Path) -> subprocess.Popen[str]:
    """A process that waits in the queue, and then holds the lock until it is killed."""
    before = waiting(folder)
    process = subprocess.Popen(
        [sys.executable, "-c", COME, str(folder)], stdout=subprocess.PIPE, text=True
    )
    wait_until(folder, before + 1)
    return process


def waiting(folder: Path) -> int:
    """How many hold the lock or wait for it."""
    return sum(path.name.isdecimal() for path in folder.glob("*"))


def wait_until(folder: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while waiting(folder) != count:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_who_comes_first_is_served_first(folder: Path) -> None:
    served: list[int] = []

    def wait(number: int) -> None:
        lock = QueueLock(folder)
        lock.acquire(60)
        served.append(number)
        lock.release()

    first = QueueLock(folder)
    first.acquire(1)
    threads = [threading.Thread(target=wait, args=(number,)) for number in range(12)]
    for count, thread in enumerate(threads, start=2):
        thread.start()
        wait_until(folder, count)
    assert served == []
    first.release()
    for thread in threads:
        thread.join()
    assert served == list(range(12))
    assert waiting(folder) == 0


def test_a_killed_one_keeps_nobody_waiting(folder: Path) -> None:
    holder = come(folder)
    victim = come(folder)
    last = come(folder)
    victim.kill()
    victim.communicate()
    holder.kill()
    holder.communicate()
    with last:
        assert last.stdout is not None
        assert last.stdout.readline() == "served\n"
        with pytest.raises(LockTimeout):  # and it has it alone
            QueueLock(folder).acquire(0)
        last.kill()
    QueueLock(folder).acquire(5)


def test_who_waits_in_vain_hears_who_holds_it(folder: Path) -> None:
    first, second, third = (QueueLock(folder) for _ in range(3))
    first.acquire(1)
    with pytest.raises(LockTimeout, match=f"process {os.getpid()} holds") as caught:
        second.acquire(0.05)
    assert caught.value.reason == "lock_timeout"
    first.release()
    third.acquire(1)  # whoever gave up is in nobody's way


def test_its_length_counts_the_living(folder: Path) -> None:
    assert QueueLock(folder).length == 0
    holder, waiter = come(folder), come(folder)
    assert QueueLock(folder).length == 2
    waiter.kill()
    waiter.communicate()
    assert QueueLock(folder).length == 1
    holder.kill()
    holder.communicate()


def test_only_one_at_a_time(folder: Path, tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    command = [sys.executable, "-c", COUNT, str(folder), str(counter)]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    assert counter.read_text() == "300"


def test_a_folder_that_cannot_be_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LockError) as caught:
        QueueLock(tmp_path / "file" / "queue").acquire(1)
    assert caught.value.reason == "lock_unusable"
