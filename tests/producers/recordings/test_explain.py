"""Explanations: every message is told, what it left and why, and no value of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conversation import (
    accept,
    call,
    completion,
    error,
    form,
    notification,
    request,
    success,
    tool_error,
    url,
)
from marked_traffic import REVISIONS, full_session
from recordings import POST, asked, chunk, event, json_lines, recording, said, status
from scripted_server import CLIENT

from elicitation_receipts.producers.recordings.explain import SAYS, explain
from elicitation_receipts.producers.recordings.recording import Recording
from elicitation_receipts.producers.recordings.replay import replay
from elicitation_receipts.producers.recordings.seed import Seed
from elicitation_receipts.schemas.vocabulary import FindingName

GREETING = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"url": {}}}}


def explained(recording: Recording) -> list[str]:
    return list(explain(replay(recording, Seed(1).keys("default"), POST)))


def test_a_conversation_is_told_message_by_message(tmp_path: Path) -> None:
    amount = {"amount": {"type": "number", "title": "Amount"}}
    lines = [
        said(0, "c2s", request(0, "initialize", GREETING)),
        said(0.5, "s2c", success(0)),
        said(1, "c2s", notification("notifications/initialized")),
        said(1, "c2s", call(1)),
        said(2, "s2c", form(7, "How much?", amount, ["amount"])),
        said(5, "c2s", accept(7, {"amount": "Quetzaltenango"})),
        said(6, "s2c", url(8)),
        said(9, "c2s", accept(8)),
        said(10, "s2c", completion()),
        said(10, "s2c", tool_error(1)),
        said(11, "c2s", request("secret", "secret/method")),
        said(11, "s2c", error("secret", -1)),
        said(12, "s2c", "Quetzaltenango"),
    ]
    text = explained(recording(tmp_path / "a.jsonl", json_lines(lines)))
    assert (
        text
        == """\
     0.000  client  request initialize
     0.500  server  response
     1.000  client  notification notifications/initialized
     1.000  client  request tools/call
     2.000  server  request elicitation/create
            question 1 requested, open, round 1, form by server_request, fields 1, required 1
              mode_not_declared (protocol): the client did not declare this mode
     5.000  client  response
            question 1 answered, invalid, fields answered 1, amount fails type
              person_claimed: the client says so, and late enough for a person
              accept_schema_mismatch (protocol): the accepted content does not satisfy the schema
     6.000  server  request elicitation/create
            question 2 requested, open, round 1, url by server_request
     9.000  client  response
            question 2 answered, consented
              consented: consent to open an address completes nothing
              person_claimed: the client says so, and late enough for a person
    10.000  server  notification notifications/elicitation/complete
            question 2 completed
              server_notification: the server says that it is complete
    10.000  server  response
            question 1 resumed, operation's result tool_error
            question 2 resumed, operation's result tool_error
    11.000  client  request of another method
    11.000  server  error response
    12.000  server  no JSON-RPC message
            noted, of no question
              malformed_message (protocol): the message is not what the protocol says
""".splitlines()
    )


def test_http_is_told_with_its_statuses_and_the_end_with_what_it_left(tmp_path: Path) -> None:
    lines = [
        asked(0, 1, call(1)),
        status(1, 1, content_type="text/event-stream"),
        chunk(2, 1, event("", "e1") + event(form(7))),
        asked(3, 2, "", "GET"),
        status(4, 2, 405),
    ]
    text = explained(recording(tmp_path / "a.jsonl", json_lines(lines)))
    assert [line for line in text if not line.startswith(" " * 12)] == [
        "     0.000  client  POST request tools/call",
        "     1.000  server  status 200",
        "     2.000  server  without a message",
        "     2.000  server  request elicitation/create",
        "     3.000  client  GET without a message",
        "     4.000  server  status 405",
        "     4.000          time passed, or the recording ended",
    ]


@pytest.mark.parametrize("revision", REVISIONS)
def test_no_mark_of_a_session_is_in_its_explanation(tmp_path: Path, revision: str) -> None:
    session = full_session(revision, times=3)
    lines = [
        said(place, "c2s" if who == CLIENT else "s2c", line.decode("utf-8", "replace").strip())
        for place, (who, line) in enumerate(session.steps)
    ]
    text = "\n".join(explained(recording(tmp_path / "a.jsonl", json_lines(lines))))
    assert text.count("question") > 10
    assert [mark for mark in session.marks.places if mark in text] == []


def test_there_is_a_reason_for_every_finding() -> None:
    assert set(SAYS) == set(FindingName)
