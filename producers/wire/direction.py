"""Which way a message goes."""

from __future__ import annotations

from enum import StrEnum


class Direction(StrEnum):
    CLIENT_TO_SERVER = "c2s"
    SERVER_TO_CLIENT = "s2c"

    @property
    def back(self) -> Direction:
        """The other way."""
        if self is Direction.CLIENT_TO_SERVER:
            return Direction.SERVER_TO_CLIENT
        return Direction.CLIENT_TO_SERVER
