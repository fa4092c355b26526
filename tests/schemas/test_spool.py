"""The spool: sealing, reading, who may open it, and that no sequence is used twice."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4, uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample import PRODUCER, assert_unbroken, question, read_all, receipt, run

from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.errors import CodecError, HomeError, ReceiptsError, SpoolError
from elicitation_receipts.schemas.lock import FileLock
from elicitation_receipts.schemas.receipt import ZERO_HASH
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event, Outcome


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def spool(home: Path) -> Iterator[Spool]:
    with Spool.open(home) as opened:
        yield opened


# Sealing


def test_a_new_stream_starts_with_stream_opened(spool: Spool) -> None:
    stream_id = spool.stream_for("default", PRODUCER)

    (opened,) = read_all(spool)
    assert (opened.stream_id, opened.sequence, opened.previous_hash) == (stream_id, 0, ZERO_HASH)
    assert (opened.event, opened.tenant) == (Event.STREAM_OPENED, "default")
    assert (opened.producer_name, opened.producer_version) == ("receipts", "0.1.0")


def test_append_numbers_and_links_each_stream_by_itself(spool: Spool) -> None:
    one = spool.stream_for("one", PRODUCER)
    two = spool.stream_for("two", PRODUCER)

    sealed = spool.append([receipt(one), receipt(two), receipt(one)])

    assert [each.receipt.sequence for each in sealed] == [1, 1, 2]
    assert sealed[2].receipt.previous_hash == leaf_hash(sealed[0].message) == sealed[0].leaf
    assert [decode(each.message) for each in sealed] == [each.receipt for each in sealed]
    assert_unbroken(spool)


def test_a_tenant_keeps_its_stream(spool: Spool, home: Path) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    spool.append([receipt(stream_id)])

    with Spool.open(home) as again:
        assert again.stream_for("default", PRODUCER) == stream_id
        assert again.stream_for("other", PRODUCER) != stream_id
        assert again.id == spool.id


def test_an_append_is_all_or_nothing(spool: Spool) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    unencodable = receipt(stream_id, tool="no identifier: it has spaces")

    with pytest.raises(CodecError):
        spool.append([receipt(stream_id), unencodable])

    assert len(read_all(spool)) == 1
    spool.append([receipt(stream_id)])
    assert_unbroken(spool)


def test_a_recordings_stream_is_written_once_and_never_chosen(spool: Spool) -> None:
    named = uuid5(UUID(int=1), "a recording")
    policy = receipt(named, Event.POLICY_LOADED, policy_digest=b"p" * 32)
    receipts = [receipt(named, Event.STREAM_OPENED), policy, receipt(named)]
    live = spool.stream_for("default", PRODUCER)

    assert spool.write_stream(receipts)
    assert not spool.write_stream(receipts)

    assert spool.stream_for("default", PRODUCER) == live
    assert [one.sequence for one in read_all(spool) if one.stream_id == named] == [0, 1, 2]
    assert spool.streams()[-1].policy_digest == policy.policy_digest
    spool.append([receipt(live)])
    assert_unbroken(spool)


def test_a_stream_that_cannot_be_written_whole_is_not_begun(spool: Spool) -> None:
    named = uuid5(UUID(int=1), "a recording")
    receipts = [receipt(named, Event.STREAM_OPENED), receipt(named, occurred_at=-1)]

    with pytest.raises(CodecError):
        spool.write_stream(receipts)

    assert read_all(spool) == []
    assert spool.streams() == []


def test_a_stream_the_spool_does_not_know_is_refused(spool: Spool) -> None:
    with pytest.raises(SpoolError) as caught:
        spool.append([receipt(uuid4())])
    assert caught.value.reason == "stream_unknown"


def test_threads_may_share_a_spool(spool: Spool) -> None:
    stream_id = spool.stream_for("default", PRODUCER)

    def write() -> None:
        for _ in range(20):
            spool.append([receipt(stream_id)])

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_all(spool)) == 81
    assert_unbroken(spool)


# Reading


def test_reading_goes_on_behind_a_position(spool: Spool) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    spool.append([receipt(stream_id) for _ in range(4)])

    first = spool.read(0, 3)
    rest = spool.read(first[-1].position, 3)

    assert [each.sequence for each in [*first, *rest]] == [0, 1, 2, 3, 4]
    assert spool.read(rest[-1].position, 3) == []


def test_what_is_shipped_is_told_stream_by_stream(spool: Spool) -> None:
    one = spool.stream_for("one", PRODUCER)
    two = spool.stream_for("two", PRODUCER)
    spool.append([receipt(one), receipt(two), receipt(one)])

    spool.mark_shipped({one: 2})
    left = [(each.stream_id, each.sequence) for each in spool.unshipped(10)]
    assert left == [(two, 0), (two, 1), (one, 2)]

    spool.mark_shipped({one: 1, two: 2})  # an older word takes nothing back
    assert [(each.stream_id, each.sequence) for each in spool.unshipped(10)] == [(one, 2)]
    assert [state.shipped_next for state in spool.streams()] == [2, 2]


# Open questions


def test_only_what_is_old_and_acknowledged_is_trimmed(spool: Spool) -> None:
    one, two = (spool.stream_for(tenant, PRODUCER) for tenant in ("one", "two"))
    stays = question(one, occurred_at=7)
    spool.append([receipt(one, occurred_at=5), receipt(two, occurred_at=6)])
    spool.append([stays, receipt(one, occurred_at=8), receipt(two, occurred_at=20)])

    def positions() -> list[int]:
        return [stored.position for stored in spool.read(0, 10)]

    later = 2**62
    assert spool.trim(later) == 0  # the broker has acknowledged nothing
    spool.mark_shipped({one: 10, two: 2})
    assert spool.trim(0) == 0
    assert spool.trim(later) == 4  # both beginnings, and one each
    assert positions() == [5, 6, 7]  # a question that is open
    assert [each.receipt.receipt_id for each in spool.open_questions()] == [stays.receipt_id]
    spool.append([replace(stays, receipt_id=uuid4(), outcome=Outcome.DECLINED)])
    assert spool.trim(20) == 2
    assert positions() == [7, 8]  # one that is not old enough, and what lies behind it
    assert spool.trim(later) == 0  # of stream two the broker has only two
    assert [each.next_sequence for each in spool.streams()] == [5, 3]
    spool.append([receipt(one)])
    assert positions() == [7, 8, 9]


def test_a_question_is_open_until_its_end(spool: Spool) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    watcher = uuid4()
    put = question(stream_id)
    same = {"elicitation_id": put.elicitation_id}

    spool.append([put], watcher)
    spool.append([receipt(stream_id, Event.NOTED, **same)], watcher)
    (found,) = spool.open_questions()
    assert (found.watcher, found.outcome) == (watcher, Outcome.OPEN)
    assert (found.receipt.event, found.receipt.sequence) == (Event.NOTED, 2)

    spool.append([receipt(stream_id, Event.ANSWERED, outcome=Outcome.CONSENTED, **same)], watcher)
    assert [each.outcome for each in spool.open_questions()] == [Outcome.CONSENTED]

    spool.append([receipt(stream_id, Event.COMPLETED, outcome=Outcome.COMPLETED, **same)], watcher)
    assert spool.open_questions() == []


@pytest.mark.parametrize(
    "outcome", [one for one in Outcome if one not in (Outcome.OPEN, Outcome.CONSENTED)]
)
def test_every_other_outcome_closes_a_question(spool: Spool, outcome: Outcome) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    put = question(stream_id)
    spool.append([put])
    spool.append(
        [receipt(stream_id, Event.ANSWERED, elicitation_id=put.elicitation_id, outcome=outcome)]
    )
    assert spool.open_questions() == []


# Never twice


def next_stream(home: Path) -> UUID:
    with Spool.open(home) as opened:
        stream_id = opened.stream_for("default", PRODUCER)
        opened.append([receipt(stream_id)])
        assert_unbroken(opened)
        return stream_id


@pytest.mark.parametrize(
    "how", ["copied", "moved", "put_back_in_place", "put_back_as_a_new_file", "home_put_back"]
)
def test_a_spool_that_may_have_forgotten_opens_a_new_stream(home: Path, how: str) -> None:
    with Spool.open(home) as spool:
        stream_id = spool.stream_for("default", PRODUCER)
    older = home.with_name("older.db")
    shutil.copyfile(home / "spool.db", older)
    shutil.copytree(home, home.with_name("older"))
    with Spool.open(home) as spool:
        spool.append([receipt(stream_id)])

    target = home
    if how == "copied":
        target = home.with_name("copy")
        shutil.copytree(home, target)
    elif how == "moved":
        target = home.with_name("elsewhere")
        home.rename(target)
    elif how == "put_back_in_place":
        shutil.copyfile(older, home / "spool.db")
    elif how == "put_back_as_a_new_file":
        older.replace(home / "spool.db")
    else:
        shutil.rmtree(home)
        shutil.copytree(home.with_name("older"), home)

    assert next_stream(target) != stream_id


def test_the_original_of_a_copy_keeps_its_stream(home: Path) -> None:
    stream_id = next_stream(home)
    shutil.copytree(home, home.with_name("copy"))
    assert next_stream(home.with_name("copy")) != stream_id
    assert next_stream(home) == stream_id


@given(steps=st.lists(st.sampled_from(["write", "save", "put back"]), max_size=12))
@settings(max_examples=25, deadline=None)
def test_whatever_is_put_back_no_sequence_is_used_twice(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    home = tmp_path_factory.mktemp("home")
    saved = home.with_name(f"{home.name}.db")
    used = set()
    for step in steps:
        if step == "write":
            with Spool.open(home, durability="process") as spool:
                stream_id = spool.stream_for("default", PRODUCER)
                (sealed,) = spool.append([receipt(stream_id)])
            place = (stream_id, sealed.receipt.sequence)
            assert place not in used
            used.add(place)
        elif step == "save" and (home / "spool.db").exists():
            shutil.copyfile(home / "spool.db", saved)
        elif step == "put back" and saved.exists():
            shutil.copyfile(saved, home / "spool.db")


def test_a_spool_replaced_while_open_takes_no_more(spool: Spool, home: Path) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    with Spool.open(home.with_name("other")) as other:
        other.path.replace(spool.path)

    with pytest.raises(SpoolError) as caught:
        spool.append([receipt(stream_id)])
    assert caught.value.reason == "spool_replaced"

    spool.reopen()
    assert spool.stream_for("default", PRODUCER) != stream_id


# Opening


def test_home_and_files_are_the_owners_alone(spool: Spool, home: Path) -> None:
    spool.stream_for("default", PRODUCER)
    assert home.stat().st_mode & 0o777 == 0o700
    files = [path for path in home.iterdir() if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert {"spool.db", "spool.lock", "spool.mark"} <= {path.name for path in files}


def opening_fails(home: Path, *, create: bool = True) -> str:
    with pytest.raises(ReceiptsError) as caught:
        Spool.open(home, create=create, lock_timeout=0.1)
    assert isinstance(caught.value, SpoolError | HomeError)
    return caught.value.reason


def test_reading_does_not_make_a_spool(home: Path) -> None:
    assert opening_fails(home, create=False) == "spool_missing"
    assert not home.exists()


def test_a_text_is_not_ours(home: Path) -> None:
    home.mkdir()
    (home / "spool.db").write_text("Dear diary, " * 100)
    assert opening_fails(home) == "spool_not_ours"
    assert (home / "spool.db").read_text().startswith("Dear diary")


def test_a_database_of_another_program_is_not_ours(home: Path) -> None:
    home.mkdir()
    execute(home, "CREATE TABLE theirs (n)")
    assert opening_fails(home) == "spool_not_ours"


def test_a_newer_format_is_refused(spool: Spool, home: Path) -> None:
    spool.close()
    execute(home, "PRAGMA user_version = 2")
    assert opening_fails(home) == "spool_newer"


def test_a_damaged_spool_is_named(spool: Spool, home: Path) -> None:
    stream_id = spool.stream_for("default", PRODUCER)
    spool.append([receipt(stream_id) for _ in range(200)])
    spool.close()
    with (home / "spool.db").open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(16 * 4096))
    with pytest.raises(SpoolError) as caught:
        next_stream(home)
    assert caught.value.reason == "spool_corrupt"


def test_a_folder_in_its_place_is_named(home: Path) -> None:
    (home / "spool.db").mkdir(parents=True)
    assert opening_fails(home) == "spool_unreadable"


def test_a_home_that_cannot_be_made_is_named(home: Path) -> None:
    home.write_text("a file")
    assert opening_fails(home / "below") == "home_unwritable"


def test_a_lock_that_is_held_is_named(spool: Spool, home: Path) -> None:
    with FileLock(home / "spool.lock"):
        assert opening_fails(home) == "spool_locked"


def test_a_crash_while_it_was_made_leaves_something_that_opens(home: Path) -> None:
    home.mkdir()
    (home / "spool.db").touch()
    assert opening_fails(home, create=False) == "spool_missing"
    with Spool.open(home) as spool:
        spool.stream_for("default", PRODUCER)
        assert_unbroken(spool)


def execute(home: Path, statement: str) -> None:
    connection = sqlite3.connect(home / "spool.db")
    connection.execute(statement)
    connection.close()


# Several processes

WRITER = """
import sys
from pathlib import Path
from elicitation_receipts.schemas.spool import Spool
from sample import PRODUCER, receipt

