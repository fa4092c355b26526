"""The search for leaks finds a text wherever one was put, and says where, never what."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, quote_plus

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.leaks import ENCODINGS, LeakError, LeakSearch
from elicitation_receipts.schemas.kafka import KafkaSettings

#: Differs from itself in every encoding; its last word is random.
TEXT = 'Zoë "Æ" D\'Arcy & co/4f91c2ab77de'
#: So often that no database keeps it as it is.
MANY = 20_000

WAYS: dict[str, Callable[[str], bytes]] = {
    "raw": str.encode,
    "JSON-escaped": lambda text: json.dumps(text).encode(),
    "JSON-escaped, not ASCII": lambda text: json.dumps(text, ensure_ascii=False).encode(),
    "base64": lambda text: base64.b64encode(text.encode()),
    "base64, for URLs": lambda text: base64.urlsafe_b64encode(text.encode()),
    "hex": lambda text: text.encode().hex().encode(),
    "hex, in capitals": lambda text: text.encode().hex().upper().encode(),
    "URL-encoded": lambda text: quote(text, safe="").encode(),
    "URL-encoded, as a path": lambda text: quote(text).encode(),
    "URL-encoded, as a form": lambda text: quote_plus(text).encode(),
}


@pytest.fixture
def search() -> LeakSearch:
    return LeakSearch([TEXT, "is nowhere at all"])


@given(
    way=st.sampled_from(sorted(WAYS)),
    text=st.text(st.characters(exclude_categories=("Cs",)), min_size=12, max_size=40),
    before=st.binary(max_size=30),
    after=st.binary(max_size=30),
)
def test_every_encoding_is_seen_through(way: str, text: str, before: bytes, after: bytes) -> None:
    search = LeakSearch([text])
    search.look("here", before + WAYS[way](text) + after)
    assert search.places == ["here"]


@given(
    text=st.text(st.characters(exclude_categories=("Cs",)), min_size=12, max_size=40),
    before=st.binary(max_size=30),
    after=st.binary(max_size=30),
)
def test_base64_of_something_longer_is_seen_through(text: str, before: bytes, after: bytes) -> None:
    search = LeakSearch([text])
    search.look("here", base64.b64encode(before + text.encode() + after))
    assert search.places == ["here"]


@given(st.binary(max_size=200))
def test_what_holds_nothing_is_left_alone(data: bytes) -> None:
    search = LeakSearch([TEXT])
    search.look("here", data)
    assert search.places == []


def test_the_encodings_that_are_named_are_those_looked_for() -> None:
    assert {way.split(",")[0] for way in WAYS} == set(ENCODINGS)


@pytest.mark.parametrize("name", ["file", "sub/sub/file", ".hidden"])
def test_in_a_file(tmp_path: Path, search: LeakSearch, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"\0" * 5_000 + TEXT.encode() + b"\xff")
    search.folder(tmp_path)
    assert search.places == [str(file)]


@pytest.mark.parametrize("name", ["{}", "{}/file"])
def test_in_a_name(tmp_path: Path, name: str) -> None:
    text = "zoe.arcy-4f91c2ab77de"
    file = tmp_path / name.format(text)
    file.parent.mkdir(exist_ok=True)
    file.write_text("nothing")
    search = LeakSearch([text])
    search.folder(tmp_path)
    assert search.places == [f"the name of a file in {tmp_path}"]


@pytest.mark.parametrize("value", [TEXT, TEXT.encode(), json.dumps(TEXT)], ids=type)
def test_in_a_column_of_sqlite(tmp_path: Path, search: LeakSearch, value: object) -> None:
    path = tmp_path / "spool.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute('CREATE TABLE "odd "" name" (id INTEGER, "a column")')
        database.execute('INSERT INTO "odd "" name" VALUES (1, ?)', (value,))
    search.folder(tmp_path)
    assert f'{path}, odd " name.a column' in search.places


def test_in_a_log_of_sqlite_that_was_not_merged_yet(tmp_path: Path, search: LeakSearch) -> None:
    path = tmp_path / "spool.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE t (c)")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with database:
            database.execute("INSERT INTO t VALUES (?)", (TEXT,))
        search.folder(tmp_path)
    assert search.places == [f"{path}, t.c", f"{path}-wal"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("VARCHAR", TEXT),
        ("BLOB", TEXT.encode()),
        ("STRUCT(name VARCHAR, digest BLOB)[]", [{"name": "a", "digest": TEXT.encode()}]),
        ("MAP(VARCHAR, INTEGER)", {TEXT: 1}),
        ("VARCHAR[]", ["a", TEXT]),
    ],
)
def test_in_a_column_of_duckdb_however_it_is_packed(
    tmp_path: Path, search: LeakSearch, kind: str, value: object
) -> None:
    path = tmp_path / "warehouse.duckdb"
    with duckdb.connect(path) as database:
        database.execute(f"CREATE TABLE t (id BIGINT, c {kind})")
        database.execute(f"INSERT INTO t SELECT range, $value FROM range({MANY})", {"value": value})
        database.execute("CREATE VIEW v AS SELECT c AS seen FROM t LIMIT 1")
    search.folder(tmp_path)
    assert {f"{path}, t.c", f"{path}, v.seen"} <= set(search.places)


def test_in_a_copy_of_duckdb_without_compression(tmp_path: Path) -> None:
    """A text that no single value holds, only their neighbourhood in the file."""
    path = tmp_path / "warehouse.duckdb"
    halves = ("Zoë Quist, 4f91", "c2ab77de, Ærø")
    with duckdb.connect(path) as database:
        database.execute("CREATE TABLE t (c VARCHAR)")
        rows = f"SELECT unnest($halves) FROM range({MANY})"
        database.execute(f"INSERT INTO t {rows}", {"halves": list(halves)})
    # DuckDB writes the strings of a block one before the other.
    search = LeakSearch([halves[1] + halves[0]])
    search.folder(tmp_path)
    assert f"{path} (copied without compression)" in search.places


@pytest.mark.kafka
@pytest.mark.parametrize("part", ["key", "value", "header", "header's name"])
def test_in_a_topic(kafka: str, topic: str, part: str) -> None:
    from kafka import KafkaProducer

    settings = KafkaSettings(kafka, topic)
    said = dict.fromkeys(("key", "value", "header", "header's name"), "harmless") | {part: TEXT}
    with closing(settings.connect(KafkaProducer, compression_type="gzip")) as producer:
        for number in range(20):
            producer.send(topic, b"harmless", key=b"%d" % number)
        producer.send(
            topic,
            said["value"].encode(),
            key=said["key"].encode(),
            headers=[(said["header's name"], said["header"].encode())],
            partition=2,
        )
        producer.flush()
    search = LeakSearch([TEXT])
    search.topic(settings)
    assert search.records == 21
    [place] = search.places
    assert place.startswith(f"{topic}, partition 2, offset ")


@pytest.mark.kafka
def test_a_topic_that_is_empty_holds_nothing(kafka: str, topic: str, search: LeakSearch) -> None:
    search.topic(KafkaSettings(kafka, topic))
    assert (search.records, search.places) == (0, [])


def test_nothing_found_says_what_was_searched(tmp_path: Path, search: LeakSearch) -> None:
    (tmp_path / "one").write_bytes(b"12345")
    (tmp_path / "two").write_bytes(b"")
    search.folder(tmp_path)
    assert search.require_nothing() == (
        "searched 2 files, 5 bytes, 2 values in 5 encodings: nothing found"
    )


def test_something_found_is_an_error_that_says_where_and_not_what(search: LeakSearch) -> None:
    search.look("the first place", b"nothing")
    search.look("the second place", TEXT.encode())
    search.look("the third place", b"..." + TEXT.encode())
    search.look("the third place", TEXT.encode())
    with pytest.raises(LeakError, match=r"^value_found: the second place and 1 more; ") as caught:
        search.require_nothing()
    assert caught.value.exit_code == 1
    assert TEXT not in str(caught.value)


def test_a_text_that_could_be_there_by_chance_is_refused() -> None:
    with pytest.raises(ValueError, match="by chance"):
        LeakSearch(["twelve chars", "eleven char"])
