"""`receipts retention` and `receipts hold`: what goes, what stays, and what is left of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from sample import PRODUCER, question, receipt

from elicitation_receipts.consumers.landing import Lander, Warehouse
from elicitation_receipts.consumers.source import SpoolSource
from elicitation_receipts.leaks import LeakSearch
from elicitation_receipts.schemas.identifiers import OPERATORS
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.operators import Operators
from elicitation_receipts.schemas.receipt import Act
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event

Receipts = Callable[..., subprocess.CompletedProcess[str]]

DAY = 86_400 * 1_000_000
MARK = "marked.tool.that.goes"
AGES = {"RECEIPTS_RETENTION": "default=30d tax=never"}


def days_ago(days: float) -> int:
    return time.time_ns() // 1000 - int(days * DAY)


def write(home: Path, *times: float, **fields: object) -> UUID:
    """Receipts of so many days ago, in the stream of the default tenant."""
    Keyring.open(home / "keys").tenant("default")
    with Spool.open(home) as spool:
        stream_id = spool.stream_for("default", PRODUCER)
        spool.append(
            [
                replace(receipt(stream_id, **fields), occurred_at=days_ago(days))  # type: ignore[arg-type]
                for days in times
            ]
        )
    return stream_id


def stream_opened_long_ago(home: Path) -> None:
    """A stream begins with a receipt of today: as if it had begun a year ago."""
    home.mkdir(mode=0o700)
    clock = time.time_ns
    with pytest.MonkeyPatch.context() as past:
        past.setattr(time, "time_ns", lambda: clock() - 365 * DAY * 1000)
        write(home)


def land(home: Path) -> None:
    with Spool.open(home) as spool:
        key = Keyring.open(home / "keys").lander()
        Lander(Warehouse(home / "warehouse.duckdb"), SpoolSource(spool), key).land()


@pytest.fixture
def old_home(home: Path) -> Path:
    """Three days of receipts that are old, one that is not, all landed and sealed by nobody."""
    stream_opened_long_ago(home)
    write(home, 60, 60, 50, tool=MARK)
    write(home, 40)
    write(home, 10, 10)
    land(home)
    return home


def done(ended: subprocess.CompletedProcess[str]) -> str:
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def states(receipts: Receipts) -> list[tuple[int, int, str]]:
    rows = json.loads(done(receipts("retention", "list", "--format", "json", **AGES)))["rows"]
    return [(row["first"], row["last"], row["state"]) for row in rows]


def verdicts(receipts: Receipts) -> dict[str, str]:
    rows = json.loads(receipts("verify", "--format", "json").stdout)["rows"]
    return {row["check"]: f"{row['verdict']}: {row['reason']}" for row in rows}


def acts(home: Path, event: Event) -> list[Act]:
    with Spool.open(home) as spool:
        operators = Operators(spool, Keyring.open(home / "keys"), PRODUCER)
        return [one.act for one in operators.acts() if one.act and one.event is event]


def there(home: Path) -> tuple[list[int], list[int]]:
    """The sequences of the default tenant in the spool and in the database."""
    with Spool.open(home) as spool:
        tenants = {stream.stream_id: stream.tenant for stream in spool.streams()}
        stored = [one for one in spool.read(0, 10**9) if tenants[one.stream_id] != OPERATORS]
    with Warehouse(home / "warehouse.duckdb").read() as database:
        rows = database.execute(
            "SELECT sequence FROM receipts WHERE tenant <> ? ORDER BY ALL", [OPERATORS]
        ).fetchall()
    return [one.sequence for one in stored], [row[0] for row in rows]


def test_what_is_old_enough_goes_and_its_seal_stays(old_home: Path, receipts: Receipts) -> None:
    assert "sealed 5 segments" in done(receipts("retention", "seal"))
    assert [state for _, _, state in states(receipts)] == ["due"] * 4 + ["kept"]
    search = LeakSearch([MARK])
    search.folder(old_home)
    assert search.places, "before it goes it is found"
    assert "dropped 4 segments, 5 receipts" in done(receipts("retention", "apply", **AGES))
    assert there(old_home) == ([5, 6], [5, 6])
    search = LeakSearch([MARK])
    search.folder(old_home)
    search.require_nothing()
    assert [state for _, _, state in states(receipts)] == ["dropped"] * 4 + ["kept"]
    for event, count in ((Event.SEGMENT_SEALED, 5), (Event.SEGMENT_DROPPED, 4)):
        recorded = acts(old_home, event)
        assert [act.target for act in recorded] == ["default"] * count
        assert recorded[0].root is not None
    dropped = acts(old_home, Event.SEGMENT_DROPPED)
    assert [(act.first_sequence, act.last_sequence, act.count) for act in dropped] == [
        (0, 0, 1),
        (1, 2, 2),
        (3, 3, 1),
        (4, 4, 1),
    ]


def test_verify_calls_it_expired_and_finds_what_else_is_missing(
    old_home: Path, receipts: Receipts
) -> None:
    done(receipts("retention", "seal"))
    done(receipts("retention", "apply", **AGES))
    write(old_home, 0)
    land(old_home)
    done(receipts("checkpoint"))
    found = verdicts(receipts)
    assert found["retention holes"].startswith("holds: 5 receipts expired with seal")
    assert found["completeness"].startswith("holds")
    with Warehouse(old_home / "warehouse.duckdb").open() as database:
        database.execute("DELETE FROM receipts WHERE sequence = 5 AND tenant = 'default'")
    assert receipts("verify").returncode == 1


def test_nothing_goes_without_an_age_a_seal_or_a_class_that_allows_it(
    old_home: Path, receipts: Receipts
) -> None:
    before = there(old_home)
    done(receipts("retention", "apply", **AGES))  # nothing is sealed
    done(receipts("retention", "seal"))
    done(receipts("retention", "apply"))  # no age is set
    done(receipts("retention", "apply", RECEIPTS_RETENTION="default=never"))
    done(receipts("retention", "apply", RECEIPTS_RETENTION="tax=1d"))
    assert there(old_home) == before
    assert acts(old_home, Event.SEGMENT_DROPPED) == []


def test_a_segment_stays_as_long_as_any_receipt_in_it(home: Path, receipts: Receipts) -> None:
    stream_opened_long_ago(home)
    write(home, 60)
    write(home, 60, retention_class="tax")
    land(home)
    done(receipts("retention", "seal"))
    assert states(receipts)[1:] == [(1, 2, "kept")]


def test_what_has_not_landed_or_is_an_open_question_stays(home: Path, receipts: Receipts) -> None:
    stream_opened_long_ago(home)
    with Spool.open(home) as spool:
        stream_id = spool.stream_for("default", PRODUCER)
        spool.append([question(stream_id, occurred_at=days_ago(60))])
    land(home)
    write(home, 50)
    done(receipts("retention", "seal"))
    assert [state for _, _, state in states(receipts)] == ["due", "open", "waiting"]
    ended = receipts("retention", "apply", **AGES)
    assert "1 segments are old enough and stay: they have a question without an end" in ended.stderr
    assert there(home) == ([1, 2], [1])


def test_a_held_tenant_stays_whole(old_home: Path, receipts: Receipts) -> None:
    done(receipts("retention", "seal"))
    case = "Smith v. Jones 2026/117"
    done(receipts("hold", "set", "--case", case))
    assert "already" in done(receipts("hold", "set", "--case", case))
    assert [state for _, _, state in states(receipts)] == ["held"] * 4 + ["kept"]
    before = there(old_home)
    assert "dropped 0 segments" in done(receipts("retention", "apply", **AGES))
    assert there(old_home) == before
    refused = receipts("keys", "destroy", "--yes")
    assert refused.returncode == 3
    assert "tenant_held" in refused.stderr
    # Another case does not lift it; a spool that is lost does not either.
    assert "hold_unknown" in receipts("hold", "lift", "--case", "other").stderr
    land(old_home)
    kept = old_home / "spool.db"
    shutil.move(kept, old_home.parent / "spool.db")
    assert receipts("keys", "destroy", "--yes").returncode == 3
    for file in old_home.glob("spool.db*"):
        file.unlink()
    shutil.move(old_home.parent / "spool.db", kept)
    done(receipts("hold", "lift", "--case", case))
    assert "dropped 4 segments" in done(receipts("retention", "apply", **AGES))
    files = (path for path in old_home.rglob("*") if path.is_file())
    assert not any(b"Smith" in path.read_bytes() for path in files)


def test_holds_are_listed_by_reference(old_home: Path, receipts: Receipts) -> None:
    done(receipts("hold", "set", "--case", "one"))
    done(receipts("hold", "set", "--case", "two"))
    rows = json.loads(done(receipts("hold", "list", "--format", "json")))["rows"]
    assert [row["tenant"] for row in rows] == ["default"] * 2
    [row] = json.loads(done(receipts("hold", "list", "--case", "two", "--format", "json")))["rows"]
    assert row == rows[1]
    assert "tenant_unknown" in receipts("hold", "set", "--case", "x", "--tenant", "nobody").stderr


def test_a_segment_that_was_changed_is_not_dropped(old_home: Path, receipts: Receipts) -> None:
    done(receipts("retention", "seal"))
    with Warehouse(old_home / "warehouse.duckdb").open() as database:
        database.execute("UPDATE receipts SET tool = 'another' WHERE sequence = 1")
    before = there(old_home)
    ended = receipts("retention", "apply", **AGES)
    assert ended.returncode == 3
    assert "segment_altered" in ended.stderr
    assert there(old_home) == before


def test_a_seal_of_another_key_is_none_of_ours(old_home: Path, receipts: Receipts) -> None:
    done(receipts("retention", "seal"))
    shutil.rmtree(old_home / "keys" / "signing")
    assert "seal_not_ours" in receipts("retention", "apply", **AGES).stderr


def test_sealing_again_goes_on_where_it_was(old_home: Path, receipts: Receipts) -> None:
    done(receipts("retention", "seal"))
    assert "sealed 0 segments" in done(receipts("retention", "seal"))
    write(old_home, 5)
    assert "sealed 1 segments" in done(receipts("retention", "seal"))
    assert len(acts(old_home, Event.SEGMENT_SEALED)) == 6


def test_no_key_is_left_in_any_file_after_an_erasure(old_home: Path, receipts: Receipts) -> None:
    secrets = [
        path.read_text().strip() for path in (old_home / "keys/tenants/default").glob("*.key")
    ]
    keys = Keyring.open(old_home / "keys").tenant("default")
    derived = [key.secret.hex() for key in (keys.question, keys.reference, keys.payload)]
    land(old_home)
    done(receipts("report", "completion"))
    done(receipts("keys", "destroy", "--yes"))
    land(old_home)
    search = LeakSearch([*secrets, *derived])
    search.folder(old_home)
    search.require_nothing()
    raw = [bytes.fromhex(one) for one in (*secrets, *derived)]
    for path in old_home.rglob("*"):
        if path.is_file():
            assert not any(one in path.read_bytes() for one in raw), path
    assert receipts("report", "completion").returncode == 0
    done(receipts("checkpoint"))
    assert receipts("verify").returncode in (0, 4)


# Killed

KILLED = """
import os, signal, sys
from itertools import count
from elicitation_receipts import main, retaining
from elicitation_receipts.consumers import warehouse
from elicitation_receipts.schemas.operators import Operators
from elicitation_receipts.schemas.spool import Spool

