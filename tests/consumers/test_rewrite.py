"""A rewrite drops segments with their last byte, keeps the rest, and lets the chain go on."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

import pytest
import sample
from streams import ListSource, Sealed, landed, seal

from elicitation_receipts.consumers.landing import Lander, LandingSummary
from elicitation_receipts.consumers.rewrite import DroppedSegment, drop_segments
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.errors import WarehouseError
from elicitation_receipts.schemas.keys import Key

KEY = Key(b"l" * 32)
MARK = "marked.tool.that.goes"


def stream(number: int, *tools: str) -> list[Sealed]:
    return seal(sample.receipt(UUID(int=number), tool=tool) for tool in tools)


def land(warehouse: Warehouse, source: ListSource) -> LandingSummary:
    return Lander(warehouse, source, KEY).land()


def segment(sealed: list[Sealed], first: int, last: int) -> DroppedSegment:
    return DroppedSegment(sealed[0].receipt.stream_id, first, last, sealed[last].leaf)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def contents(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.iterdir()) if file.is_file())


def test_what_was_dropped_is_in_no_file(warehouse: Warehouse) -> None:
    going, staying = stream(1, *[MARK] * 50, "stays"), stream(2, *["stays"] * 10)
    source = ListSource()
    source.add_sealed(*going, *staying)
    land(warehouse, source)
    with warehouse.open() as database:  # written so that a scan of the file finds it
        database.execute("SET force_compression = 'uncompressed'")
        database.execute("CREATE OR REPLACE TABLE receipts AS FROM receipts")
        database.execute("CHECKPOINT")
    assert MARK.encode() in contents(warehouse.path.parent)
    drop_segments(warehouse, [segment(going, 0, 49)])
    assert MARK.encode() not in contents(warehouse.path.parent)
    with warehouse.read() as database:
        assert landed(database) == [one.receipt for one in [going[50], *staying]]


def test_elicitations_are_what_is_left_of_them(warehouse: Warehouse) -> None:
    ids = [uuid4() for _ in range(3)]
    fields = [
        {"elicitation_id": ids[0], "tool": MARK},
        {"elicitation_id": ids[1], "tool": MARK},
        {"elicitation_id": ids[1], "tool": "stays"},
        {"elicitation_id": ids[2], "tool": "stays"},
    ]
    sealed = seal(sample.question(UUID(int=1), **one) for one in fields)
    source = ListSource()
    source.add_sealed(*sealed)
    land(warehouse, source)
    drop_segments(warehouse, [segment(sealed, 0, 1)])
    with warehouse.read() as database:
        rows = database.execute("SELECT elicitation_id, tool FROM elicitations").fetchall()
        kept = database.execute("FROM elicitation_summaries ORDER BY ALL").fetchall()
        derived = database.execute("FROM elicitations_derived ORDER BY ALL").fetchall()
    assert set(rows) == {(ids[1], "stays"), (ids[2], "stays")}
    assert kept == derived


def test_everything_else_stays_as_it_was(warehouse: Warehouse) -> None:
    sealed = stream(1, "a", "b", "c")
    source = ListSource()
    source.add_sealed(*sealed)
    source.add(b"key", b"no receipt")
    land(warehouse, source)

    def rest() -> list[object]:
        with warehouse.read() as database:
            names = database.execute(
                "SELECT table_name, table_type FROM information_schema.tables ORDER BY ALL"
            ).fetchall()
            tables = [
                database.execute(f'SELECT * FROM "{name}" ORDER BY ALL').fetchall()
                for name, kind in names
                if kind == "BASE TABLE" and name not in ("receipts", "dropped_segments")
            ]
            comments = database.execute(
                "SELECT table_name, comment FROM duckdb_tables() ORDER BY ALL"
            ).fetchall()
            keys = database.execute(
                "SELECT table_name, constraint_text FROM duckdb_constraints() ORDER BY ALL"
            ).fetchall()
            return [names, tables, comments, keys, database.sql("FROM elicitations").fetchall()]

    before = rest()
    drop_segments(warehouse, [segment(sealed, 0, 1)])
    assert rest() == before
    assert [path.name for path in warehouse.path.parent.iterdir() if path.is_file()] == [
        "warehouse.duckdb"
    ]


def test_the_chain_goes_on_behind_what_was_dropped(warehouse: Warehouse) -> None:
    sealed = stream(1, *"abcdef")
    source = ListSource()
    source.add_sealed(*sealed[:3])
    land(warehouse, source)
    drop_segments(warehouse, [segment(sealed, 0, 2)])
    # Again, as Kafka may bring them, and out of order, so that the chain's end alone won't do.
    source.add_sealed(sealed[1], sealed[4], sealed[3], sealed[5])
    assert land(warehouse, source) == LandingSummary(landed=3, duplicates=1)
    with warehouse.read() as database:
        assert [one.sequence for one in landed(database)] == [3, 4, 5]
        assert database.execute("FROM breaks").fetchall() == []


def test_dropping_again_changes_nothing(warehouse: Warehouse) -> None:
    sealed = stream(1, *"abc")
    source = ListSource()
    source.add_sealed(*sealed)
    land(warehouse, source)
    for _ in range(2):
        drop_segments(warehouse, [segment(sealed, 0, 1)])
    with warehouse.read() as database:
        assert [one.sequence for one in landed(database)] == [2]
        [row] = database.execute("FROM dropped_segments").fetchall()
    assert row[:4] == (sealed[0].receipt.stream_id, 0, 1, sealed[1].leaf)


def test_where_there_is_no_room_nothing_changes(small_disk: Path) -> None:
    warehouse = Warehouse(small_disk / "warehouse.duckdb")
    sealed = stream(1, *"abc")
    source = ListSource()
    source.add_sealed(*sealed)
    land(warehouse, source)
    room = small_disk / "filler"
    with pytest.raises(OSError, match="space"):
        room.write_bytes(bytes(4 * 1024 * 1024))
    with pytest.raises(WarehouseError) as caught:
        drop_segments(warehouse, [segment(sealed, 0, 1)])
    assert caught.value.reason == "warehouse_full"
    room.unlink()
    with warehouse.read() as database:
        assert len(landed(database)) == 3
