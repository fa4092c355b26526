"""Declarations of parameters, and what the text of each kind may be."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.queries.parameter import DIMENSIONS, Kind, Parameter
from elicitation_receipts.schemas.errors import UsageError

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def read(kind: str, *texts: str) -> Any:
    return Parameter("some_name", Kind(kind), "help").read(texts, NOW)


def test_a_declaration_has_name_kind_and_help() -> None:
    declared = Parameter.declared("policy_version names Only this version: 1.0 or so.")
    assert declared == Parameter("policy_version", Kind.NAMES, "Only this version: 1.0 or so.")
    assert declared.option == "--policy-version"


@pytest.mark.parametrize(
    "text", ["", "since", "since time", "Since time help", "since moment help", "since  time help"]
)
def test_anything_else_is_no_declaration(text: str) -> None:
    with pytest.raises(ValueError, match=r"declaration|valid Kind"):
        Parameter.declared(text)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-01", "2026-11-01T00:00:00"),
        ("2026-11-01T06:30", "2026-11-01T06:30:00"),
        ("2026-11-01T06:30:00.000001Z", "2026-11-01T06:30:00.000001"),
        ("2026-11-01T06:30+02:00", "2026-11-01T04:30:00"),
        ("90min", "2026-11-30T10:30:00"),
        ("24h", "2026-11-29T12:00:00"),
        ("7d", "2026-11-23T12:00:00"),
        ("2w", "2026-11-16T12:00:00"),
    ],
)
def test_times_are_iso_8601_or_how_long_ago(text: str, time: str) -> None:
    """The value is UTC without a zone."""
    assert read("time", text).isoformat() == time


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "7", "7m", "d", "-7d", "7 d", "999999w", "2026-13-01", "2026-11-01T25:00"],
)
def test_a_bad_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read("time", text)
    assert caught.value.reason == "bad_time"
    assert caught.value.exit_code == 2


@given(st.integers(0, 2**52), st.timezones())
def test_a_time_is_the_same_in_every_zone(micros: int, zone: tzinfo) -> None:
    moment = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros)
    value = read("time", moment.astimezone(zone).isoformat())
    assert value.replace(tzinfo=UTC) == moment


def test_dimensions_are_named_one_by_one_or_with_commas() -> None:
    assert read("dimensions", "server,mode", "day", " mode") == ["server", "mode", "day"]


@pytest.mark.parametrize("text", ["", "servers", "mode,", "put; DROP TABLE receipts"])
def test_only_dimensions_split(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read("dimensions", text)
    assert caught.value.reason == "unknown_dimension"
    assert all(name in str(caught.value) for name in DIMENSIONS)


def test_words_are_those_of_the_protocol() -> None:
    assert read("modes", "form", "url") == ["form", "url"]
    assert read("carriers", "task") == ["task"]
    with pytest.raises(UsageError, match=r"unknown_mode: .*task_input"):
        read("modes", "FORM")
    with pytest.raises(UsageError, match=r"unknown_carrier: .*multi_round_trip"):
        read("carriers", "form")


def test_days_are_dates() -> None:
    assert read("days", "2026-11-30", "2026-12-01") == [date(2026, 11, 30), date(2026, 12, 1)]
    with pytest.raises(UsageError, match="bad_time"):
        read("days", "2026-11-31")


@given(st.lists(st.text(), min_size=1))
def test_names_are_taken_as_they_are(names: list[str]) -> None:
    assert read("names", *names) == names
