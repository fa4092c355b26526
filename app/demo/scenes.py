"""The demo's scenes: everything a question can come to, on both protocol eras, through the tap."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TextIO

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, MISSING_REQUIRED_CLIENT_CAPABILITY, Implementation

from elicitation_receipts import __version__
from elicitation_receipts.demo.person import Deed, Person
from elicitation_receipts.schemas.errors import ReceiptsError

_CLIENT: Final = Implementation(name="demo-client", version=__version__)
#: What a tool that must ask answers to a client that cannot be asked, by era.
_CANNOT_BE_ASKED: Final = (INVALID_REQUEST, MISSING_REQUIRED_CLIENT_CAPABILITY)
#: Seconds all of it may take; it takes about ten.
_PATIENCE: Final = 120.0


class Era(StrEnum):
    """The newest protocol revision of each era."""

    HANDSHAKE = "2025-11-25"  # the server sends requests of its own
    ROUND_TRIPS = "2026-07-28"  # questions travel in results


@dataclass(frozen=True, slots=True)
class Scene:
    """One tool call. ``deeds``: what the person does each time the tool asks."""

    title: str
    tool: str
    deeds: tuple[Deed, ...] = ()


#: A session with a client that can ask a person. The last scene ends it.
ASKED: Final = (
    Scene("form accepted", "issue_card", (Deed.ACCEPT,)),
    Scene("form declined", "change_address", (Deed.DECLINE,)),
    Scene("form cancelled", "deliver_book", (Deed.CANCEL,)),
    Scene("form filled in wrongly, asked again", "reserve_room", (Deed.MISTAKE, Deed.ACCEPT)),
    Scene("form answered in a millisecond", "review_book", (Deed.AT_ONCE,)),
    Scene("URL consented to and completed", "link_identity", (Deed.ACCEPT,)),
    Scene("URL consented to, never completed", "pay_fee", (Deed.ACCEPT,)),
    Scene("session ended, question open", "suggest_book", (Deed.LEAVE,)),
)
#: A session with a client that cannot.
NOT_ASKED: Final = (Scene("client cannot ask anybody", "issue_card"),)

#: How many scenes there are in all.
COUNT: Final = len(Era) * (len(ASKED) + len(NOT_ASKED))

#: Is told each scene that is over.
OnScene = Callable[[Era, Scene], None]


@dataclass(frozen=True, slots=True)
class Said:
    """What was said in the scenes, as texts. ``typed``: by the persons; ``read``: to them."""

    typed: frozenset[str]
    read: frozenset[str]


def play(command: Sequence[str], log: TextIO, on_scene: OnScene) -> Said:
    """Play every scene, all sessions at once, each with a server of its own.

    ``command`` starts the server, behind a tap; what it writes to stderr goes to ``log``.
    Raises :class:`ReceiptsError`: ``demo_interrupted``.
    """
    try:
        return asyncio.run(_play(command, log, on_scene))
    except (MCPError, OSError, ExceptionGroup) as error:  # TimeoutError is an OSError
        raise ReceiptsError(
            "demo_interrupted",
            f"a session of the demo broke off ({type(error).__name__}); see {log.name}",
        ) from error


async def _play(command: Sequence[str], log: TextIO, on_scene: OnScene) -> Said:
    async with asyncio.timeout(_PATIENCE):
        persons = await asyncio.gather(
            *(
                _session(command, log, era, scenes, on_scene)
                for era in Era
                for scenes in (ASKED, NOT_ASKED)
            )
        )
    return Said(
        typed=frozenset(text for person in persons for text in person.typed),
        read=frozenset(text for person in persons for text in person.read),
    )


async def _session(
    command: Sequence[str],
    log: TextIO,
    era: Era,
    scenes: Sequence[Scene],
    on_scene: OnScene,
) -> Person:
    person = Person()
    server = StdioServerParameters(command=command[0], args=list(command[1:]))
    async with stdio_client(server, errlog=log) as streams:
        client = Client(
            nullcontext(streams),
            mode="legacy" if era is Era.HANDSHAKE else era.value,
            elicitation_callback=person.answer if scenes is ASKED else None,
            client_info=_CLIENT,
        )
        async with client:
            for scene in scenes:
                person.expect(scene.deeds)
                await _scene(client, scene, person, hang_up=streams[1].aclose)
                on_scene(era, scene)
    return person


async def _scene(
    client: Client, scene: Scene, person: Person, hang_up: Callable[[], Awaitable[None]]
) -> None:
    call = asyncio.create_task(client.call_tool(scene.tool))
    leaving = asyncio.create_task(person.left.wait())
    await asyncio.wait((call, leaving), return_when=asyncio.FIRST_COMPLETED)
    if person.left.is_set():
        # A program that was closed says nothing any more. The SDK's client would answer
        # with an error before it goes, so the line is cut first.
        await hang_up()
        call.cancel()
    leaving.cancel()
    try:
        await call
    except MCPError as error:
        if error.error.code not in _CANNOT_BE_ASKED or scene.deeds:
            raise
    except asyncio.CancelledError:
        if not person.left.is_set():
            raise
