"""The demo's person: answers as a script says, at a person's pace, and remembers what it typed."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from random import SystemRandom
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from mcp.client.context import ClientRequestContext
from mcp_types import ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult

#: Seconds between a question and its answer: shortest and longest.
_PACE: Final = (0.3, 0.8)


#: What a form is answered with, as the SDK has it.
Content: TypeAlias = dict[str, str | int | float | bool | list[str] | None]


class Deed(Enum):
    """What the person does with one question."""

    ACCEPT = auto()
    DECLINE = auto()
    CANCEL = auto()
    MISTAKE = auto()  # accept, with a text where a number is asked for
    AT_ONCE = auto()  # accept as no person can: right away
    LEAVE = auto()  # close the program


#: What is typed into each field. Plausible and never the same twice; the ``mark`` is 12
#: random hexadecimal digits, so that a trace of it anywhere is no coincidence. Quotes,
#: accents and signs make every spelling (JSON, URL) differ from the text itself.
_TYPED: Final[Mapping[str, Callable[[str], str | int]]] = {
    "full_name": lambda mark: f"Zoë D'Arcy-{mark}",
    "email": lambda mark: f"zoe.{mark}@example.org",
    "street": lambda mark: f"Lindenstraße 7 / {mark}",
    "town": lambda mark: f"Ærø {mark}",
    "purpose": lambda mark: f'reading "Ulysses" aloud, group {mark}',
    "member_number": lambda mark: 10**15 + int(mark, 16),
    "review": lambda mark: f"100% worth it & more:\n«{mark}»",
    "book": lambda mark: f'Brontë, "Shirley" ({mark})',
}


class Person:
    """Plays one script after the other, a deed a question.

    ``typed``  every text and number typed so far, as text
    ``read``   every text read so far, and of every address what no receipt may keep
    ``left``   set once the person has closed the program
    """

    def __init__(self) -> None:
        self.typed: list[str] = []
        self.read: list[str] = []
        self.left = asyncio.Event()
        self._deeds: list[Deed] = []

    def expect(self, deeds: Iterable[Deed]) -> None:
        """The script for the questions to come."""
        self._deeds = list(deeds)

    async def answer(
        self,
        context: ClientRequestContext,  # noqa: ARG002  (the SDK's signature)
        params: ElicitRequestFormParams | ElicitRequestURLParams,
    ) -> ElicitResult:
        """The SDK's elicitation callback."""
        deed = self._deeds.pop(0)
        self.read.append(params.message)
        if deed is not Deed.AT_ONCE:
            await asyncio.sleep(SystemRandom().uniform(*_PACE))
        match deed:
            case Deed.DECLINE:
                return ElicitResult(action="decline")
            case Deed.CANCEL:
                return ElicitResult(action="cancel")
            case Deed.LEAVE:
                self.left.set()
                await asyncio.Event().wait()
        if isinstance(params, ElicitRequestURLParams):
            self.read.append(urlsplit(params.url).query)
            return ElicitResult(action="accept")
        content = self._fill_in(params, mistaken=deed is Deed.MISTAKE)
        return ElicitResult(action="accept", content=content)

    def _fill_in(self, form: ElicitRequestFormParams, *, mistaken: bool) -> Content:
        content: Content = {}
        for name, field in form.requested_schema["properties"].items():
            mark = secrets.token_hex(6)
            value = _TYPED[name](mark)
            if mistaken and field["type"] == "integer":
                value = f"somewhere in my bag, {mark}"
            content[name] = value
            self.typed += [str(value), mark] if isinstance(value, str) else [str(value)]
        return content
