"""Who holds the key finds exactly the receipts of an answer; who does not, learns nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import duckdb
import pytest
import sample
from hypothesis import given, settings
from hypothesis import strategies as st
from lives import Lives

from elicitation_receipts.consumers.rows import now, row_from_receipt
from elicitation_receipts.queries.lookup import look_up
from elicitation_receipts.schemas.digest import payload_digest, payload_mac
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Event

KEY, OTHER = Key(b"k" * 32), Key(b"o" * 32)
STREAM = UUID(int=7)


@pytest.fixture(scope="session")
def database(all_lives: Lives) -> duckdb.DuckDBPyConnection:
    return all_lives.connection


def answered(content: Any, key: Key = KEY, stream: UUID = STREAM, nonce: bytes = b"") -> Receipt:
    receipt = sample.receipt(stream, Event.ANSWERED)
    digest = payload_digest(
        key, receipt.tenant, stream, receipt.receipt_id, nonce or uuid4().bytes, content
    )
    return replace(receipt, payload_digest=digest)


def land(database: duckdb.DuckDBPyConnection, *receipts: Receipt) -> None:
    database.execute("DELETE FROM receipts")
    landing = [bytes(32), bytes(8), "spool", now()]
    with database.appender("receipts") as appender:
        appender.append_rows([[*row_from_receipt(one), *landing] for one in receipts])


def hits(database: duckdb.DuckDBPyConnection, *contents: Any, tenant: str = "default") -> set[str]:
    found = look_up(database, tenant, {KEY.id: KEY}, frozenset(), contents)
    return {str(row[0]) for row in found.hits.rows}


answers = st.dictionaries(
    st.sampled_from(["a", "b"]), st.booleans() | st.integers(0, 3) | st.sampled_from(["", "x", "1"])
)


@settings(max_examples=60, deadline=None)
@given(st.lists(answers, max_size=6), answers)
def test_exactly_the_receipts_of_the_answer_are_found(
    database: duckdb.DuckDBPyConnection, given_answers: list[Any], asked: Any
) -> None:
    receipts = [answered(one) for one in given_answers]
    land(database, *receipts)

    def form(content: Any) -> list[tuple[str, type, Any]]:  # True is no 1, "1" is no 1
        return sorted((name, type(value), value) for name, value in content.items())

    assert hits(database, asked) == {
        str(receipt.receipt_id)
        for receipt, one in zip(receipts, given_answers, strict=True)
        if form(one) == form(asked)
    }


def test_the_order_of_members_is_no_matter_and_a_part_is_not_the_answer(
    database: duckdb.DuckDBPyConnection,
) -> None:
    receipt = answered({"a": 1, "b": 2})
    land(database, receipt)
    assert hits(database, {"b": 2.0, "a": 1}) == {str(receipt.receipt_id)}
    assert hits(database, {"a": 1}) == set()


def test_two_receipts_of_one_answer_have_different_digests(
    database: duckdb.DuckDBPyConnection,
) -> None:
    one, two = answered({"a": True}), answered({"a": True})
    assert one.payload_digest != two.payload_digest
    land(database, one, two)
    assert hits(database, {"a": True}) == {str(one.receipt_id), str(two.receipt_id)}


@pytest.mark.parametrize(
    "moved",
    [{"receipt_id": uuid4()}, {"stream_id": uuid4()}, {"tenant": "other"}],
    ids=["receipt", "stream", "tenant"],
)
def test_a_digest_moved_elsewhere_is_of_nothing(
    database: duckdb.DuckDBPyConnection, moved: dict[str, Any]
) -> None:
    receipt = answered({"a": True})
    land(database, receipt)
    assert len(hits(database, {"a": True})) == 1
    land(database, replace(receipt, **moved))
    tenant = moved.get("tenant", "default")
    assert hits(database, {"a": True}, tenant=tenant) == set()


def test_what_cannot_be_compared_is_counted(database: duckdb.DuckDBPyConnection) -> None:
    gone, unknown = Key(b"g" * 32), Key(b"u" * 32)
    land(database, *(answered({"a": 1}, key) for key in (KEY, gone, gone, unknown)))
    found = look_up(database, "default", {KEY.id: KEY}, frozenset({gone.id}), [{"a": 1}])
    assert (len(found.hits.rows), found.checked) == (1, 1)
    assert (found.unconfirmable, found.unknown_key) == (2, 1)


def a_dictionary_confirms_none_without_the_key(candidates: int) -> None:
    """An attacker has the row, the schema and this code, and tries every six-digit code."""
    receipt = answered({"code": f"{candidates // 3:06}"})
    digest = receipt.payload_digest
    assert digest is not None
    row = (receipt.tenant, receipt.stream_id, receipt.receipt_id, digest.nonce)
    guesses = [Key(bytes(32)), Key(digest.value), Key(digest.key_id.encode().ljust(32))]

    def confirmed(key: Key) -> list[int]:
        return [
            code
            for code in range(candidates)
            if payload_mac(key, *row, b'{"code":"%06d"}' % code) == digest.value
        ]

    assert [confirmed(key) for key in guesses] == [[], [], []]
    assert confirmed(KEY) == [candidates // 3], "the key is all that was missing"


def test_a_dictionary_confirms_none_without_the_key() -> None:
    a_dictionary_confirms_none_without_the_key(5_000)


@pytest.mark.slow
def test_a_dictionary_of_a_million_confirms_none_without_the_key() -> None:
    a_dictionary_confirms_none_without_the_key(1_000_000)
