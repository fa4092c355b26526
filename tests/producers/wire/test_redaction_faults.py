"""A fault in any step of redaction: the event is recorded and counted, with none of its content."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from conversation import (
    MODERN,
    SECOND,
    Conversation,
    accept,
    call,
    completion,
    form,
    form_params,
    interim,
    retry,
    success,
    url,
)
from lives import Lives

from elicitation_receipts.consumers.rows import now, row_from_receipt
from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.wire import answer, question, scribe
from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.schemas import codec, digest, identifiers
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import FindingName, RedactionStatus

SECRET = "hunter2hunter2"
#: What rests on content, or on names from the wire.
CONTENT = (
    "server_name", "server_version", "client_name", "client_version", "protocol_version",
    "declared_modes", "capability_digest", "operation_method", "tool", "session_ref", "url_origin",
    "validation", "question_digest", "payload_digest", "subject_ref",
)  # fmt: skip

FAULTS: dict[str, tuple[Any, str]] = {
    **{
        f"Redactor.{name}": (Redactor, name)
        for name in (
            "identifier", "version", "peers", "_capabilities", "operation", "question", "payload",
            "reference", "session", "url_origin", "validation",
        )
    },
    **{
        f"digest.{name}": (digest, name)
        for name in (
            "payload_digest", "payload_mac", "question_digest", "reference", "keyed", "canonical",
        )
    },
    **{
        f"identifiers.{name}": (identifiers, name)
        for name in ("is_identifier", "is_version", "origin_of")
    },
    "Key.mac": (Key, "mac"),
    "count_dropped": (scribe, "count_dropped"),
    "failures": (answer, "failures"),
    "is_in_subset": (question, "is_in_subset"),
}  # fmt: skip


def broken(*_: object, **__: object) -> Any:
    raise RuntimeError(f"whatever went wrong, it was about {SECRET}")


def talks() -> Iterator[Conversation]:
    """A form and a URL asked and answered, by request and by retry."""
    talk = Conversation(SECOND)
    talk.client(call(1))
    talk.server(form(7))
    talk.server(url(8))
    talk.wait(seconds=5)
    talk.client(accept(7, {"branch": SECRET}))
    talk.client(accept(8))
    talk.server(completion())
    talk.server(success(1))
    talk.close()
    yield talk
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(interim(1, {"k": form_params()}, "s"))
    talk.wait(seconds=5)
    talk.client(retry(2, {"k": {"action": "accept", "content": {"branch": SECRET}}}, "s"))
    talk.server(success(2))
    talk.close()
    yield talk


def put(receipts: list[Receipt]) -> int:
    """How many questions a report counts as put."""
    lives = Lives.in_memory()
    with lives.connection as database:
        landing = [bytes(32), bytes(8), "spool", now()]
        with database.appender("receipts") as appender:
            appender.append_rows([[*row_from_receipt(one), *landing] for one in receipts])
        database.execute("INSERT INTO elicitation_summaries FROM elicitations_derived")
        result = Catalogue().run(database, "completion", {})
        rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    return sum(row["put"] for row in rows if isinstance(row["put"], int))


@pytest.mark.parametrize("fault", FAULTS)
def test_the_event_is_recorded_and_counted_without_its_content(
    fault: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    whole = [receipt for talk in talks() for receipt in talk.receipts]
    owner, name = FAULTS[fault]
    with patch.object(owner, name, broken):
        receipts = [receipt for talk in talks() for receipt in talk.receipts]

    assert [one.event for one in receipts] == [one.event for one in whole]
    failed = [one for one in receipts if one.redaction_status is RedactionStatus.FAILED]
    assert failed, "the fault was met"
    for receipt in failed:
        assert [getattr(receipt, field) for field in CONTENT] == [None] * len(CONTENT)
        assert receipt.correlation_refs == ()
        assert FindingName.REDACTION_FAILED in [one.name for one in receipt.findings]
    for one, other in zip(receipts, whole, strict=True):
        if one not in failed and fault != "failures":  # a fault changes no other receipt's verdict
            assert (one.outcome, one.decided_by) == (other.outcome, other.decided_by)
    said = capsys.readouterr()
    shown = said.out + said.err + caplog.text + "".join(map(repr, receipts))
    assert SECRET not in shown
    assert not any(SECRET.encode() in codec.encode(one) for one in receipts)


@pytest.mark.parametrize("fault", ["Key.mac", "failures", "is_in_subset", "count_dropped"])
def test_it_stands_in_every_denominator(fault: str) -> None:
    owner, name = FAULTS[fault]
    with patch.object(owner, name, broken):
        watched = [talk.receipts for talk in talks()]
    assert [put(receipts) for receipts in watched] == [2, 1]
