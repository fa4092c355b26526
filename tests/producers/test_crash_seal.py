"""Watchers killed at random points: what was acknowledged is there, and no chain breaks."""

from __future__ import annotations

import random
import time
from pathlib import Path
from uuid import UUID

import pytest
from sample import PRODUCER, assert_unbroken, read_all, receipt, run

from elicitation_receipts.producers.recover import recover
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event, Outcome

#: Puts questions, answers most of them, and says what was acknowledged.
WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from uuid import uuid4
from elicitation_receipts.producers.seal import Sealer, WhenFull
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event, Outcome
from sample import PRODUCER, question

spool = Spool.open(Path(sys.argv[1]), lock_timeout=60)
sealer = Sealer(spool, "default", PRODUCER, when_full=WhenFull.BLOCK, block_timeout=60)
while True:
    put = question(sealer.stream_id)
    answer = replace(
        put, receipt_id=uuid4(), event=Event.ANSWERED, outcome=Outcome.DECLINED, attempt=1
    )
    tickets = [(put, sealer.submit([put])), (answer, sealer.submit([answer]))]
    if put.receipt_id.int % 2:
        left_open = question(sealer.stream_id)
        tickets.append((left_open, sealer.submit([left_open])))
    for receipt, ticket in tickets:
        assert ticket.wait()
        print(receipt.receipt_id, flush=True)
"""


@pytest.mark.slow
def test_watchers_killed_at_random(tmp_path: Path) -> None:
    home = tmp_path / "home"
    acknowledged: set[UUID] = set()
    chance = random.Random(20261130)
    for _ in range(12):
        writers = [run(WRITER, home) for _ in range(3)]
        for writer in writers:  # all of them are at work before the first is killed
            assert writer.stdout is not None
            acknowledged.add(UUID(writer.stdout.readline().strip()))
        for writer in writers:
            time.sleep(chance.uniform(0, 0.1))
            writer.kill()
        for writer in writers:
            with writer:
                assert writer.stdout is not None
                whole_lines = writer.stdout.read().split("\n")[:-1]
            acknowledged.update(UUID(line) for line in whole_lines)

    with Spool.open(home) as spool:
        recover(spool, PRODUCER)
        found = read_all(spool)
        assert acknowledged <= {each.receipt_id for each in found}
        assert_unbroken(spool)
        assert len(spool.streams()) == 1
        assert spool.open_questions() == []
        ends = [each.elicitation_id for each in found if each.outcome not in (None, Outcome.OPEN)]
        assert len(ends) == len(set(ends))
        put = {each.elicitation_id for each in found if each.event is Event.REQUESTED}
        assert put == set(ends)
        spool.append([receipt(spool.stream_for("default", PRODUCER))])
        assert_unbroken(spool)
