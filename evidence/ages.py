"""Ages: how long receipts are kept, by the retention class that the policy gave them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from elicitation_receipts.schemas.identifiers import is_identifier

#: The class of receipts to which the policy gave none, or one that has no age of its own.
DEFAULT: Final = "default"
_NEVER: Final = "never"
_DAY_US: Final = 86_400 * 1_000_000
_AGE: Final = re.compile(r"([0-9]{1,5})([dwy])")
_DAYS: Final = {"d": 1, "w": 7, "y": 365}


@dataclass(frozen=True, slots=True)
class Ages:
    """``by_class``: microseconds from when it occurred; None: kept for ever."""

    by_class: Mapping[str, int | None]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``default=2y payment=7y audit=never``: days, weeks, years of 365 days.

        Raises ``ValueError``.
        """
        ages: dict[str, int | None] = {}
        for entry in text.split():
            name, _, age = entry.partition("=")
            match = _AGE.fullmatch(age)
            if not is_identifier(name) or name in ages or not (match or age == _NEVER):
                raise ValueError("a class, =, and an age such as 90d, 26w, 7y or never")
            ages[name] = int(match[1]) * _DAYS[match[2]] * _DAY_US if match else None
        return cls(ages)

    def expires_at(self, retention_class: str | None, occurred_at: int) -> int | None:
        """When a receipt may go, UTC microseconds; None: never."""
        default = self.by_class.get(DEFAULT)
        age = self.by_class.get(retention_class, default) if retention_class else default
        return None if age is None else occurred_at + age


def is_ages(text: str) -> bool:
    """Whether :meth:`Ages.parse` takes it."""
    try:
        Ages.parse(text)
    except ValueError:
        return False
    return True
