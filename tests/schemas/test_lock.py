"""A lock has one holder, in whatever thread or process, and dies with it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from elicitation_receipts.schemas.lock import FileLock, LockError, LockTimeout, is_held

HOLD = """
import sys, time
from pathlib import Path
from elicitation_receipts.schemas.lock import FileLock
FileLock(Path(sys.argv[1])).acquire()
print("held", flush=True)
time.sleep(60)
"""

HOLD_WITH_CHILD = """
import subprocess, sys, time
from pathlib import Path
from elicitation_receipts.schemas.lock import FileLock
FileLock(Path(sys.argv[1])).acquire()
child = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, close_fds=False)
print(child.pid, flush=True)
time.sleep(60)
"""

COUNT = """
import sys
from pathlib import Path
from elicitation_receipts.schemas.lock import FileLock
lock, counter = FileLock(Path(sys.argv[1])), Path(sys.argv[2])
for _ in range(200):
    with lock:
        counter.write_text(str(int(counter.read_text()) + 1))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.lock"


def test_a_held_lock_is_refused_to_others_and_free_after_release(path: Path) -> None:
    first, second = FileLock(path), FileLock(path)
    first.acquire()
    assert first.is_acquired
    assert not second.try_acquire()
    with pytest.raises(LockTimeout) as refusal:
        second.acquire(timeout=0.05)
    assert refusal.value.reason == "lock_timeout"
    first.release()
    assert second.try_acquire()
    second.release()


def test_a_timeout_is_kept(path: Path) -> None:
    with FileLock(path):
        started = time.monotonic()
        with pytest.raises(LockTimeout):
            FileLock(path).acquire(timeout=0.2)
        assert 0.2 <= time.monotonic() - started < 2


def test_who_waits_gets_it_when_it_is_released(path: Path) -> None:
    holder, waiting = FileLock(path), FileLock(path)
    holder.acquire()
    thread = threading.Timer(0.1, holder.release)
    thread.start()
    waiting.acquire(timeout=10)
    thread.join()
    waiting.release()


def test_the_file_is_private_and_stays(path: Path) -> None:
    with FileLock(path):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_one_instance_is_not_taken_twice(path: Path) -> None:
    with FileLock(path) as lock, pytest.raises(RuntimeError):
        lock.acquire()


def test_released_twice_is_released(path: Path) -> None:
    lock = FileLock(path)
    lock.acquire()
    lock.release()
    lock.release()
    assert not is_held(path)


def test_is_held(path: Path) -> None:
    assert not is_held(path)
    assert not path.exists(), "a look makes no file"
    lock = FileLock(path)
    with lock:
        assert is_held(path)
        assert is_held(path), "a look changes nothing"
    assert not is_held(path)


def test_a_lock_that_cannot_be_opened_has_a_name(tmp_path: Path) -> None:
    for use in (FileLock(tmp_path).acquire, lambda: is_held(tmp_path)):
        with pytest.raises(LockError) as refusal:
            use()
        assert refusal.value.reason == "lock_unusable"
    with pytest.raises(LockError):
        FileLock(tmp_path / "missing" / "some.lock").acquire()


def test_a_killed_holder_gives_it_back(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_held(path)
        assert not FileLock(path).try_acquire()
        os.kill(holder.pid, signal.SIGKILL)
    FileLock(path).acquire(timeout=5)


def test_a_child_does_not_keep_the_lock_of_a_killed_holder(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_WITH_CHILD, str(path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        child = int(holder.stdout.readline())
        os.kill(holder.pid, signal.SIGKILL)
    try:
        FileLock(path).acquire(timeout=5)
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_forked_child_does_not_keep_a_released_lock(path: Path) -> None:
    lock = FileLock(path)
    lock.acquire()
    with subprocess.Popen(["sleep", "60"], close_fds=False) as child:
        lock.release()
        assert not is_held(path)
        child.kill()


def test_only_one_at_a_time(path: Path, tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    command = [sys.executable, "-c", COUNT, str(path), str(counter)]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    assert counter.read_text() == "600"
