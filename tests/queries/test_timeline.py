"""The life of one elicitation, told receipt by receipt."""

from __future__ import annotations

import pytest
from lives import Lives, answered, requested, resumed

from elicitation_receipts.queries.timeline import timeline
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.vocabulary import Keyword, Outcome


def test_every_receipt_in_order_and_where_it_is_sealed(lives: Lives) -> None:
    failed = [("email", Keyword.FORMAT)]
    steps = [requested(), answered(Outcome.INVALID, failed=failed), requested(after=7), resumed()]
    told = lives.add(*steps, server_name="files", tool="order")
    lives.add(requested(), answered(Outcome.DECLINED))
    result = timeline(lives.connection, str(told)[:8].upper())
    rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    assert [row["event"] for row in rows] == ["requested", "answered", "requested", "resumed"]
    assert [row["sequence"] for row in rows] == [0, 1, 2, 3]
    assert [row["round"] for row in rows] == [1, 1, 2, 2]
    assert rows[1]["fields"] == "3 of 3, 1 failed"
    assert rows[2]["after_seconds"] == 7 / 1e6
    assert {row["chain"] for row in rows} == {"linked"}
    assert all(len(str(row["leaf_hash"])) == 64 for row in rows)
    head = (result.head["profile"], result.head["server_name"], result.head["tool"])
    assert head == ("operator", "files", "order")


@pytest.mark.parametrize("beginning", ["", "1234567", "zzzzzzzz", "%%%%%%%%"])
def test_what_names_none_is_refused(beginning: str, lives: Lives) -> None:
    lives.add(requested())
    with pytest.raises(UsageError, match=r"elicitation_(ambiguous|unknown)"):
        timeline(lives.connection, beginning)
