"""Marks: random texts that stand for what must never be kept, each known by the place it was put.

A mark has a core of sixteen characters with six digits in a row, so that it is never a safe
name; whatever becomes of it on the way (escaped, encoded, cut out of what surrounds it), the
core is what to look for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from string import ascii_lowercase, digits

from elicitation_receipts.leaks import LeakSearch

#: The digits of a full-width keyboard, which IDNA makes plain ones.
_FULL_WIDTH = str.maketrans(
    ascii_lowercase + digits, "".join(chr(ord(c) + 0xFEE0) for c in ascii_lowercase + digits)
)


class Marks:
    """``places``: each core that was given out, and what it stood for. Equal seeds, equal marks."""

    def __init__(self, seed: int) -> None:
        self.places: dict[str, str] = {}
        self._random = Random(seed)

    def text(self, place: str) -> str:
        """Small letters and digits."""
        return self._put(place, self._some(ascii_lowercase, 5) + self._digits(6) + self._tail())

    def odd(self, place: str) -> str:
        """A text that looks different in every encoding."""
        return f'Zoë "Æ" D\'Arcy & co/{self.text(place)}\t100%\\ \u2028'

    def word(self, place: str) -> str:
        """A safe name, for places from which not even a name is taken."""
        return self._put(place, self._some(ascii_lowercase, 16))

    def number(self, place: str) -> int:
        """Fifteen digits: exact also as a float."""
        return int(self._put(place, self._some("123456789", 1) + self._digits(14)))

    def full_width(self, place: str) -> str:
        """A text that becomes plain when a host name is put in its normal form."""
        return self.text(place).translate(_FULL_WIDTH)

    def _put(self, place: str, core: str) -> str:
        self.places[core] = place
        return core

    def _tail(self) -> str:
        return self._some(ascii_lowercase, 5)

    def _digits(self, count: int) -> str:
        return self._some(digits, count)

    def _some(self, characters: str, count: int) -> str:
        return "".join(self._random.choices(characters, k=count))


def find(places: Mapping[str, str], look: Callable[[LeakSearch], None]) -> dict[str, list[str]]:
    """What each mark that is found stood for, and where it was found. Never the mark.

    ``places`` as in :class:`Marks`; ``look`` points a search to everything.
    """
    search = LeakSearch(places)
    look(search)
    if not search.places:
        return {}
    found = {}
    for core, place in places.items():
        search = LeakSearch([core])
        look(search)
        if search.places:
            found[place] = search.places
    return found
