"""`picked`: which elicitations count, and how figures are split and restricted."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from lives import DAY, SECOND, START, Lives, answered, requested

from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.queries.parameter import DIMENSIONS
from elicitation_receipts.schemas.vocabulary import Carrier, Fidelity, Mode, Outcome, Vantage

ACCEPTED = (requested(), answered(Outcome.ACCEPTED))
REPLAY = {"vantage": Vantage.REPLAY}


def put(rows: list[dict[str, Any]]) -> int:
    return sum(row["put"] for row in rows)


def test_replays_count_only_when_asked_for(lives: Lives, ask: Any) -> None:
    lives.add(*ACCEPTED)
    lives.add(*ACCEPTED, **REPLAY)
    assert put(ask("completion")) == 1
    assert put(ask("completion", include_replay=True)) == 2


def test_replays_count_where_there_is_nothing_else_and_it_is_said(lives: Lives, ask: Any) -> None:
    lives.add(*ACCEPTED, **REPLAY)
    assert put(ask("completion")) == 1
    catalogue = Catalogue()
    [note] = catalogue.run(lives.connection, "completion").notes
    assert "replayed" in note
    assert catalogue.run(lives.connection, "completion", {"include_replay": True}).notes == ()
    lives.add(*ACCEPTED, server_name="other")
    assert catalogue.run(lives.connection, "completion").notes == ()
    assert ask("completion", server=["files"]) == [], "a filter does not make replays count"


@pytest.mark.parametrize("bytes_first", [True, False])
def test_two_watchers_of_a_session_count_once(bytes_first: bool, lives: Lives, ask: Any) -> None:
    watchers = [
        {"vantage": Vantage.HTTP, "fidelity": Fidelity.BYTES, "server_name": "wire"},
        {"vantage": Vantage.ASGI, "fidelity": Fidelity.PARSED, "server_name": "library"},
    ]
    for watcher in watchers if bytes_first else reversed(watchers):
        lives.add(*ACCEPTED, session="s", **watcher)
        lives.add(*ACCEPTED, session="s", **watcher)
    [row] = ask("completion", by=["server"])
    assert (row["server"], row["put"]) == ("wire", 2)
    assert put(ask("completion", all_vantages=True)) == 4
    assert put(ask("completion", server=["library"])) == 0, "the vantage is chosen before filters"


def test_sessions_and_watchers_without_one_do_not_hide_each_other(lives: Lives, ask: Any) -> None:
    lives.add(*ACCEPTED, session="one", fidelity=Fidelity.BYTES)
    lives.add(*ACCEPTED, session="two", fidelity=Fidelity.PARSED)
    lives.add(*ACCEPTED, fidelity=Fidelity.BYTES)
    lives.add(*ACCEPTED, fidelity=Fidelity.PARSED, vantage=Vantage.ASGI)
    assert put(ask("completion")) == 4


def test_a_replay_never_displaces_a_live_watcher(lives: Lives, ask: Any) -> None:
    lives.add(*ACCEPTED, session="s", fidelity=Fidelity.PARSED, server_name="live")
    lives.add(*ACCEPTED, session="s", server_name="recording", **REPLAY)
    [row] = ask("completion", by=["server"], include_replay=True)
    assert row["server"] == "live"


def test_every_dimension_splits_and_restricts(lives: Lives, ask: Any) -> None:
    one = {
        "mode": Mode.FORM,
        "carrier": Carrier.SERVER_REQUEST,
        "server_name": "a",
        "client_name": "a",
        "flow": "a",
        "tool": "a",
        "policy_version": "1.0",
    }
    two = {
        "mode": Mode.TASK_INPUT,
        "carrier": Carrier.TASK,
        "server_name": "b",
        "client_name": "b",
        "flow": "b",
        "tool": "b",
        "policy_version": "2.0",
    }
    lives.add(*ACCEPTED, **one)
    lives.add(*ACCEPTED, at=START + DAY, **two)
    lives.add(*ACCEPTED, at=START + DAY, **two)
    for name in DIMENSIONS:
        rows = ask("completion", by=[name])
        assert [next(iter(row)) for row in rows] == [name, name]
        assert [row["put"] for row in rows] == [1, 2], name
        assert put(ask("completion", **{name: [rows[1][name]]})) == 2, name
        assert put(ask("completion", **{name: [rows[0][name], rows[1][name]]})) == 3, name


def test_columns_and_rows_follow_the_order_asked_for(lives: Lives, ask: Any) -> None:
    lives.add(*ACCEPTED, server_name="b", at=START)
    lives.add(*ACCEPTED, server_name="a", at=START + DAY)
    lives.add(*ACCEPTED, server_name=None, at=START)
    rows = ask("completion", by=["day", "server"])
    assert list(rows[0])[:2] == ["day", "server"]
    assert [(row["day"].day, row["server"]) for row in rows] == [(1, "b"), (1, None), (2, "a")]
    rows = ask("completion", by=["server", "day"])
    assert [row["server"] for row in rows] == ["a", "b", None]


def test_the_period_takes_its_start_and_not_its_end(lives: Lives, ask: Any) -> None:
    lives.add(*ACCEPTED, at=START)
    lives.add(*ACCEPTED, at=START + DAY - 1)
    lives.add(*ACCEPTED, at=START + DAY)
    first, second = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 2, tzinfo=UTC)
    assert put(ask("completion", since=first, until=second)) == 2
    assert put(ask("completion", since=second)) == 1
    assert put(ask("completion", until=first)) == 0
    assert put(ask("completion", day=[date(2026, 11, 1)])) == 2


def test_a_question_counts_when_it_was_first_put(lives: Lives, ask: Any) -> None:
    """Not when it ended: a life over midnight stands in one day."""
    lives.add(requested(), answered(Outcome.ACCEPTED, after=10 * SECOND), at=START + DAY - SECOND)
    [row] = ask("completion", by=["day"])
    assert row["day"] == date(2026, 11, 1)


@pytest.mark.parametrize(
    "name",
    [
        "'; DROP TABLE receipts; --",
        '"files"',
        "files' OR '1'='1",
        "%",
        "$by",
        "files\x00",
        "{a: 1}",
    ],
)
def test_a_filter_is_data(name: str, lives: Lives, ask: Any) -> None:
    lives.add(*ACCEPTED)
    assert ask("completion", server=[name]) == []
    assert put(ask("completion", server=[name, "files"])) == 1


def test_one_question_leaves_nothing_behind_for_the_next(lives: Lives, ask: Any) -> None:
    lives.add(*ACCEPTED)
    assert ask("completion", server=["other"], by=["tool"]) == []
    [row] = ask("declines")
    assert row["put"] == 1


def test_by_hand(lives: Lives) -> None:
    """As the head comment of picked.sql says: variables, that file, the question's file."""
    lives.add(*ACCEPTED, server_name="github")
    lives.add(*ACCEPTED, server_name="other")
    queries = Path(__file__).parents[2] / "queries"
    picked = (queries / "picked.sql").read_text(encoding="utf-8")
    head, _, _ = picked.partition("\n\n")
    examples = [line.removeprefix("--   ") for line in head.splitlines() if "SET VARIABLE" in line]
    assert len(examples) == 4
    connection = lives.connection
    for statement in examples:
        connection.execute(statement)
    connection.execute(picked)
    rows = connection.execute((queries / "completion.sql").read_text(encoding="utf-8")).fetchall()
    assert [row[2] for row in rows] == ["github"]


def test_a_read_only_database_is_enough(tmp_path: Path, lives: Lives) -> None:
    lives.add(*ACCEPTED)
    path = tmp_path / "copy.duckdb"
    lives.connection.execute(f"ATTACH '{path}' AS copied")
    lives.connection.execute("COPY FROM DATABASE memory TO copied")
    lives.connection.execute("DETACH copied")
    with duckdb.connect(path, read_only=True) as connection:
        for name in Catalogue().questions:
            assert Catalogue().run(connection, name).columns
