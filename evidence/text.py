"""The texts of our notes: a first line that names the kind, then ``<word> <value>…`` lines.

One text has one meaning and one meaning one text: what is read is written again and must
be the same.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from elicitation_receipts.schemas.errors import EvidenceError

_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,18}")


def number(text: str) -> int:
    """A decimal number without leading zeros. Raises ``ValueError``."""
    if not _NUMBER.fullmatch(text):
        raise ValueError("no number")
    return int(text)


def uuid(text: str) -> UUID:
    """A UUID in its canonical form (RFC 9562). Raises ``ValueError``."""
    value = UUID(text)
    if str(value) != text:
        raise ValueError("no UUID in canonical form")
    return value


def moment(text: str) -> datetime:
    """A time in UTC, to the second (RFC 3339 with ``Z``). Raises ``ValueError``."""
    return datetime.strptime(text, _TIME).replace(tzinfo=UTC)


def moment_text(time: datetime) -> str:
    return time.astimezone(UTC).strftime(_TIME)


def lines_of(text: str, kind: str) -> list[list[str]]:
    """The lines behind the first, each as its words. Raises ``note_malformed``."""
    first, *rest = text.removesuffix("\n").split("\n")
    if first != kind:
        raise malformed(kind)
    return [line.split(" ") for line in rest]


def malformed(kind: str) -> EvidenceError:
    return EvidenceError("note_malformed", f"this is no note of the kind {kind}")
