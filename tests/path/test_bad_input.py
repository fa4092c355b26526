"""Bad input, and what it gets: one line with a name, exit code 3, and nothing half written."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb
import pytest
from asking_client import SERVER, Client
from command import Ended, run_here

import elicitation_receipts
from elicitation_receipts import consumers, producers, queries, schemas
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.lock import FileLock
from elicitation_receipts.schemas.queue_lock import QueueLock
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event, FindingName, LossReason

RECEIPTS = [sys.executable, "-m", "elicitation_receipts"]
NOWHERE = ["--kafka", "127.0.0.1:1", "--timeout", "0"]

#: What works on a home. A tap that starts its server would end this process as that ends.
TAPS = ["tap", "--", "/the/server/must/not/start"]
SHIPS = ["ship", *NOWHERE]
LANDS = ["land"]
REPORTS = ["report", "completion"]
SHOWS = ["status"]


@pytest.fixture(autouse=True)
def no_other_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("RECEIPTS_", "OTEL_")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one conversation, of which the beginning has landed."""
    home = tmp_path_factory.mktemp("made") / "home"
    with Client([*RECEIPTS, "--home", str(home), "tap", "--", *SERVER]) as client:
        question = client.ask(1)
        assert run_here(home, "land").code == 0
        client.answer(question, action="decline")
        client.end()
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "home"))


def content(home: Path) -> dict[str, bytes | None]:
    """What stands where; without the locks, and the files SQLite has only while it is open."""
    return {
        str(path.relative_to(home)): path.read_bytes() if path.is_file() else None
        for path in home.rglob("*")
        if not path.name.endswith((".lock", "-wal", "-shm"))
    }


def assert_named(ended: Ended, reason: str, code: int = 3) -> None:
    assert ended.err.startswith(f"receipts: {reason}: ")
    assert ended.err.count("\n") == 1
    assert (ended.code, ended.out) == (code, "")


def assert_refused(home: Path, command: list[str], reason: str) -> None:
    before = content(home)
    assert_named(run_here(home, *command), reason)
    assert content(home) == before


# Homes


@pytest.mark.parametrize("command", [SHIPS, LANDS, REPORTS, SHOWS], ids=" ".join)
def test_a_home_that_is_not_there(tmp_path: Path, command: list[str]) -> None:
    assert_named(run_here(tmp_path / "none", *command), "home_missing")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [TAPS, SHIPS, LANDS, REPORTS, SHOWS], ids=" ".join)
def test_a_home_that_is_a_file(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "file").write_text("a file")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        assert_named(run_here(place, *command), "home_not_a_directory")
    assert (tmp_path / "file").read_text() == "a file"


@pytest.mark.parametrize("command", [TAPS, SHIPS, LANDS, REPORTS, SHOWS], ids=" ".join)
def test_a_home_that_others_may_enter(home: Path, command: list[str]) -> None:
    home.chmod(0o750)
    assert_refused(home, command, "home_open_to_others")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (TAPS, "home_unwritable"),
        (SHIPS, "spool_read_only"),
        (LANDS, "spool_read_only"),
    ],
    ids=str,
)
def test_a_home_on_a_read_only_disk(
    home: Path, small_disk: Path, command: list[str], reason: str
) -> None:
    place = shutil.copytree(home, small_disk / "home")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert_refused(place, command, reason)
    assert_named(run_here(small_disk / "another", *TAPS), "home_unwritable")


@pytest.mark.parametrize("command", [REPORTS, SHOWS], ids=" ".join)
@pytest.mark.parametrize("in_use", [False, True], ids=["at rest", "in use"])
def test_a_home_on_a_read_only_disk_can_be_read(
    home: Path, small_disk: Path, command: list[str], in_use: bool
) -> None:
    expected = run_here(home, *command)
    with ExitStack() as stack:
        if in_use:  # then what was written last stands in the logs beside the files
            spool = stack.enter_context(Spool.open(home))
            spool.mark_shipped({stream.stream_id: 1 for stream in spool.streams()})
            database = stack.enter_context(Warehouse(home / "warehouse.duckdb").open())
            database.execute("DELETE FROM receipts")
            expected = None
        place = shutil.copytree(home, small_disk / "home")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    shown = run_here(place, *command)
    expected = expected or run_here(home, *command)
    assert shown.code == expected.code == 0
    assert shown.out.replace(str(place), str(home)) == expected.out


# The spool


def is_no_database(path: Path) -> None:
    path.write_bytes(b"this is no database " * 1000)


