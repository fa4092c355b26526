"""Twelve publicly reported bugs of MCP clients, servers and SDKs, each as a small conversation.

What an observer should say of each: the finding that points at it, and an outcome
that no person is blamed for.
"""

from __future__ import annotations

from typing import Any

import pytest
from conversation import (
    BRANCH,
    FORM_ONLY,
    MODERN,
    Conversation,
    accept,
    accepted,
    answer,
    call,
    cancel,
    completion,
    decline,
    error,
    failures,
    form,
    form_params,
    interim,
    result,
    retry,
    success,
    tool_error,
    url,
    url_params,
)

from elicitation_receipts.schemas.vocabulary import Action, Event

COUNT = {"count": {"type": "integer", "title": "How many"}}


def test_1_a_client_update_withdrew_url_mode() -> None:
    # anthropics/claude-code#69555: `{form,url}` became `{}`, addresses are refused.
    talk = Conversation(capabilities=FORM_ONLY)
    talk.client(call(1))
    talk.server(url(7))
    talk.client(error(7, -32602, "url mode not supported"))
    talk.server(error(1, -32602))
    assert talk.story == [
        "requested open [mode_not_declared]",
        "refused unsupported by runtime",
        "resumed (error)",
    ]


def test_1_an_older_build_cancelled_addresses_without_showing_them() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(url(7))
    talk.wait(seconds=0.002)
    talk.client(cancel(7))
    assert talk.story[1:] == ["answered cancelled by automatic_suspected [implausible_latency]"]


def test_1_the_same_in_the_modern_revision() -> None:
    # anthropics/claude-code#88075
    talk = Conversation(MODERN, capabilities=FORM_ONLY)
    talk.client(call(1))
    talk.server(interim(1, {"k": url_params(None)}, "s"))
    talk.wait(seconds=0.002)
    talk.client(retry(2, {"k": {"action": "cancel"}}, "s"))
    assert talk.story == [
        "requested open [mode_not_declared]",
        "answered cancelled by automatic_suspected [implausible_latency]",
    ]


@pytest.mark.parametrize("given", [decline(7), cancel(7)], ids=["decline", "cancel"])
def test_2_a_client_declines_without_a_dialog(given: dict[str, Any]) -> None:
    # anthropics/claude-code#62319, #79174, #85442
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.wait(seconds=0.004)
    talk.client(given)
    (answered,) = talk.of(Event.ANSWERED)
    assert answered.decided_by is not None
    assert answered.decided_by.value == "automatic_suspected"
    assert talk.story[1].endswith("[implausible_latency]")


def test_3_a_field_the_client_cannot_render_is_accepted_empty_and_asked_for_ever() -> None:
    # openai/codex#41797
    talk = Conversation(MODERN)
    question = {"count": form_params("How many?", COUNT, ["count"])}
    talk.client(call(1))
    talk.server(interim(1, question, "state 1"))
    for number in (2, 3, 4):
        talk.wait(seconds=5)
        talk.client(retry(number, {"count": accepted({})}, f"state {number - 1}"))
        talk.server(interim(number, question, f"state {number}"))
    assert talk.story == [
        "requested open",
        "answered invalid by person_claimed [accept_schema_mismatch]",
        "requested open round 2",
        "answered invalid by person_claimed round 2 [accept_schema_mismatch]",
        "requested open round 3",
        "answered invalid by person_claimed round 3 [accept_schema_mismatch]",
        "requested open round 4 [reask_loop]",
    ]
    assert {tuple(failures(r)) for r in talk.of(Event.ANSWERED)} == {(("count", "required"),)}
    assert talk.elicitations == 1


@pytest.mark.parametrize("action", ["cancel", "decline"])
def test_4_content_null_on_a_refusal_is_still_a_refusal(action: str) -> None:
    # modelcontextprotocol/typescript-sdk#966: the server calls it an error.
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.wait(seconds=5)
    talk.client(answer(7, {"action": action, "content": None}))
    talk.server(error(1, -32603, "content: expected object, received null"))
    outcome = "cancelled" if action == "cancel" else "declined"
    assert talk.story[1:] == [f"answered {outcome} by person_claimed", "resumed (error)"]


def test_5_a_server_validates_what_a_cancel_does_not_carry() -> None:
    # modelcontextprotocol/go-sdk#758: outcome and downstream effect are two things.
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7, required=["branch"]))
    talk.wait(seconds=5)
    talk.client(cancel(7))
    talk.server(tool_error(1, "elicitation result content does not match requested schema"))
    assert talk.story[1:] == ["answered cancelled by person_claimed", "resumed (tool_error)"]
    assert talk.receipts[1].action is Action.CANCEL


