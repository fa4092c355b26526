"""Thresholds as data: the built-in ones, a user's, and broken ones."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from elicitation_receipts.queries.canary.thresholds import load
from elicitation_receipts.schemas.errors import UsageError

SHARE = {"worse": "higher", "margin": 0.01}


def test_the_built_in_ones_compare_every_measure() -> None:
    limits = load()
    assert [limit.measure for limit in limits.measures] == [
        "completion",
        "decline",
        "cancel",
        "invalid",
        "runtime_refusal",
        "abandonment",
        "repeats",
        "human_wait",
        "time_to_resume",
    ]
    assert [limit.measure for limit in limits.measures if limit.lower_is_worse] == ["completion"]
    assert limits.alpha_each == pytest.approx(limits.alpha / 9)


def test_what_a_file_leaves_out_is_built_in(tmp_path: Path) -> None:
    file = tmp_path / "thresholds.json"
    file.write_text(json.dumps({"settle_minutes": 0.5, "measures": {"decline": SHARE}}))
    limits = load(file)
    assert limits.settle == timedelta(seconds=30)
    assert limits.minimum == load().minimum
    assert [(limit.measure, limit.margin) for limit in limits.measures] == [("decline", 0.01)]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"measures": {}}',
        '{"measures": {"happiness": {"worse": "lower", "margin": 0.1}}}',
        '{"measures": {"decline": {"worse": "higher", "margin": 0}}}',
        '{"measures": {"human_wait": {"worse": "lower", "margin": 1}}}',
        '{"alpha": 1, "measures": {"decline": {"worse": "higher", "margin": 0.1}}}',
        '{"alhpa": 0.1, "measures": {"decline": {"worse": "higher", "margin": 0.1}}}',
    ],
)
def test_a_broken_file_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "thresholds.json"
    file.write_text(text)
    with pytest.raises(UsageError, match="thresholds_invalid"):
        load(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="thresholds_unreadable"):
        load(tmp_path / "none.json")
