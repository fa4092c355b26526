"""What is kept of each elicitation is what its receipts give, however they come to land."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import duckdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from make_receipt import make_receipt
from streams import ListSource, Sealed, seal

from elicitation_receipts.consumers.batch import land_batch, prepare
from elicitation_receipts.consumers.source import Positions
from elicitation_receipts.consumers.warehouse import Warehouse, installed_migrations
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.receipt import FailedField, Keyed, Receipt, Validation
from elicitation_receipts.schemas.vocabulary import (
    Clock,
    DecidedBy,
    Event,
    Keyword,
    OperationResult,
    Outcome,
    Proof,
)

QUESTIONS = [UUID(int=number) for number in range(1, 5)]

steps = st.fixed_dictionaries(
    {
        "elicitation_id": st.sampled_from(QUESTIONS) | st.none(),
        "event": st.sampled_from([Event.REQUESTED, Event.ANSWERED, Event.COMPLETED, Event.RESUMED]),
        "round": st.integers(1, 2),
        "attempt": st.integers(0, 2),
        "outcome": st.none()
        | st.sampled_from([Outcome.OPEN, Outcome.INVALID, Outcome.ACCEPTED, Outcome.CONSENTED]),
        "decided_by": st.none() | st.sampled_from(DecidedBy),
        "proof": st.none() | st.sampled_from(Proof),
        "operation_result": st.none() | st.sampled_from(OperationResult),
        "since_previous_us": st.none() | st.integers(0, 100),
        "clock": st.none() | st.sampled_from(Clock),
        "occurred_at": st.integers(1_796_000_000_000_000, 1_796_000_000_000_010),
        "tool": st.none() | st.sampled_from(["ask", "delete"]),
        "session_ref": st.none() | st.just(Keyed("0" * 12, b"s" * 32)),
        "validation": st.none()
        | st.just(Validation(1, 1, 1, (FailedField("email", Keyword.TYPE),))),
    }
)


@st.composite
def landings(draw: st.DrawFn) -> list[list[Sealed]]:
    """Receipts of a few streams, some lost, in batches of any order; some come twice."""
    sealed: list[Sealed] = []
    for _ in range(draw(st.integers(1, 2))):
        stream_id = uuid4()
        sealed += seal(
            replace(make_receipt(**step), receipt_id=uuid4(), stream_id=stream_id)
            for step in draw(st.lists(steps, min_size=1, max_size=10))
        )
    order = draw(st.permutations(sealed))
    if draw(st.booleans()):  # mostly receipts come in order
        order = sealed
    lost = draw(st.sets(st.integers(0, len(order) - 1), max_size=2))
    kept = [one for place, one in enumerate(order) if place not in lost]
    late = [order[place] for place in lost] if draw(st.booleans()) else []
    size = draw(st.integers(1, 8))
    return [*(kept[at : at + size] for at in range(0, len(kept), size)), late, kept[:2]]


def land(
    database: duckdb.DuckDBPyConnection, source: ListSource, positions: Positions
) -> Positions:
    records = source.fetch(positions, 1000, 0)
    return land_batch(database, source, Key(b"k" * 32), positions, prepare(records)).positions


def differences(database: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    return database.execute(
        "(FROM elicitation_summaries EXCEPT ALL FROM elicitations_derived)"
        " UNION ALL (FROM elicitations_derived EXCEPT ALL FROM elicitation_summaries)"
    ).fetchall()


@given(batches=landings())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_kept_is_what_would_be_derived(batches: list[list[Sealed]]) -> None:
    with duckdb.connect() as database:
        for migration in installed_migrations():
            database.execute(migration.sql)
        source, positions = ListSource(), {}
        for batch in batches:
            source.add_sealed(*batch)
            positions = dict(land(database, source, positions))
            assert differences(database) == []
        [(receipts,)] = database.execute("SELECT count(*) FROM elicitations").fetchall()
        assert receipts == len(
            {one.receipt.elicitation_id for batch in batches for one in batch} - {None}
        )


def test_a_database_that_has_receipts_already_is_filled_up(tmp_path: Path) -> None:
    stream_id = uuid4()
    receipts: list[Receipt] = [
        make_receipt(receipt_id=uuid4(), stream_id=stream_id, event=event, elicitation_id=question)
        for question in QUESTIONS
        for event in (Event.REQUESTED, Event.ANSWERED)
    ]
    source = ListSource()
    source.add_sealed(*seal(receipts))
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    with warehouse.open() as database:
        land(database, source, {})
        kept = database.execute("FROM elicitations ORDER BY elicitation_id").fetchall()
        # As it was before there were summaries.
        for drop in (
            "VIEW elicitations",
            "TABLE elicitation_summaries",
            "VIEW elicitations_derived",
            "MACRO TABLE elicitations_of",
        ):
            database.execute(f"DROP {drop}")
        database.execute("CREATE VIEW elicitations AS SELECT 1 AS before")
        for migration in installed_migrations():
            if "elicitation_summaries" in migration.sql:
                database.execute(migration.sql)
        assert database.execute("FROM elicitations ORDER BY elicitation_id").fetchall() == kept
    assert len(kept) == len(QUESTIONS)
