"""What the commands of the workbench share: which policy, which operation, what stands above."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from elicitation_receipts.invocation import Invocation
from elicitation_receipts.policy_in_force import chosen_policy
from elicitation_receipts.producers.policy import Policy
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.vocabulary import Mode
from elicitation_receipts.settings import option

#: Above every result: what its reader may and may not take it for.
CONTACTS: Final = "nothing: no client, no server; no address was followed"

POLICY = Annotated[str | None, option("policy")]
TOOL = Annotated[str | None, typer.Option(help="The tool in whose call it is asked.")]
PROMPT = Annotated[str | None, typer.Option(help="The prompt in whose request it is asked.")]
RESOURCE = Annotated[str | None, typer.Option(help="The URI of the resource that is read.")]
CLIENT_MODE = Annotated[
    list[str] | None,
    typer.Option(
        help="A mode the client has declared: form, url, or none. Can be repeated; without: "
        "not known.",
        metavar="MODE",
    ),
]


def policy_of(context: typer.Context, given: str | None) -> Policy:
    """The policy of ``--policy``, else of the settings, else the built-in one."""
    invocation: Invocation = context.obj
    return chosen_policy(invocation.load_settings({"policy": given}).settings)


def head_of(policy: Policy) -> dict[str, str]:
    """Which policy judged, and that nothing else happened."""
    return {
        "policy": f"{policy.id} {policy.version}",
        "policy_digest": policy.digest.hex(),
        "contacted": CONTACTS,
    }


def operation_of(
    tool: str | None, prompt: str | None, resource: str | None
) -> tuple[str, str] | tuple[None, None]:
    """Method and name of the operation that was named; none where none was."""
    named = [
        (method, name)
        for method, name in (
            ("tools/call", tool),
            ("prompts/get", prompt),
            ("resources/read", resource),
        )
        if name is not None
    ]
    if len(named) > 1:
        raise UsageError("operation_ambiguous", "give one of --tool, --prompt and --resource")
    return named[0] if named else (None, None)


def declared_of(words: list[str] | None) -> frozenset[Mode] | None:
    """The modes a client has declared."""
    if words is None:
        return None
    known = {"form": Mode.FORM, "url": Mode.URL}
    if not set(words) <= {*known, "none"} or ("none" in words and len(words) > 1):
        raise UsageError("mode_unknown", "--client-mode takes form, url, or none alone")
    return frozenset(known[word] for word in words if word in known)