def is_somebody_elses(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE theirs (a)")
    database.close()


def is_newer(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 1000")
    database.close()


def is_damaged(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)


def is_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("command", [TAPS, SHIPS, LANDS], ids=" ".join)
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (is_no_database, "spool_not_ours"),
        (is_somebody_elses, "spool_not_ours"),
        (is_newer, "spool_newer"),
        (is_damaged, "spool_corrupt"),
        (is_a_folder, "spool_unreadable"),
    ],
)
def test_a_spool_that_is_none(
    home: Path, command: list[str], damage: Callable[[Path], None], reason: str
) -> None:
    damage(home / "spool.db")
    assert_refused(home, command, reason)


# The database


def is_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20_000])


def is_somebody_elses_duckdb(path: Path) -> None:
    path.unlink()
    with duckdb.connect(path) as database:
        database.execute("CREATE TABLE theirs (a INTEGER)")


def is_newer_duckdb(path: Path) -> None:
    with duckdb.connect(path) as database:
        database.execute("INSERT INTO migrations VALUES (1000, 'later', now())")


@pytest.mark.parametrize("command", [LANDS, REPORTS], ids=" ".join)
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (is_no_database, "warehouse_unreadable"),
        (is_somebody_elses, "warehouse_unreadable"),
        (is_half, "warehouse_unreadable"),
        (is_a_folder, "warehouse_unreadable"),
        (is_somebody_elses_duckdb, "warehouse_not_ours"),
        (is_newer_duckdb, "warehouse_newer"),
    ],
)
def test_a_database_that_is_none(
    home: Path, command: list[str], damage: Callable[[Path], None], reason: str
) -> None:
    damage(home / "warehouse.duckdb")
    assert_refused(home, command, reason)


def test_nothing_to_report_on(home: Path) -> None:
    (home / "warehouse.duckdb").unlink()
    assert_refused(home, REPORTS, "warehouse_missing")


def test_a_status_shows_what_is_sound(home: Path) -> None:
    is_no_database(home / "warehouse.duckdb")
    is_newer(home / "spool.db")
    before = content(home)
    ended = run_here(home, "status")
    assert ended.code == 3
    assert [line.split(": ")[1] for line in ended.err.splitlines()] == [
        "warehouse_unreadable",
        "spool_newer",
    ]
    assert str(home) in ended.out
    assert content(home) == before


# Keys


def is_no_key(path: Path) -> None:
    path.write_text("no key")


def is_open_to_others(path: Path) -> None:
    path.chmod(0o644)


def leads_nowhere(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere")


@pytest.mark.parametrize(
    ("command", "key"),
    [
        (TAPS, "root.key"),
        (TAPS, "tenants/default/tenant-0001.key"),
        (TAPS, "tenants/default/epoch-0001.key"),
        (LANDS, "lander.key"),
    ],
    ids=str,
)
@pytest.mark.parametrize("damage", [is_no_key, is_open_to_others, is_a_folder, leads_nowhere])
def test_a_key_that_cannot_be_read(
    home: Path, command: list[str], key: str, damage: Callable[[Path], None]
) -> None:
    damage(home / "keys" / key)
    assert_refused(home, command, "key_unreadable")


# The schema


@pytest.fixture
def installation(tmp_path: Path) -> Path:
    """A copy of the package, to be imported from there."""
    folder = tmp_path / "installed"
    package = folder / "elicitation_receipts"
    shutil.copytree(elicitation_receipts.__path__[0], package)
    for part in (schemas, producers, consumers, queries):
        inner = (
            package / part.__name__.rpartition(".")[2]
        )  # there already: a strict editable install
        shutil.copytree(part.__path__[0], inner, dirs_exist_ok=True)
    return folder


def test_a_schema_file_that_is_damaged(installation: Path, home: Path) -> None:
    schema = installation / "elicitation_receipts" / "schemas" / "receipt_v1.avsc"
    schema.write_text(schema.read_text()[:500])
    before = content(home)
    for command in (TAPS, LANDS, ["schema", "show"]):
        done = subprocess.run(
            [*RECEIPTS, "--home", str(home), *command],
            env=os.environ | {"PYTHONPATH": str(installation)},
            capture_output=True,
            text=True,
            check=False,
        )
        ended = Ended(done.returncode, done.stdout, done.stderr, "")
        assert_named(ended, "schema_corrupt")
    assert content(home) == before  # nothing was rejected either: it can land once all is well
    assert run_here(home, "land").out.startswith("landed 2, duplicates 0, rejected 0")


# Settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TENANT", "../../elsewhere"),
        ("ENVIRONMENT", "no name"),
        ("FLOW", "123456"),
        ("WHEN_FULL", "perhaps"),
        ("BLOCK_TIMEOUT", "soon"),
        ("BLOCK_TIMEOUT", "-1"),
        ("BLOCK_TIMEOUT", "nan"),
        ("DURABILITY", "none"),
        ("AUTOMATIC_BELOW_MS", "1.5"),
        ("KAFKA_SECURITY_PROTOCOL", "none"),
    ],
)
def test_a_variable_that_makes_no_sense(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"RECEIPTS_{name}", value)
    ended = run_here(tmp_path / "new", *TAPS)
    assert_named(ended, "setting_invalid", code=2)
    assert name in ended.err
    assert value not in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('kafka_ssl_password = "hunter2', "settings_unreadable"),
        ("hunter2", "settings_unreadable"),
        ("tenant = 1", "setting_invalid"),
        ("tennant = 'hunter2'", "setting_unknown"),
    ],
)
@pytest.mark.parametrize("command", [TAPS, SHIPS, LANDS], ids=" ".join)
def test_a_settings_file_that_makes_no_sense(
    home: Path, command: list[str], text: str, reason: str
) -> None:
    (home / "receipts.toml").write_text(text)
    before = content(home)
    ended = run_here(home, *command)
    assert_named(ended, reason, code=2)
    assert "hunter2" not in ended.err
    assert content(home) == before