with Spool.open(Path(sys.argv[1]), durability="process", lock_timeout=60) as spool:
    stream_id = spool.stream_for("default", PRODUCER)
    for _ in range(int(sys.argv[2])):
        spool.append([receipt(stream_id), receipt(stream_id)])
"""


def test_eight_processes_write_one_unbroken_stream(home: Path) -> None:
    writers = [run(WRITER, home, "50") for _ in range(8)]
    for writer in writers:
        writer.communicate(timeout=120)
    assert [writer.returncode for writer in writers] == [0] * 8
    with Spool.open(home, create=False) as spool:
        assert [state.next_sequence for state in spool.streams()] == [801]
        assert_unbroken(spool)


# Trimming


def test_what_is_trimmed_is_in_no_file(spool: Spool, home: Path) -> None:
    mark = "marked.tool.that.goes"
    stream_id = spool.stream_for("default", PRODUCER)
    spool.append([receipt(stream_id, tool=mark) for _ in range(1200)])
    spool.append([receipt(stream_id, tool="stays") for _ in range(20)])
    assert mark.encode() in content(home)
    assert spool.drop_segment(stream_id, 1, 1200) == 1200
    assert mark.encode() not in content(home)
    assert [one.sequence for one in spool.read(0, 10_000)] == [0, *range(1201, 1221)]
    assert spool.drop_segment(stream_id, 1, 1200) == 0
    [sealed] = spool.append([receipt(stream_id)])
    assert sealed.receipt.sequence == 1221
    assert decode(sealed.message).previous_hash == leaf_hash(spool.read(0, 10_000)[-2].message)


def content(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_what_was_never_shipped_and_is_trimmed_does_not_hold_up_the_rest(spool: Spool) -> None:
    one, two = spool.stream_for("one", PRODUCER), spool.stream_for("two", PRODUCER)
    spool.append([receipt(stream_id) for _ in range(3) for stream_id in (one, two)])
    spool.drop_segment(one, 0, 1)
    spool.drop_segment(two, 0, 3)
    assert [(row.stream_id, row.sequence) for row in spool.unshipped(10)] == [(one, 2), (one, 3)]
