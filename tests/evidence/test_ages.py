"""Ages: what a setting may say, and when a receipt of a class may go."""

from __future__ import annotations

import pytest

from elicitation_receipts.evidence.ages import Ages, is_ages

DAY = 86_400 * 1_000_000


def test_each_class_has_its_age() -> None:
    ages = Ages.parse("default=30d payment=2w  tax=7y\naudit=never")
    assert ages.expires_at(None, 0) == 30 * DAY
    assert ages.expires_at("payment", 5) == 14 * DAY + 5
    assert ages.expires_at("tax", 0) == 7 * 365 * DAY
    assert ages.expires_at("audit", 0) is None
    assert ages.expires_at("another", 0) == 30 * DAY


@pytest.mark.parametrize("text", ["", "payment=1d"])
def test_without_a_default_the_rest_is_kept(text: str) -> None:
    assert Ages.parse(text).expires_at(None, 0) is None


@pytest.mark.parametrize(
    "text", ["default", "default=", "default=1", "default=1m", "=1d", "a=1d a=2d", "a=-1d", "9=1d"]
)
def test_what_is_no_age_is_refused(text: str) -> None:
    assert not is_ages(text)
