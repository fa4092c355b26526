"""The server that the conformance suite's elicitation scenarios want, on the MCP Python SDK v2.

`python conformance_server.py`: over Streamable HTTP, on a free port that it prints;
`python conformance_server.py stdio`: over stdio.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Mapping
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server

Context = ServerRequestContext[Any]
Asked = dict[str, types.InputRequest]

NAME = "conformance"
PROMPT = "test_input_required_result_prompt"


def form(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT = {"type": "string"}
CHOICES = ["option1", "option2", "option3"]


def titled(*titles: str) -> list[dict[str, str]]:
    return [{"const": f"value{n}", "title": title} for n, title in enumerate(titles, 1)]


#: Up to 2025-11-25: tool, and what it asks for. What is asked follows the suite's demands.
ASKED: dict[str, dict[str, Any]] = {
    "test_elicitation": form(
        username={"type": "string", "description": "User's response"},
        email={"type": "string", "description": "User's email address"},
    ),
    "test_elicitation_sep1034_defaults": form(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    ),
    "test_elicitation_sep1330_enums": form(
        untitledSingle={"type": "string", "enum": CHOICES},
        titledSingle={"type": "string", "oneOf": titled("First", "Second", "Third")},
        legacyEnum={
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={"type": "array", "items": {"type": "string", "enum": CHOICES}},
        titledMulti={"type": "array", "items": {"anyOf": titled("First", "Second", "Third")}},
    ),
}


def ask(message: str, **properties: Mapping[str, Any]) -> types.ElicitRequest:
    schema = form(**properties)
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def sample(text: str) -> types.CreateMessageRequest:
    said = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    params = types.CreateMessageRequestParams(messages=[said], max_tokens=100)
    return types.CreateMessageRequest(params=params)


WHO: Asked = {"user_name": ask("What is your name?", name=TEXT)}
CAPITAL: Asked = {"capital_question": sample("What is the capital of France?")}
ROOTS: Asked = {"client_roots": types.ListRootsRequest()}
CONFIRM: Asked = {"confirm": ask("Please confirm", ok={"type": "boolean"})}

#: From 2026-07-28: operation, and what it asks in each of its rounds; with a state or without.
ROUNDS: dict[str, tuple[list[Asked], bool]] = {
    "test_input_required_result_elicitation": ([WHO], False),
    "test_input_required_result_sampling": ([CAPITAL], False),
    "test_input_required_result_list_roots": ([ROOTS], False),
    "test_input_required_result_request_state": ([CONFIRM], True),
    "test_input_required_result_tampered_state": ([CONFIRM], True),
    "test_input_required_result_multiple_inputs": (
        [{**WHO, "greeting": sample("Generate a greeting"), **ROOTS}],
        True,
    ),
    "test_input_required_result_multi_round": (
        [
            {"step1": ask("Step 1: What is your name?", name=TEXT)},
            {"step2": ask("Step 2: What is your favorite color?", color=TEXT)},
        ],
        True,
    ),
    "test_input_required_result_capabilities": ([WHO | CAPITAL], False),
    PROMPT: ([{"user_context": ask("What context should the prompt use?", context=TEXT)}], False),
}


def may_be_asked(request: types.InputRequest, client: types.ClientCapabilities) -> bool:
    match request:
        case types.ElicitRequest():
            return client.elicitation is not None
        case types.CreateMessageRequest():
            return client.sampling is not None
        case _:
            return client.roots is not None


def next_round(
    context: Context,
    name: str,
    responses: Mapping[str, object] | None,
    state: str | None,
) -> types.InputRequiredResult | None:
    """What is to be asked now; None: all has been answered."""
    rounds, has_state = ROUNDS[name]
    number = int(state) if state else 0
    client = context.session.client_capabilities or types.ClientCapabilities()
    asked = {key: one for key, one in rounds[number].items() if may_be_asked(one, client)}
    if asked.keys() <= (responses or {}).keys():
        number += 1
        if number == len(rounds):
            return None
        asked = rounds[number]
    return types.InputRequiredResult(
        input_requests=asked, request_state=str(number) if has_state else None
    )


async def list_tools(_context: Context, _params: object) -> types.ListToolsResult:
    names = [name for name in (*ASKED, *ROUNDS) if name != PROMPT]
    schema = {"type": "object", "properties": {"message": TEXT}}
    return types.ListToolsResult(
        tools=[types.Tool(name=name, input_schema=schema) for name in names]
    )


async def call_tool(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    if params.name in ASKED:
        message = str((params.arguments or {}).get("message", "Please fill in"))
        answer = await context.session.elicit_form(message, ASKED[params.name], context.request_id)
        said = f"Elicitation completed: action={answer.action}, content={answer.content}"
        return types.CallToolResult(content=[types.TextContent(text=said)])
    asked = next_round(context, params.name, params.input_responses, params.request_state)
    return asked or types.CallToolResult(content=[types.TextContent(text="state-ok")])


async def list_prompts(_context: Context, _params: object) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[types.Prompt(name=PROMPT)])


async def get_prompt(
    context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    asked = next_round(context, params.name, params.input_responses, params.request_state)
    text = types.TextContent(text="As you said.")
    return asked or types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])


def new_server() -> Server[Any]:
    server = Server(
        NAME,
        version="1.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
    boundary = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME)
    server.middleware.append(boundary)
    return server


async def over_stdio() -> None:
    server = new_server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def over_http() -> None:
    app = new_server().streamable_http_app()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=2)
        uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    if sys.argv[1:] == ["stdio"]:
        asyncio.run(over_stdio())
    else:
        over_http()
