"""A combination: what it is called, and what differs."""

from __future__ import annotations

from elicitation_receipts.queries.gates.combination import Combination


def test_it_is_called_by_what_is_known() -> None:
    assert Combination("files", flow="sign-up").known == {"server": "files", "flow": "sign-up"}


def test_unknown_is_a_value_of_its_own() -> None:
    assert Combination("files").changed_since(Combination("files", "2.0")) == ["server_version"]