step, last = count(1), int(sys.argv.pop(1))

def dies(owner, name):
    before = getattr(owner, name)
    def dying(*arguments, **named):
        if next(step) == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return before(*arguments, **named)
    setattr(owner, name, dying)

dies(retaining, "write_folder")
dies(retaining, "drop_segments")
dies(warehouse, "_sync")
dies(Spool, "drop_segment")
dies(Operators, "record")
dies(retaining.Retention, "_forget_intent")
main.run()
"""


@pytest.mark.slow
def test_whenever_it_is_killed_the_next_run_ends_the_same(
    old_home: Path, receipts: Receipts
) -> None:
    done(receipts("retention", "seal"))
    prepared = old_home.parent / "prepared"
    shutil.copytree(old_home, prepared)
    environment = {"RECEIPTS_HOME": str(old_home), "PATH": "", **AGES}
    for last in range(1, 100):
        shutil.rmtree(old_home)
        shutil.copytree(prepared, old_home)
        ended = subprocess.run(
            [sys.executable, "-c", KILLED, str(last), "retention", "apply"],
            env=environment | {"PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=False,
        )
        if ended.returncode == 0:
            break
        assert ended.returncode == -9, ended.stderr
        done(receipts("retention", "apply", **AGES))
        assert there(old_home) == ([5, 6], [5, 6]), last
        dropped = acts(old_home, Event.SEGMENT_DROPPED)
        assert sorted(act.first_sequence or 0 for act in dropped) == [0, 1, 3, 4], last
        assert not (old_home / "evidence" / "dropping.json").exists()
    assert last > 12, "it was killed before every step"
    assert there(old_home) == ([5, 6], [5, 6])


def test_a_report_on_a_copy_nobody_can_write_says_it_was_not_recorded(
    old_home: Path, receipts: Receipts
) -> None:
    done(receipts("report", "completion"))
    [act] = acts(old_home, Event.REPORTED)
    assert (act.target, act.count) == ("completion", 0)
    # As on a read-only disk: what the operators' stream is written with is not there.
    secret = next((old_home / "keys" / "tenants" / OPERATORS).glob("tenant-*.key"))
    secret.unlink()
    ended = receipts("report", "completion", "--format", "json")
    assert ended.returncode == 0
    assert json.loads(ended.stdout)
    assert "note: not recorded in the operators' stream" in ended.stderr
    refused = receipts("report", "completion", "--require-record")
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "not_recorded" in refused.stderr
