"""The demo's MCP server: a city library that asks people things, in both protocol eras.

``python -m elicitation_receipts.demo.server`` speaks MCP on stdin and stdout. It is an
ordinary server on the official SDK; nothing in it knows of receipts.
"""

from __future__ import annotations

import asyncio
from typing import Final, TypeAlias
from uuid import uuid4

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    FormElicitationCapability,
    InputRequiredResult,
    MissingRequiredClientCapabilityErrorData,
)
from pydantic import BaseModel, Field, ValidationError

from elicitation_receipts import __version__

#: From this revision on a question travels in a result, and its answer in a retry.
_ROUND_TRIPS: Final = "2026-07-28"
#: How the one question of an operation is called there.
_KEY: Final = "answer"
#: Seconds that it takes to do what an address asks for.
_CEREMONY: Final = 0.3

Reply: TypeAlias = str | InputRequiredResult

server = MCPServer("demo-library", version=__version__, log_level="ERROR")


class Holder(BaseModel):
    full_name: str = Field(title="Full name", min_length=1)
    email: str = Field(title="E-mail", json_schema_extra={"format": "email"})


class Address(BaseModel):
    street: str = Field(title="Street and number")
    town: str = Field(title="Town")


class Booking(BaseModel):
    purpose: str = Field(title="What the room is for")
    member_number: int = Field(title="Member number")


class Review(BaseModel):
    review: str = Field(title="Your review", max_length=500)


class Suggestion(BaseModel):
    book: str = Field(title="Author and title")


@server.tool()
async def issue_card(context: Context) -> Reply:
    """Issue a library card."""
    return await _fill_in(context, "Who gets the card?", Holder)


@server.tool()
async def change_address(context: Context) -> Reply:
    """Change where letters go."""
    return await _fill_in(context, "Where do you live now?", Address)


@server.tool()
async def deliver_book(context: Context) -> Reply:
    """Send a book by mail."""
    return await _fill_in(context, "Where shall we send the book?", Address)


@server.tool()
async def reserve_room(context: Context) -> Reply:
    """Reserve a room."""
    return await _fill_in(context, "What is the room for, and who are you?", Booking)


@server.tool()
async def review_book(context: Context) -> Reply:
    """Publish a review."""
    return await _fill_in(context, "How did you like the book?", Review)


@server.tool()
async def suggest_book(context: Context) -> Reply:
    """Suggest a book for the shelves."""
    return await _fill_in(context, "Which book do you miss here?", Suggestion)


@server.tool()
async def link_identity(context: Context) -> Reply:
    """Link the city's digital identity to the card."""
    return await _open_address(
        context, "Show us who you are.", "https://identity.example/link", in_time=True
    )


@server.tool()
async def pay_fee(context: Context) -> Reply:
    """Pay for a book that came back late."""
    return await _open_address(
        context, "Pay your fee.", "https://payments.example/fees", in_time=False
    )


async def _fill_in(context: Context, message: str, form: type[BaseModel]) -> Reply:
    """Ask until the form is valid or the person does not want to."""
    schema = form.model_json_schema()
    if context.protocol_version == _ROUND_TRIPS:
        answer = _answer(context)
        if answer is None or _is_invalid(answer, form):
            return _ask(context, ElicitRequestFormParams(message=message, requested_schema=schema))
    else:
        answer = await context.session.elicit_form(message, schema, context.request_id)
        while _is_invalid(answer, form):
            answer = await context.session.elicit_form(message, schema, context.request_id)
    return "Thank you." if answer.action == "accept" else "Then we leave it as it is."


async def _open_address(context: Context, message: str, page: str, *, in_time: bool) -> Reply:
    """Ask to open an address, and wait for what happens there; ``in_time``: it does happen."""
    url = f"{page}?ticket={uuid4().hex}"
    if context.protocol_version == _ROUND_TRIPS:
        answer = _answer(context)
        if answer is None:
            return _ask(context, ElicitRequestURLParams(message=message, url=url))
        await asyncio.sleep(_CEREMONY)
    else:
        elicitation_id = uuid4().hex
        answer = await context.session.elicit_url(message, url, elicitation_id, context.request_id)
        await asyncio.sleep(_CEREMONY)
        if in_time:
            await context.session.send_elicit_complete(elicitation_id, context.request_id)
    if not in_time:
        raise ToolError("We have not heard from that page yet.")
    return "Thank you."


def _answer(context: Context) -> ElicitResult | None:
    """The answer this request brings along (2026-07-28)."""
    found = (context.input_responses or {}).get(_KEY)
    return found if isinstance(found, ElicitResult) else None


def _ask(
    context: Context, question: ElicitRequestFormParams | ElicitRequestURLParams
) -> InputRequiredResult:
    """What a request has to be answered with for the client to ask the person (2026-07-28)."""
    capabilities = context.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        raise _cannot_ask()
    return InputRequiredResult(
        input_requests={_KEY: ElicitRequest(params=question)}, request_state=_KEY
    )


def _cannot_ask() -> MCPError:
    form = ClientCapabilities(elicitation=ElicitationCapability(form=FormElicitationCapability()))
    data = MissingRequiredClientCapabilityErrorData(required_capabilities=form)
    return MCPError(
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        "this tool has to ask a person",
        data.model_dump(by_alias=True, mode="json", exclude_none=True),
    )


def _is_invalid(answer: ElicitResult, form: type[BaseModel]) -> bool:
    if answer.action != "accept":
        return False
    try:
        form.model_validate(answer.content)
    except ValidationError:
        return True
    return False


if __name__ == "__main__":
    server.run()