# The command, and what it says


@pytest.mark.parametrize("command", ["/no/such/server", "/", "/etc/hostname", ""])
def test_a_command_that_cannot_start(home: Path, command: str) -> None:
    before = len(spooled(home))
    assert_named(run_here(home, "tap", "--", command), "command_not_started")
    # The home is a copy, in which streams begin anew.
    new = [receipt.event for receipt in spooled(home)[before:]]
    assert new == [Event.STREAM_OPENED, Event.POLICY_LOADED]
    assert list((home / "watchers").iterdir()) == []


def test_traffic_that_is_no_json(home: Path) -> None:
    traffic = b"\xff\xfe{not json\n[}\n\n\x00\n" * 3
    done = subprocess.run(
        [*RECEIPTS, "--home", str(home), "tap", "--", "cat"],
        input=traffic,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, traffic, b"")
    found = [finding.name for receipt in spooled(home)[-2:] for finding in receipt.findings]
    assert found == [FindingName.MALFORMED_MESSAGE] * 2  # once each way
    assert run_here(home, "land").out == "landed 6, duplicates 0, rejected 0, breaks 0\n"


@pytest.mark.parametrize("when_full", ["drop", "block", "buffer"])
def test_a_disk_that_fills_up_under_a_running_tap(small_disk: Path, when_full: str) -> None:
    home = small_disk / "home"
    policy = ["--when-full", when_full, "--block-timeout", "0"]
    with Client([*RECEIPTS, "--home", str(home), "tap", *policy, "--", *SERVER]) as client:
        with full(small_disk):
            client.request(1, "tools/call", {"name": "weather", "arguments": {}})
            heard = client.receive()
        if when_full != "block":
            client.answer(heard["id"], action="decline")
        client.answer(client.ask(2), action="decline")
        _, err = client.end()
    first = b"receipt_not_written" if when_full == "block" else b"decline"
    assert [line.split()[1].rstrip(b":") for line in err.splitlines()] == [first, b"decline"]
    lost = [(one.loss.count, one.loss.reason) for one in spooled(home) if one.loss is not None]
    assert lost == ([] if when_full == "buffer" else [(1, LossReason.DISK_FULL)])
    put = [receipt for receipt in spooled(home) if receipt.event is Event.REQUESTED]
    assert len(put) == (2 if when_full == "buffer" else 1)


# Disks and Kafka


def test_a_disk_that_is_full_under_a_landing(home: Path, small_disk: Path) -> None:
    (home / "warehouse.duckdb").unlink()
    place = shutil.copytree(home, small_disk / "home")
    Spool.open(place, create=False).close()  # makes the files SQLite wants beside it
    with full(small_disk, but_for=65_536):
        assert_named(run_here(place, "land"), "warehouse_full")
    assert run_here(place, "land").out == "landed 5, duplicates 0, rejected 0, breaks 0\n"


