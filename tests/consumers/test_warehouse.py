"""Opening the warehouse: made, migrated, shared, and refused by name where it is not ours."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from elicitation_receipts.consumers import warehouse as module
from elicitation_receipts.consumers.warehouse import Migration, Warehouse, installed_migrations
from elicitation_receipts.schemas.errors import WarehouseError

HOLDER = """
import duckdb, sys
database = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read")
print("open", flush=True)
sys.stdin.readline()
"""


@contextmanager
def held_by_another(path: Path, how: str) -> Iterator[subprocess.Popen[str]]:
    """The database open in another process, which does not know of our lock file."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path, how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        try:
            yield process
        finally:
            process.kill()


def reason_of(warehouse: Warehouse) -> str:
    with pytest.raises(WarehouseError) as caught, warehouse.open():
        pass
    return caught.value.reason


def applied(warehouse: Warehouse) -> list[tuple[int, str]]:
    with warehouse.open() as database:
        return database.execute("SELECT number, name FROM migrations ORDER BY number").fetchall()


def test_migrations_are_numbered_from_one_without_gaps() -> None:
    numbers = [migration.number for migration in installed_migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_new_database_has_every_migration_once(warehouse: Warehouse) -> None:
    expected = [(migration.number, migration.name) for migration in installed_migrations()]
    assert applied(warehouse) == expected
    assert applied(warehouse) == expected


def test_a_migration_that_fails_leaves_nothing(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = applied(warehouse)
    known = installed_migrations()
    broken = Migration(len(known) + 1, "broken", "CREATE TABLE half (a INTEGER); SELECT nothing;")
    with monkeypatch.context() as patched:
        patched.setattr(module, "installed_migrations", lambda: [*known, broken])
        assert reason_of(warehouse) == "warehouse_unreadable"
    assert applied(warehouse) == before
    with warehouse.open() as database, pytest.raises(duckdb.CatalogException):
        database.execute("FROM half")


def test_an_older_database_is_migrated_also_for_a_reader(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(module, "installed_migrations", lambda: installed_migrations()[:1])
        with warehouse.open():
            pass
    with warehouse.read() as database:
        assert database.execute("SELECT count(*) FROM elicitations").fetchall() == [(0,)]


def test_a_newer_database_is_refused(warehouse: Warehouse) -> None:
    with warehouse.open() as database:
        database.execute("INSERT INTO migrations VALUES (1000, 'tomorrow', now()::TIMESTAMP)")
    assert reason_of(warehouse) == "warehouse_newer"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE receipts (price DECIMAL)",
        "CREATE VIEW migrations AS SELECT 1 AS number, 'ours' AS name",
        "CREATE TABLE migrations (version INTEGER)",
        "CREATE TABLE migrations (number INTEGER, name VARCHAR)",
    ],
)
def test_somebody_elses_database_is_refused_and_unchanged(warehouse: Warehouse, sql: str) -> None:
    columns = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
    with duckdb.connect(warehouse.path) as database:
        database.execute(sql)
        before = database.execute(columns).fetchall()
    assert reason_of(warehouse) == "warehouse_not_ours"
    with duckdb.connect(warehouse.path) as database:
        assert database.execute(columns).fetchall() == before


def test_what_is_no_database_is_refused_and_unchanged(warehouse: Warehouse) -> None:
    warehouse.path.write_bytes(b"no database at all " * 1000)
    assert reason_of(warehouse) == "warehouse_unreadable"
    assert warehouse.path.read_bytes() == b"no database at all " * 1000


@pytest.mark.parametrize("keep", [0.1, 0.5])
def test_half_a_database_is_refused(warehouse: Warehouse, keep: float) -> None:
    applied(warehouse)
    content = warehouse.path.read_bytes()
    warehouse.path.write_bytes(content[: int(len(content) * keep)])
    assert reason_of(warehouse) == "warehouse_unreadable"


def test_damaged_headers_are_refused(warehouse: Warehouse) -> None:
    applied(warehouse)
    content = bytearray(warehouse.path.read_bytes())
    content[4096:12288] = bytes(8192)
    warehouse.path.write_bytes(content)
    assert reason_of(warehouse) == "warehouse_unreadable"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert reason_of(Warehouse(tmp_path / "nowhere" / "warehouse.duckdb")) == "warehouse_unwritable"


@pytest.mark.parametrize("room", [0, 4096, 8192, 12288, 32768])
def test_on_a_full_disk_nothing_half_made_is_left(small_disk: Path, room: int) -> None:
    warehouse = Warehouse(small_disk / "warehouse.duckdb")
    space = os.statvfs(small_disk)
    filler = small_disk / "filler"
    filler.write_bytes(bytes(space.f_bavail * space.f_bsize - room))
    assert reason_of(warehouse) == "warehouse_full"
    filler.unlink()
    assert applied(warehouse) == [
        (migration.number, migration.name) for migration in installed_migrations()
    ]


def test_a_making_that_was_killed_is_begun_anew(warehouse: Warehouse) -> None:
    warehouse.path.with_name(".warehouse.duckdb.new").write_bytes(b"DUCK")
    assert len(applied(warehouse)) == len(installed_migrations())
    assert [path.name for path in warehouse.path.parent.glob("*warehouse*")] == ["warehouse.duckdb"]


def test_reading_needs_something_landed(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError) as caught, warehouse.read():
        pass
    assert caught.value.reason == "warehouse_missing"
    assert not warehouse.path.exists()


@pytest.mark.parametrize("how", ["write", "read"])
def test_a_database_held_elsewhere_says_who_holds_it(warehouse: Warehouse, how: str) -> None:
    applied(warehouse)
    with (
        held_by_another(warehouse.path, how) as holder,
        pytest.raises(WarehouseError) as caught,
        Warehouse(warehouse.path, wait=0.3).open(),
    ):
        pass
    assert caught.value.reason == "warehouse_busy"
    assert f"process {holder.pid} " in str(caught.value)


def test_it_waits_until_the_database_is_free(warehouse: Warehouse) -> None:
    applied(warehouse)
    with held_by_another(warehouse.path, "write") as holder:
        threading.Timer(0.5, holder.kill).start()
        started = time.monotonic()
        with warehouse.open():
            assert time.monotonic() - started >= 0.4


def test_readers_share_and_a_writer_waits_for_them(warehouse: Warehouse) -> None:
    applied(warehouse)
    with (
        warehouse.read() as one,
        warehouse.read() as other,
        held_by_another(warehouse.path, "read"),
    ):
        for database in (one, other):
            assert database.execute("SELECT count(*) FROM receipts").fetchall() == [(0,)]
        assert reason_of(Warehouse(warehouse.path, wait=0.2)) == "warehouse_busy"


def test_only_one_writer_at_a_time(warehouse: Warehouse) -> None:
    with warehouse.open():
        assert reason_of(Warehouse(warehouse.path, wait=0.1)) == "warehouse_busy"
    applied(warehouse)


def test_what_duckdb_raises_has_a_name_and_repeats_nothing(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError) as caught, warehouse.open() as database:
        database.execute("SELECT CAST('a planted value' AS INTEGER)")
    assert caught.value.reason == "warehouse_failed"
    assert "planted" not in str(caught.value)


def test_no_extension_is_fetched(warehouse: Warehouse) -> None:
    with warehouse.open() as database:
        settings = database.execute(
            "SELECT value FROM duckdb_settings() WHERE name IN"
            " ('autoinstall_known_extensions', 'autoload_known_extensions')"
        ).fetchall()
    assert settings == [("false",), ("false",)]
