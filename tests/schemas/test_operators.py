"""What operators do is chained like everything else, and says who without naming anybody."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
from sample import PRODUCER, assert_unbroken

from elicitation_receipts.schemas.codec import encode
from elicitation_receipts.schemas.digest import keyed
from elicitation_receipts.schemas.identifiers import OPERATORS
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.operators import Operators
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event


@pytest.fixture
def operators(tmp_path: Path) -> Operators:
    spool = Spool.open(tmp_path / "home")
    return Operators(spool, Keyring.open(tmp_path / "home" / "keys"), PRODUCER)


def test_acts_go_to_one_chain_of_their_own(operators: Operators) -> None:
    with operators.spool as spool:
        tenants = spool.stream_for("default", PRODUCER)
        operators.record(Event.REPORTED, "completion", 3)
        operators.record(Event.KEY_ROTATED, "default", 1, key_id_from=12 * "a", key_id_to=12 * "b")
        assert_unbroken(spool)
        acts = list(operators.acts())
        assert [one.event for one in acts] == [Event.REPORTED, Event.KEY_ROTATED]
        assert {one.stream_id for one in acts} == {spool.stream_for(OPERATORS, PRODUCER)}
        assert tenants not in {one.stream_id for one in acts}
        assert acts[1].act is not None
        assert (acts[1].act.target, acts[1].act.key_id_to) == ("default", 12 * "b")


def test_who_and_for_which_case_are_references(operators: Operators) -> None:
    with operators.spool:
        case = "Smith v. Jones 2026/117"
        first = operators.record(Event.HOLD_SET, "default", 0, case).act
        again = operators.record(Event.HOLD_LIFTED, "default", 0, case)
        key = operators.keyring.tenant(OPERATORS).reference
        assert first is not None
        assert again.act is not None
        assert first.actor_ref == keyed(key, "actor", pwd.getpwuid(os.getuid()).pw_name)
        assert first.case_ref == again.act.case_ref == operators.case_ref(case)
        assert first.case_ref != operators.case_ref(case + "8")
        for word in (b"Smith", b"2026", pwd.getpwuid(os.getuid()).pw_name.encode()):
            assert word not in encode(again)


@pytest.mark.parametrize("target", ["Ada Lovelace", "0123456", "completion report"])
def test_a_target_that_is_no_safe_name_is_a_reference(operators: Operators, target: str) -> None:
    with operators.spool:
        act = operators.record(Event.EXPORTED, target, 1).act
        assert act is not None
        assert act.target is not None
        assert act.target.startswith("#")
