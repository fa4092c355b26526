"""Landing: each receipt once, in its place, with what did not fit beside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import duckdb
import pytest
import sample
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streams import ListSource, Sealed, any_receipt, chain, landed, seal

from elicitation_receipts.consumers import batch, landing
from elicitation_receipts.consumers.landing import Lander, LandingSummary
from elicitation_receipts.consumers.source import Positions, Record, SpoolSource
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import encode, fingerprint
from elicitation_receipts.schemas.errors import SourceError, WarehouseError
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event

Rows = list[tuple[Any, ...]]


def query(warehouse: Warehouse, sql: str) -> Rows:
    with warehouse.read() as database:
        return database.execute(sql).fetchall()


def open_gaps(warehouse: Warehouse) -> set[tuple[UUID, int]]:
    return set(
        query(
            warehouse,
            "SELECT stream_id, sequence FROM breaks WHERE kind = 'gap' AND healed_at IS NULL",
        )
    )


KEY = Key(b"k" * 32)


def land(warehouse: Warehouse, *sources: ListSource, key: Key = KEY) -> LandingSummary:
    total = LandingSummary()
    for source in sources:
        total += Lander(warehouse, source, key).land()
    return total


def source_of(*sealed: Sealed, name: str = "list") -> ListSource:
    source = ListSource(name)
    source.add_sealed(*sealed)
    return source


# The way from a spool


def test_a_spool_lands_byte_for_byte(tmp_path: Path, warehouse: Warehouse, lander_key: Key) -> None:
    with Spool.open(tmp_path / "home") as spool:
        streams = [spool.stream_for(tenant, sample.PRODUCER) for tenant in ("default", "acme")]
        for stream_id, tenant in zip(streams, ("default", "acme"), strict=True):
            spool.append([sample.question(stream_id, tenant=tenant) for _ in range(3)])
        lander = Lander(warehouse, SpoolSource(spool), lander_key)
        assert lander.land() == LandingSummary(landed=8)
        stored = spool.read(0, 100)

        with warehouse.read() as database:
            assert [encode(receipt) for receipt in landed(database)] == [
                one.message for one in sorted(stored, key=lambda one: (one.stream_id, one.sequence))
            ]
            rows = database.execute("SELECT DISTINCT source, fingerprint FROM receipts").fetchall()
            leaves = {
                row[0] for row in database.execute("SELECT leaf_hash FROM receipts").fetchall()
            }
            positions = database.execute("SELECT source, partition, next_offset FROM positions")
            assert positions.fetchall() == [(f"spool:{spool.id}", 0, 9)]
        assert rows == [(f"spool:{spool.id}", fingerprint())]
        assert leaves == {leaf_hash(one.message) for one in stored}

        assert lander.land() == LandingSummary()
        spool.append([sample.receipt(streams[0])])
        assert lander.land() == LandingSummary(landed=1)


def test_an_empty_source_makes_an_empty_warehouse(warehouse: Warehouse) -> None:
    assert land(warehouse, ListSource()) == LandingSummary()
    assert query(warehouse, "SELECT count(*) FROM receipts") == [(0,)]


def test_a_spool_put_back_from_an_older_copy_is_read_anew(
    tmp_path: Path, warehouse: Warehouse, lander_key: Key
) -> None:
    home = tmp_path / "home"
    with Spool.open(home) as spool:
        stream_id = spool.stream_for("default", sample.PRODUCER)
        spool.append([sample.receipt(stream_id)])
    copies = {file.name: file.read_bytes() for file in home.iterdir()}
    with Spool.open(home) as spool:
        spool.append([sample.receipt(stream_id) for _ in range(5)])
        Lander(warehouse, SpoolSource(spool), lander_key).land()
    for name, content in copies.items():
        if name != "spool.mark":
            (home / name).write_bytes(content)
    with Spool.open(home) as spool:
        other = spool.stream_for("default", sample.PRODUCER)
        assert other != stream_id
        assert Lander(warehouse, SpoolSource(spool), lander_key).land() == LandingSummary(
            landed=1, duplicates=2
        )
    assert dict(query(warehouse, "SELECT stream_id, count(*) FROM receipts GROUP BY ALL")) == {
        stream_id: 7,
        other: 1,
    }


# What is seen twice


def test_what_was_trimmed_before_it_landed_is_not_jumped_over(
    tmp_path: Path, warehouse: Warehouse, lander_key: Key
) -> None:
    with Spool.open(tmp_path / "home") as spool:
        stream = spool.stream_for("default", sample.PRODUCER)
        lander = Lander(warehouse, SpoolSource(spool), lander_key)
        assert lander.land() == LandingSummary(landed=1)
        spool.append([sample.receipt(stream, occurred_at=1) for _ in range(5)])
        spool.mark_shipped({stream: 6})
        assert spool.trim(2**62) == 6
        spool.append([sample.receipt(stream)])
        with pytest.raises(SourceError) as caught:
            lander.land()
        assert caught.value.reason == "source_expired"
        assert "begins at 7 and landing stopped behind 1" in str(caught.value)
        with warehouse.open() as database:  # as the message says
            database.execute("DELETE FROM positions")
        assert lander.land() == LandingSummary(landed=1, breaks=1)


def test_the_same_receipt_from_another_source_lands_once(warehouse: Warehouse) -> None:
    receipts = chain(5)
    assert land(warehouse, source_of(*receipts, name="kafka")) == LandingSummary(landed=5)
    again = source_of(*receipts, *receipts, name="spool")
    assert land(warehouse, again) == LandingSummary(duplicates=10)
    assert query(warehouse, "SELECT count(*), any_value(source) FROM receipts") == [(5, "kafka")]


@pytest.mark.parametrize("batches", [1, 2])
def test_another_receipt_in_a_taken_place_is_a_fork(warehouse: Warehouse, batches: int) -> None:
    first, second = chain(2)
    other = seal([replace(first.receipt, receipt_id=uuid4())])[0]
    if batches == 1:
        source = source_of(first, other, second)
        assert land(warehouse, source) == LandingSummary(landed=2, rejected=1)
    else:
        land(warehouse, source_of(first, second, name="one"))
        assert land(warehouse, source_of(other)) == LandingSummary(rejected=1)
    assert query(warehouse, "SELECT reason FROM rejects") == [("stream_fork",)]
    with warehouse.read() as database:
        assert landed(database) == [first.receipt, second.receipt]


# What cannot land


def test_what_cannot_land_is_named_and_digested_never_copied(
    warehouse: Warehouse, lander_key: Key
) -> None:
    good, other = chain(1)[0], chain(1)[0]
    planted = b"planted-value-4711"
    source = ListSource()
    bad = [
        (good.key, planted, "not_single_object"),
        (good.key, good.message + planted, "trailing_bytes"),
        (good.key, b"\xc3\x01" + b"\x00" * 8 + planted, "unknown_fingerprint"),
        (good.key, good.message[:-3], "truncated_datum"),
        (other.key, good.message, "key_mismatch"),
        (None, good.message, "key_mismatch"),
        (good.key, None, "tombstone"),
        (good.key, b"", "not_single_object"),
    ]
    for key, value, _ in bad:
        source.add(key, value)
    source.add_sealed(good)
    assert land(warehouse, source, key=lander_key) == LandingSummary(landed=1, rejected=len(bad))

    rows = query(
        warehouse,
        "SELECT source, topic, partition, kafka_offset, reason, size, digest, digest_key_id"
        " FROM rejects ORDER BY kafka_offset",
    )
    assert [row[:6] for row in rows] == [
        ("list", "a-topic", 0, offset, reason, len(value or b""))
        for offset, (_, value, reason) in enumerate(bad)
    ]
    digests = [row[6:] for row in rows]
    assert digests[6] == (None, None)
    assert all(key_id == lander_key.id for digest, key_id in digests if digest is not None)
    assert digests[4] == digests[5]
    assert len({digest for digest, _ in digests}) == len(bad) - 1

    copy = warehouse.path.with_name("copy.duckdb")
    with duckdb.connect() as database:
        database.execute(f"ATTACH '{warehouse.path}' AS landed (READ_ONLY)")
        database.execute("SET force_compression = 'uncompressed'")
        database.execute(f"ATTACH '{copy}' AS copy")
        database.execute("COPY FROM DATABASE landed TO copy")
    assert planted not in copy.read_bytes()


# Chains that do not hold


def test_a_gap_lands_is_recorded_and_heals(warehouse: Warehouse) -> None:
    receipts = chain(7)
    stream_id = receipts[0].receipt.stream_id
    assert (
        land(warehouse, source_of(receipts[0], receipts[3], receipts[4], receipts[6])).breaks == 2
    )
    assert open_gaps(warehouse) == {(stream_id, 3), (stream_id, 6)}
    assert query(warehouse, "SELECT found FROM breaks WHERE sequence = 3") == [(receipts[2].leaf,)]

    assert land(warehouse, source_of(receipts[2], name="later")).breaks == 1
    assert open_gaps(warehouse) == {(stream_id, 2), (stream_id, 6)}

    assert land(warehouse, source_of(receipts[5], receipts[1], name="last")).breaks == 0
    assert open_gaps(warehouse) == set()
    assert query(warehouse, "SELECT count(*), count(healed_at) FROM breaks") == [(3, 3)]


def test_a_stream_that_starts_late_has_a_gap(warehouse: Warehouse) -> None:
    receipts = chain(3)
    land(warehouse, source_of(*receipts[2:]))
    assert open_gaps(warehouse) == {(receipts[0].receipt.stream_id, 2)}


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]])
@pytest.mark.parametrize("batches", [1, 3])
def test_a_broken_link_lands_and_is_recorded_once(
    warehouse: Warehouse, order: list[int], batches: int
) -> None:
    first, second, third = chain(3)
    wrong = replace(second.receipt, previous_hash=b"w" * 32)
    broken = Sealed(wrong, encode(wrong))
    receipts = [first, broken, third]
    if batches == 1:
        land(warehouse, source_of(*(receipts[place] for place in order)))
    else:
        for place in order:
            land(warehouse, source_of(receipts[place], name=f"source {place}"))
    found = query(
        warehouse,
        "SELECT sequence, expected, found FROM breaks WHERE kind = 'broken_link' ORDER BY sequence",
    )
    assert found == [(1, first.leaf, b"w" * 32), (2, broken.leaf, second.leaf)]
    assert open_gaps(warehouse) == set()


def test_a_first_receipt_has_nothing_before_it(warehouse: Warehouse) -> None:
    first = replace(chain(1)[0].receipt, previous_hash=b"w" * 32)
    land(warehouse, source_of(Sealed(first, encode(first))))
    assert query(warehouse, "SELECT sequence, kind, expected, found FROM breaks") == [
        (0, "broken_link", bytes(32), b"w" * 32)
    ]


def test_the_largest_sequence_has_a_place(warehouse: Warehouse) -> None:
    last = replace(chain(1)[0].receipt, sequence=2**63 - 1)
    assert land(warehouse, source_of(Sealed(last, encode(last)))) == LandingSummary(1, breaks=1)
    assert land(warehouse, source_of(Sealed(last, encode(last)), name="x")).duplicates == 1


def test_policies_are_kept_by_digest_since_they_were_first_seen(warehouse: Warehouse) -> None:
    stream_id = uuid4()
    loaded = {"policy_digest": b"p" * 32, "policy_id": "strict", "policy_version": "1.0"}
    receipts = seal(
        sample.receipt(stream_id, Event.POLICY_LOADED, **loaded, occurred_at=moment)
        for moment in (2_000_000, 1_000_000, 3_000_000)
    )
    land(warehouse, source_of(*receipts))
    assert query(
        warehouse,
        "SELECT policy_digest, policy_id, policy_version, epoch_us(first_seen) FROM policies",
    ) == [(b"p" * 32, "strict", "1.0", 1_000_000)]


# Transactions


def test_whatever_fails_leaves_everything_as_it_was(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipts = chain(4)
    source = source_of(*receipts[:2])
    land(warehouse, source)
    source.add_sealed(receipts[3])
    source.add(b"key", b"rubbish")
    everything = [
        f"FROM {table}" for table in ("receipts", "rejects", "breaks", "positions", "policies")
    ]
    before = [query(warehouse, sql) for sql in everything]

    def fail(*_: Any) -> None:
        raise duckdb.IOException("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(batch, "_write_positions", fail)  # the last step before the commit
        with pytest.raises(WarehouseError) as caught:
            land(warehouse, source)
    assert caught.value.reason == "warehouse_full"
    assert [query(warehouse, sql) for sql in everything] == before
    assert land(warehouse, source) == LandingSummary(landed=1, rejected=1, breaks=1)


def test_two_landers_on_one_warehouse_land_everything_once(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elicitation_receipts.consumers.landing.BATCH", 7)
    receipts = chain(300)
    sources = [source_of(*receipts), source_of(*receipts)]
    summaries: list[LandingSummary] = []
    threads = [
        threading.Thread(target=lambda source=source: summaries.append(land(warehouse, source)))
        for source in sources
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(summary.landed for summary in summaries) == 300
    assert sum(summary.duplicates for summary in summaries) == 0
    assert query(warehouse, "SELECT count(*), count(DISTINCT sequence) FROM receipts") == [
        (300, 300)
    ]


def test_a_batch_read_from_elsewhere_is_not_committed(
    warehouse: Warehouse, lander_key: Key
) -> None:
    source = source_of(*chain(4))
    records = source.fetch({}, 2, 0)
    with warehouse.open() as database:
        batch.land_batch(database, source, lander_key, {}, batch.prepare(records))
        with pytest.raises(batch.PositionsMoved) as moved:
            batch.land_batch(database, source, lander_key, {}, batch.prepare(records))
    assert moved.value.positions == {0: 2}
    assert query(warehouse, "SELECT count(*) FROM receipts") == [(2,)]


def test_what_was_landed_is_told_to_the_source_and_to_who_watches(
    warehouse: Warehouse, lander_key: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elicitation_receipts.consumers.landing.BATCH", 2)
    source = source_of(*chain(5))
    told: list[tuple[int, int]] = []
    Lander(warehouse, source, lander_key).land(
        progress=lambda summary, remaining: told.append((summary.landed, remaining))
    )
    assert list(dict.fromkeys(told)) == [(0, 5), (2, 3), (4, 1), (5, 0)]
    assert source.committed == {0: 5}


class Counting(Warehouse):
    """Counts how often it is opened for writing."""

    opened = 0

    @contextmanager
    def open(self) -> Iterator[duckdb.DuckDBPyConnection]:
        self.opened += 1
        with super().open() as database:
            yield database


class Visited(ListSource):
    """Has somebody come to read the warehouse when the second batch is fetched."""

    def __init__(self, warehouse: Warehouse) -> None:
        super().__init__()
        self.warehouse = warehouse
        self.seen: list[int] = []
        self.visit = threading.Thread(target=self._look)

    def fetch(self, positions: Positions, limit: int, timeout: float) -> list[Record]:
        if positions.get(0) == 1:
            self.visit.start()
            while not self.warehouse.is_awaited():
                time.sleep(0.001)
        return super().fetch(positions, limit, timeout)

    def _look(self) -> None:
        with Warehouse(self.warehouse.path, wait=60).read() as database:
            self.seen += database.execute("SELECT count(*) FROM receipts").fetchall()[0]


@pytest.mark.parametrize("is_visited", [False, True])
def test_a_backlog_keeps_the_database_until_somebody_waits_for_it(
    warehouse: Warehouse, lander_key: Key, monkeypatch: pytest.MonkeyPatch, *, is_visited: bool
) -> None:
    monkeypatch.setattr(landing, "BATCH", 1)
    monkeypatch.setattr(landing, "_HOLD_BATCHES", 2)
    counting = Counting(warehouse.path)
    source = Visited(counting) if is_visited else ListSource()
    source.add_sealed(*chain(20))
    assert Lander(counting, source, lander_key).land() == LandingSummary(landed=20)
    assert counting.opened == 2 + is_visited  # to learn where to begin, and to land
    if isinstance(source, Visited):
        source.visit.join()
        assert source.seen == [2]  # a hold is two batches


# Following


class Slow(ListSource):
    """Waits for records, as real sources do, and may be away for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False

    def fetch(self, positions: Positions, limit: int, timeout: float) -> list[Record]:
        if self.down:
            raise SourceError("broker_unavailable", "not there")
        found = super().fetch(positions, limit, timeout)
        if not found:
            time.sleep(min(timeout, 0.02))
        return found


