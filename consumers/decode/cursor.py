"""A place in each of many messages: they are read together, field by field.

Reading never fails. What is not plainly canonical takes its message's mark in ``good`` away, and
the message is read on as whatever it then looks like; a position past the end of all reads the
last byte again.
"""

from __future__ import annotations

from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: Bytes of the longest number: 64 bits, seven a byte.
_LONGEST: Final = 10


class Cursor:
    """``data``: all messages, one behind the other; ``at``: the place in each."""

    def __init__(self, data: npt.NDArray[np.uint8], at: Ints) -> None:
        self.data = data
        self.at = at
        self.good: Mask = np.ones(len(at), np.bool_)

    def part(self, chosen: npt.NDArray[Any]) -> Self:
        """A cursor for some of the messages; see :meth:`rejoin`."""
        part = type(self)(self.data, self.at[chosen])
        part.good = self.good[chosen]
        return part

    def rejoin(self, part: Cursor, chosen: npt.NDArray[Any]) -> None:
        """Take over how far ``part``, made of the ``chosen``, was read."""
        self.at[chosen] = part.at
        self.good[chosen] = part.good

    def require(self, holds: Mask) -> None:
        """Those of which it does not hold are not plainly canonical."""
        self.good &= holds

    def byte(self) -> npt.NDArray[np.uint8]:
        """The next byte of each."""
        value = self.data.take(self.at, mode="clip")
        self.at += 1
        return value

    def unsigned(self) -> npt.NDArray[np.uint64]:
        """The next variable-length number of each, as it is written: zig-zag, in shortest form."""
        last = self.byte()
        number = (last & 0x7F).astype(np.uint64)
        more = np.flatnonzero(last & 0x80)
        shift = 7
        while len(more) and shift < 7 * _LONGEST:
            last = self.data.take(self.at[more], mode="clip")
            self.at[more] += 1
            number[more] |= (last & 0x7F).astype(np.uint64) << np.uint64(shift)
            self.good[more] &= last != 0  # a last byte of 0 adds nothing
            more = more[(last & 0x80) != 0]
            shift += 7
        self.good[more] = False
        return number

    def number(self, largest: int) -> Ints:
        """The next number of each, from 0 to ``largest``; 0 where it is none of these."""
        written = self.unsigned()
        fits = (written & np.uint64(1) == 0) & (written <= np.uint64(2 * largest))  # odd: negative
        self.require(fits)
        return np.where(fits, written >> np.uint64(1), np.uint64(0)).astype(np.int64)

    def fixed(self, size: int) -> npt.NDArray[np.void]:
        """The next ``size`` bytes of each, as one item each."""
        behind = max(0, len(self.data) - size)
        windows: npt.NDArray[np.void] = np.ndarray(
            (behind + 1,), f"V{size}", self.data.data, strides=(1,)
        )
        value = windows[np.minimum(self.at, behind)]
        self.at += size
        return value

    def runs(self, lengths: Ints) -> npt.NDArray[np.uint8]:
        """The next bytes of each, so many as its length says, one behind the other."""
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        shift = np.repeat(self.at - (ends - lengths), lengths)
        self.at += lengths
        run: npt.NDArray[np.uint8] = self.data.take(np.arange(total) + shift, mode="clip")
        return run
