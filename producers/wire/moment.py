"""A point in time, given to the core from outside: the core reads no clock."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """``wall_us``: UTC microseconds since 1970. ``monotonic_us``: never runs backwards."""

    wall_us: int
    monotonic_us: int

    def since(self, earlier: Moment) -> int:
        """Microseconds since ``earlier`` on the monotonic clock."""
        return max(0, self.monotonic_us - earlier.monotonic_us)