@pytest.mark.kafka
def test_a_disk_that_is_full_under_a_shipment(
    home: Path, small_disk: Path, kafka: str, topic: str
) -> None:
    place = shutil.copytree(home, small_disk / "home")
    address = ["--kafka", kafka, "--kafka-topic", topic]
    with Spool.open(place, create=False), full(small_disk):
        assert_named(run_here(place, "ship", *address), "spool_full")
    assert run_here(place, "ship", *address).out == "shipped 5\n"
    landed = run_here(home, "land", *address).out
    assert landed.startswith("landed 2, duplicates ")
    assert landed.endswith(", rejected 0, breaks 0\n")


@pytest.mark.kafka
@pytest.mark.parametrize("command", ["ship", "land"])
def test_a_topic_that_does_not_exist(home: Path, kafka: str, command: str) -> None:
    missing = [command, "--kafka", kafka, "--kafka-topic", "no.such.topic"]
    assert_refused(home, missing, "topic_not_found")


@pytest.mark.kafka
@pytest.mark.parametrize("command", ["ship", "land"])
def test_a_broker_that_refuses(
    home: Path, kafka: str, topic: str, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Nobody is to log in there, whatever the password."""
    monkeypatch.setenv("RECEIPTS_KAFKA_SECURITY_PROTOCOL", "SASL_PLAINTEXT")
    monkeypatch.setenv("RECEIPTS_KAFKA_SASL_MECHANISM", "PLAIN")
    monkeypatch.setenv("RECEIPTS_KAFKA_SASL_PLAIN_USERNAME", "nobody")
    monkeypatch.setenv("RECEIPTS_KAFKA_SASL_PLAIN_PASSWORD", "hunter2")
    before = content(home)
    ended = run_here(home, command, "--kafka", kafka, "--kafka-topic", topic)
    assert_named(ended, "broker_refused")
    assert "hunter2" not in ended.err
    assert content(home) == before


@pytest.mark.parametrize("address", ["::::", "127.0.0.1:port"])
def test_an_address_that_is_none(home: Path, address: str) -> None:
    assert_refused(home, ["ship", "--kafka", address], "kafka_misconfigured")


def test_a_second_shipper(home: Path) -> None:
    with FileLock(home / "ship.lock"):
        assert_refused(home, SHIPS, "shipper_running")


def test_a_second_lander_that_waits_in_vain(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elicitation_receipts.consumers.warehouse._WAIT", 0.1)
    monkeypatch.setattr(Warehouse.__init__, "__defaults__", (0.1,))
    queue = QueueLock(home / "land.queue")
    queue.acquire(1)
    try:
        assert_refused(home, LANDS, "warehouse_busy")
    finally:
        queue.release()


# Ends


@pytest.mark.parametrize("command", [["land", "--follow"], ["ship", "--follow", *NOWHERE]])
def test_ctrl_c_ends_it_without_a_word(home: Path, command: list[str]) -> None:
    with subprocess.Popen(
        [*RECEIPTS, "--home", str(home), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_a_reader_that_leaves(home: Path) -> None:
    """As in `receipts report … | head -1`."""
    gone = ["bash", "-c", '"$@" | true; exit ${PIPESTATUS[0]}', "-"]
    for command in (REPORTS, SHOWS):
        whole = [*gone, *RECEIPTS, "--home", str(home), *command]
        done = subprocess.run(whole, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (141, b"")  # as if it had died of SIGPIPE


def test_an_output_without_room(home: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" > /dev/full', "sh", *RECEIPTS, "--home", str(home), *REPORTS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert_named(Ended(done.returncode, done.stdout, done.stderr, ""), "system_error")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_tap_started_without_standard_streams(tmp_path: Path, closed: str) -> None:
    """Its own files do not take their place: nothing that passes is written into them."""
    home = tmp_path / "home"
    tap = [*RECEIPTS, "--home", str(home), "tap", "--", "sh", "-c", "cat; echo said; echo this >&2"]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *tap],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout == (b"" if ">&-" in closed.replace("2>&-", "") else b"said\n")
    assert done.stderr == (b"" if "2>&-" in closed else b"this\n")
    assert not [path for path, data in content(home).items() if data and b"said" in data]
    assert len(spooled(home)) == 3


def spooled(home: Path) -> list[Receipt]:
    with Spool.open(home, create=False) as spool:
        return [decode(stored.message) for stored in spool.read(0, 1000)]


@contextmanager
def full(disk: Path, but_for: int = 0) -> Iterator[None]:
    """There is no more room on it than ``but_for`` bytes."""
    filler = disk / "filler"
    space = os.statvfs(disk)
    filler.write_bytes(bytes(space.f_bavail * space.f_bsize - but_for))
    try:
        yield
    finally:
        filler.unlink()
