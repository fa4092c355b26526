"""Moment: a time an option gives, read as the reports read theirs."""

from __future__ import annotations

from datetime import UTC, datetime

from elicitation_receipts.queries.parameter import Kind, Parameter


def read_moment(name: str, text: str) -> datetime:
    """An ISO 8601 time (UTC unless it says otherwise) or how long ago. Raises ``bad_time``."""
    value = Parameter(name, Kind.TIME, "").read([text], datetime.now(UTC))
    assert isinstance(value, datetime)  # noqa: S101  (that kind reads nothing else)
    return value.replace(tzinfo=UTC)