def test_who_follows_lands_what_comes_and_lets_others_read(
    warehouse: Warehouse, lander_key: Key
) -> None:
    receipts = chain(6)
    source = Slow()
    land(warehouse, source)  # makes the database
    stop = threading.Event()
    summaries: list[LandingSummary] = []
    lander = Lander(warehouse, source, lander_key)
    thread = threading.Thread(target=lambda: summaries.append(lander.land(follow=True, stop=stop)))
    thread.start()
    try:
        for number, receipt in enumerate(receipts, 1):
            source.down = number % 2 == 0  # away and back again
            source.add_sealed(receipt)
            time.sleep(0.05)
            source.down = False
            deadline = time.monotonic() + 10
            while query(warehouse, "SELECT count(*) FROM receipts") != [(number,)]:
                assert time.monotonic() < deadline
                time.sleep(0.02)
    finally:
        stop.set()
        thread.join()
    assert summaries == [LandingSummary(landed=6)]


def test_a_long_backlog_lets_others_read_in_between(
    warehouse: Warehouse, lander_key: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elicitation_receipts.consumers.landing.BATCH", 1)
    source = source_of(*chain(120))
    land(warehouse, ListSource("none"))
    thread = threading.Thread(target=lambda: Lander(warehouse, source, lander_key).land())
    thread.start()
    seen = set()
    while thread.is_alive():
        seen.update(query(warehouse, "SELECT count(*) FROM receipts"))
    thread.join()
    assert len(seen - {(0,), (120,)}) > 1


def test_who_does_not_follow_says_that_the_source_is_away(
    warehouse: Warehouse, lander_key: Key
) -> None:
    source = Slow()
    source.add_sealed(*chain(1))
    source.down = True
    with pytest.raises(SourceError) as caught:
        Lander(warehouse, source, lander_key).land()
    assert caught.value.reason == "broker_unavailable"


# Whatever comes, in whatever order, from wherever

STREAMS = [chain(6), chain(4)]
EVERY = [sealed for stream in STREAMS for sealed in stream]
RUBBISH = [b"", b"rubbish", EVERY[0].message[:-1], EVERY[1].message + b"\x00", None]


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    runs=st.lists(
        st.tuples(
            st.sampled_from(["kafka", "spool"]),
            st.lists(st.sampled_from(EVERY) | st.sampled_from(RUBBISH), max_size=8),
        ),
        max_size=6,
    ),
    limit=st.integers(1, 9),
)
def test_the_rows_are_the_distinct_receipts(
    runs: list[tuple[str, list[Sealed | bytes | None]]],
    limit: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    warehouse = Warehouse(tmp_path_factory.mktemp("landing") / "warehouse.duckdb")
    sources = {"kafka": ListSource("kafka"), "spool": ListSource("spool")}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("elicitation_receipts.consumers.landing.BATCH", limit)
        total = LandingSummary()
        for name, records in runs:
            for record in records:
                if isinstance(record, Sealed):
                    sources[name].add_sealed(record)
                else:
                    sources[name].add(EVERY[0].key, record)
            total += land(warehouse, sources[name])

    sent = [record for _, records in runs for record in records if isinstance(record, Sealed)]
    rubbish = sum(len(records) for _, records in runs) - len(sent)
    expected = sorted(
        {sealed.message: sealed for sealed in sent}.values(),
        key=lambda sealed: (sealed.receipt.stream_id, sealed.receipt.sequence),
    )
    with (warehouse.open if not runs else warehouse.read)() as database:
        assert [encode(receipt) for receipt in landed(database)] == [
            sealed.message for sealed in expected
        ]
    places = {(sealed.receipt.stream_id, sealed.receipt.sequence) for sealed in sent}
    assert open_gaps(warehouse) == {
        (stream, sequence)
        for stream, sequence in places
        if sequence > 0 and (stream, sequence - 1) not in places
    }
    assert query(warehouse, "SELECT count(*) FROM breaks WHERE kind <> 'gap'") == [(0,)]
    assert query(warehouse, "SELECT count(*) FROM rejects") == [(rubbish,)]
    assert total == LandingSummary(
        landed=len(expected),
        duplicates=len(sent) - len(expected),
        rejected=rubbish,
        breaks=total.breaks,
    )


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(receipts=st.lists(any_receipt(), min_size=1, max_size=5))
def test_every_receipt_there_can_be_comes_out_as_it_went_in(
    receipts: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    stream_id = uuid4()
    sealed = seal(replace(receipt, stream_id=stream_id) for receipt in receipts)
    warehouse = Warehouse(tmp_path_factory.mktemp("landing") / "warehouse.duckdb")
    assert land(warehouse, source_of(*sealed)) == LandingSummary(landed=len(sealed))
    with warehouse.read() as database:
        assert [encode(receipt) for receipt in landed(database)] == [one.message for one in sealed]
        database.execute("FROM elicitations").fetchall()
