"""The parameters of a question: how its head comment declares them, how their text is read.

A declaration is ``name kind help``. A kind says what the text on a command line may be and
what value the SQL finds in the variable of that name (NULL where it was not given):

=============  =============================================  =====================
kind           text                                           value
=============  =============================================  =====================
``dimensions`` names of dimensions, also separated by commas  list of str
``time``       ISO 8601, or a duration: that long ago         datetime, UTC, naive
``flag``       none: it is there or not                       bool
``modes``      words of :class:`Mode`                         list of str
``carriers``   words of :class:`Carrier`                      list of str
``names``      anything: it is compared, never interpreted    list of str
``days``       ISO 8601 dates                                 list of date
=============  =============================================  =====================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Final

from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.vocabulary import Carrier, Mode

Value = bool | datetime | Sequence[str] | Sequence[date] | None

#: What a report can be split by, in the order of its columns.
DIMENSIONS: Final = (
    "mode",
    "carrier",
    "server",
    "client",
    "flow",
    "tool",
    "policy_version",
    "day",
)

_DECLARATION: Final = re.compile(r"(?P<name>[a-z][a-z_]*) (?P<kind>[a-z]+) (?P<help>\S.*)")
_DURATION: Final = re.compile(r"(?P<count>[0-9]{1,6})(?P<unit>min|h|d|w)")
_UNITS: Final = {"min": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Kind(StrEnum):
    DIMENSIONS = "dimensions"
    TIME = "time"
    FLAG = "flag"
    MODES = "modes"
    CARRIERS = "carriers"
    NAMES = "names"
    DAYS = "days"

    @property
    def is_repeatable(self) -> bool:
        return self not in (Kind.TIME, Kind.FLAG)


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    kind: Kind
    help: str

    @classmethod
    def declared(cls, text: str) -> Parameter:
        """Read ``name kind help``; ValueError where it is anything else."""
        match = _DECLARATION.fullmatch(text)
        if match is None:
            raise ValueError(f"not a parameter's declaration: {text}")
        return cls(match["name"], Kind(match["kind"]), match["help"])

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    def read(self, texts: Sequence[str], now: datetime) -> Value:
        """Make the value of what stands on a command line; UsageError where it makes none.

        ``now``: what a duration counts back from.
        """
        return _READERS[self.kind](self, texts, now)


def check_dimensions(value: Value) -> list[str]:
    """The dimensions named, each once; UsageError where one is none. Only they choose columns."""
    names = [str(name) for name in value] if isinstance(value, Sequence) else []
    for name in names:
        if name not in DIMENSIONS:
            raise UsageError("unknown_dimension", f"{name!r} is none of {', '.join(DIMENSIONS)}")
    return list(dict.fromkeys(names))


def utc(time: datetime) -> datetime:
    """UTC without a zone, as the database keeps it. A time without a zone is UTC already."""
    return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)


def _dimensions(_: Parameter, texts: Sequence[str], __: datetime) -> Value:
    return check_dimensions([name.strip() for text in texts for name in text.split(",")])


def _time(parameter: Parameter, texts: Sequence[str], now: datetime) -> Value:
    [text] = texts
    try:
        if duration := _DURATION.fullmatch(text):
            return utc(now - timedelta(**{_UNITS[duration["unit"]]: int(duration["count"])}))
        return utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise UsageError(
            "bad_time",
            f"{parameter.option} {text!r} is neither an ISO 8601 date or time (2026-11-30, "
            "2026-11-30T14:00Z) nor a duration (90min, 24h, 7d, 2w)",
        ) from None


def _days(parameter: Parameter, texts: Sequence[str], _: datetime) -> Value:
    try:
        return [date.fromisoformat(text) for text in texts]
    except ValueError:
        raise UsageError(
            "bad_time", f"{parameter.option} takes an ISO 8601 date (2026-11-30)"
        ) from None


def _flag(_: Parameter, __: Sequence[str], ___: datetime) -> Value:
    return True


def _names(_: Parameter, texts: Sequence[str], __: datetime) -> Value:
    return list(texts)


def _words(vocabulary: type[StrEnum], reason: str) -> Callable[..., Value]:
    def read(_: Parameter, texts: Sequence[str], __: datetime) -> Value:
        words = [word.value for word in vocabulary]
        for text in texts:
            if text not in words:
                raise UsageError(reason, f"{text!r} is none of {', '.join(words)}")
        return list(texts)

    return read


_READERS: Final[Mapping[Kind, Callable[[Parameter, Sequence[str], datetime], Value]]] = {
    Kind.DIMENSIONS: _dimensions,
    Kind.TIME: _time,
    Kind.FLAG: _flag,
    Kind.MODES: _words(Mode, "unknown_mode"),
    Kind.CARRIERS: _words(Carrier, "unknown_carrier"),
    Kind.NAMES: _names,
    Kind.DAYS: _days,
}