def test_6_a_client_refuses_a_multiple_choice() -> None:
    # modelcontextprotocol/go-sdk#791
    choice = {
        "colours": {
            "type": "array",
            "title": "Colours",
            "items": {"type": "string", "enum": ["red", "blue"]},
        }
    }
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7, properties=choice))
    talk.client(error(7, -32602, "unsupported property type"))
    assert talk.story == [
        "requested open",
        "refused unsupported by runtime [error_answer]",
    ]


def test_7_a_form_without_fields_leaves_a_person_with_a_dead_dialog() -> None:
    # PrefectHQ/fastmcp#3910, aaif-goose/goose#8531
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7, properties={}))
    talk.wait(seconds=600)
    talk.close()
    assert talk.story == [
        "requested open [empty_schema]",
        "abandoned abandoned by runtime [unanswered]",
    ]


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["a"]),  # MCPJam/inspector#228
        ({"type": "integer", "format": "int32"}, 5),  # spring-ai#4993
        ({"type": "string", "format": "int32"}, "5"),
    ],
)
def test_8_a_schema_outside_the_subset_is_noted_and_its_answer_paired(
    field: dict[str, Any], given: object
) -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7, properties={"f": {"title": "F", **field}}))
    talk.wait(seconds=5)
    talk.client(accept(7, {"f": given}))
    expected = ["requested open", "answered accepted by person_claimed"]
    if field["type"] != "integer":  # a number's format is a member nobody published
        expected[0] += " [schema_off_subset]"
    assert talk.story == expected


def test_9_two_questions_in_flight_share_an_id() -> None:
    # modelcontextprotocol/python-sdk#3060, #2655, #3137
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.server(form(7, "Delete it?", {"ok": {"type": "boolean", "title": "Really?"}}))
    talk.wait(seconds=5)
    talk.client(accept(7, {"ok": True}))
    talk.client(accept(7, {"branch": "main"}))
    assert talk.story == [
        "requested open",
        "requested open [duplicate_id]",
        "answered ambiguous by unknown",
        "answered ambiguous by unknown",
    ]


@pytest.mark.parametrize("folded", ["007", " 7 ", "7", 7.0])
def test_10_an_sdk_folds_ids_that_are_not_equal(folded: object) -> None:
    # modelcontextprotocol/python-sdk#3432
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.wait(seconds=5)
    talk.client(accept(folded, {}))
    assert talk.story[1:] == ["answered accepted by unknown [id_not_verbatim]"]


def test_10_digits_grouped_by_underscores() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(1_000))
    talk.wait(seconds=5)
    talk.client(decline("1_000"))
    assert talk.story[1:] == ["answered declined by unknown [id_not_verbatim]"]


def test_11_a_client_takes_the_interim_result_for_the_final_one() -> None:
    # modelcontextprotocol/rust-sdk#1098: `_meta` on it, and no retry ever comes.
    talk = Conversation(MODERN)
    talk.client(call(1))
    message = interim(1, {"k": form_params()}, "s")
    message["result"]["_meta"] = {"progress": 1}
    talk.server(message)
    talk.wait(seconds=3_600)
    assert talk.story == ["requested open", "abandoned abandoned by runtime [unanswered]"]


def test_11_a_client_retries_without_the_state() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(interim(1, {"k": form_params()}, "s"))
    talk.wait(seconds=5)
    talk.client(retry(2, {"k": accepted({})}))
    talk.server(success(2))
    assert talk.story[1:] == [
        "answered accepted by person_claimed [state_not_echoed]",
        "resumed (success)",
    ]


def test_12_an_address_without_its_elicitation_id() -> None:
    # bakissation/mcp-google-multi PR#224: every client refuses, the server opens a browser itself.
    talk = Conversation()
    talk.client(call(1))
    talk.server(url(7, None))
    talk.client(error(7, -32602, "elicitationId: Required"))
    talk.server(success(1))
    talk.server(completion("never given"))
    assert talk.story == [
        "requested open [missing_elicitation_id]",
        "refused errored by runtime",
        "resumed (success)",
        "noted [unknown_completion_id]",
    ]


def test_12_in_the_modern_revision_it_is_lawful() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(interim(1, {"k": url_params(None)}, "s"))
    assert talk.story == ["requested open"]


def test_what_a_lenient_server_makes_of_an_answer_is_not_what_was_sent() -> None:
    # Servers that coerce take "yes" for true; the receipt does not.
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7, properties={"ok": {"type": "boolean", "title": "Really?"}, **BRANCH}))
    talk.wait(seconds=5)
    talk.client(accept(7, {"ok": "yes"}))
    talk.server(result(1, content=[{"type": "text", "text": "deployed"}]))
    assert talk.story[1:] == [
        "answered invalid by person_claimed [accept_schema_mismatch]",
        "resumed (success)",
    ]
