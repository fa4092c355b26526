"""Replay: the receipts of a recording, at its times, the same as where it went by live."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import recordings
from asking_client import SERVER, TAP, Client
from conversation import (
    MODERN,
    Conversation,
    accept,
    accepted,
    call,
    decline,
    form,
    form_params,
    interim,
    notification,
    request,
    result,
    retry,
    success,
    told,
)
from policies import policy_with
from recordings import (
    POST,
    SESSION,
    START,
    asked,
    chunk,
    event,
    json_lines,
    recording,
    replayed,
    said,
    status,
)

from elicitation_receipts.producers.recordings.recording import RecordingError, read
from elicitation_receipts.producers.recordings.replay import replay, stream, stream_of
from elicitation_receipts.producers.recordings.seed import Seed
from elicitation_receipts.producers.stdio.lines import DEFAULT_LIMIT
from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Clock, Event, Outcome, Vantage

Json = Any
GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {"form": {}}},
    "clientInfo": {"name": "scripted", "version": "1"},
}
GREETED = [
    said(0, "c2s", request(0, "initialize", GREETING)),
    said(0, "s2c", result(0, protocolVersion="2025-11-25", serverInfo={"name": "s"})),
    said(0, "c2s", notification("notifications/initialized")),
]
ASKED = [*GREETED, said(1, "c2s", call(1)), said(2, "s2c", form(7))]
WHOLE = [*ASKED, said(5, "c2s", accept(7, {"branch": "main"})), said(6, "s2c", success(1))]


def replay_lines(folder: Path, lines: list[Json]) -> list[Receipt]:
    return replayed(recording(folder / "a.jsonl", json_lines(lines)))


def seconds(receipt: Receipt) -> float:
    return receipt.occurred_at / 1_000_000 - START


def test_receipts_have_the_recorded_times_by_the_wall_clock(tmp_path: Path) -> None:
    receipts = replay_lines(tmp_path, WHOLE)
    assert told(receipts) == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]
    assert [seconds(receipt) for receipt in receipts] == [2, 5, 6]
    assert [receipt.since_previous_us for receipt in receipts] == [None, 3_000_000, 1_000_000]
    assert [receipt.clock for receipt in receipts] == [None, Clock.WALL, Clock.WALL]
    assert {receipt.vantage for receipt in receipts} == {Vantage.REPLAY}


def test_the_end_of_a_recording_ends_its_open_questions(tmp_path: Path) -> None:
    receipts = replay_lines(tmp_path, [*ASKED, said(9, "c2s", request(2, "ping"))])
    assert told(receipts)[-1] == "abandoned abandoned by runtime [unanswered]"
    assert seconds(receipts[-1]) == 9


def test_what_waits_too_long_in_a_pause_ends_in_it(tmp_path: Path) -> None:
    talk = Conversation(MODERN)  # only for how a modern client declares itself
    asks = interim(1, {"k": form_params()}, state="s")
    again = retry(2, {"k": accepted({"branch": "main"})}, state="s")
    lines = [
        said(0, "c2s", talk._declared(call(1))),
        said(1, "s2c", asks),
        said(86_400, "c2s", talk._declared(again)),
    ]
    receipts = replay_lines(tmp_path, lines)
    assert told(receipts)[1] == "abandoned abandoned by runtime [unanswered]"
    assert 3_601 <= seconds(receipts[1]) <= 3_601 + 90


def test_a_clock_that_was_set_back_stops_nothing(tmp_path: Path) -> None:
    receipts = replay_lines(tmp_path, [*ASKED, said(-100, "c2s", decline(7))])
    assert [receipt.outcome for receipt in receipts] == [Outcome.OPEN, Outcome.DECLINED]
    assert receipts[1].since_previous_us == 0


def test_a_conversation_over_http(tmp_path: Path) -> None:
    of_session = {"Mcp_Session_Id": SESSION}
    stream = {"content_type": "text/event-stream"}
    question = event(form(7), "e2")
    receipts = replay_lines(
        tmp_path,
        [
            asked(0, 1, request(0, "initialize", GREETING)),
            status(0, 1, **of_session),
            chunk(0, 1, result(0, protocolVersion="2025-11-25", serverInfo={"name": "s"})),
            asked(1, 2, notification("notifications/initialized"), **of_session),
            status(1, 2, 202),
            asked(2, 3, call(1), **of_session),
            status(2, 3, **of_session, **stream),
            chunk(3, 3, event("", "e1") + question[:20]),
            chunk(4, 3, question[20:]),
            asked(6, 4, accept(7, {"branch": "main"}), **of_session),
            status(6, 4, 503),
            asked(8, 5, accept(7, {"branch": "main"}), **of_session),
            status(8, 5, 202),
            chunk(9, 3, event(success(1), "e3")),
            asked(10, 6, "", "DELETE", **of_session),
            status(10, 6),
        ],
    )
    assert told(receipts) == [
        "requested open",
        "answered accepted by person_claimed",
        "noted open [answer_not_delivered]",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]
    assert [seconds(receipt) for receipt in receipts] == [4, 6, 8, 8, 9]
    assert len({receipt.session_ref for receipt in receipts}) == 1


def test_two_servers_in_a_recording_are_two_places(tmp_path: Path) -> None:
    def of_server(name: str) -> list[Json]:
        entries = [
            recordings.entry(0, 1, request(0, "initialize", GREETING), result(0)),
            recordings.entry(2, 9, call(1), event(form(7)) + event(success(1))),
            recordings.entry(5, 1, accept(7, {"branch": "main"}), None, status=202),
        ]
        for one in entries:
            one["request"]["url"] = f"https://{name}.example/mcp"
        return entries

    content = recordings.archive(*of_server("one"), *of_server("other"))
    receipts = replayed(recording(tmp_path / "a.har", content))
    accepted = [receipt for receipt in receipts if receipt.outcome is Outcome.ACCEPTED]
    assert len({receipt.operation_id for receipt in accepted}) == len(accepted) == 2


def test_a_message_too_long_to_be_read_live_is_not_read_here(tmp_path: Path) -> None:
    long = json.dumps(accept(7, {"branch": "m" * DEFAULT_LIMIT}))
    receipts = replay_lines(tmp_path, [*ASKED, said(5, "c2s", long)])
    assert told(receipts) == [
        "requested open",
        "noted [oversized_message]",
        "abandoned abandoned by runtime [unanswered]",
    ]


def test_a_stream_is_whole_and_named_by_its_recording(tmp_path: Path) -> None:
    one = recording(tmp_path / "a.jsonl", json_lines(WHOLE))
    keys = Seed(1).keys("default")
    receipts = stream(one, keys, POST)
    assert [receipt.event for receipt in receipts] == [
        Event.STREAM_OPENED,
        Event.POLICY_LOADED,
        Event.REQUESTED,
        Event.ANSWERED,
        Event.RESUMED,
        Event.STREAM_CLOSED,
    ]
    assert {receipt.stream_id for receipt in receipts} == {stream_of(one, keys)}
    assert [seconds(receipts[place]) for place in (0, 1, -1)] == [0, 0, 6]
    copy = recording(tmp_path / "copy.jsonl", json_lines(WHOLE))
    other = recording(tmp_path / "b.jsonl", json_lines(ASKED))
    assert stream_of(copy, keys) == stream_of(one, keys)
    others = (stream_of(other, keys), stream_of(one, Seed(1).keys("acme")))
    assert stream_of(one, keys) not in others


def test_a_seed_gives_the_same_each_time_and_another_seed_another(tmp_path: Path) -> None:
    one = recording(tmp_path / "a.jsonl", json_lines(WHOLE))
    assert replayed(one, seed=4) == replayed(one, seed=4)
    first, other = replayed(one, seed=4), replayed(one, seed=5)
    for name in ("receipt_id", "stream_id", "elicitation_id", "question_digest", "session_ref"):
        assert getattr(first[1], name) != getattr(other[1], name)
    assert first[1].payload_digest != other[1].payload_digest


def test_without_a_seed_no_two_nonces_are_equal(tmp_path: Path) -> None:
    one = recording(tmp_path / "a.jsonl", json_lines(WHOLE))
    keys = Seed(1).keys("default")
    payloads = [
        receipt.payload_digest
        for _ in range(2)
        for receipt in stream(one, keys, POST)
        if receipt.payload_digest is not None
    ]
    assert len({payload.nonce for payload in payloads}) == len(payloads) == 2


def test_a_defect_of_the_core_is_named_with_its_place(tmp_path: Path) -> None:
    one = recording(tmp_path / "a.jsonl", json_lines(WHOLE))

    def no_more(_size: int) -> bytes:
        raise ZeroDivisionError("main")

    with pytest.raises(RecordingError) as raised:
        list(replay(one, Seed(1).keys("default"), POST, no_more))
    assert raised.value.reason == "replay_failed"
    assert "a.jsonl" in str(raised.value)
    assert "main" not in str(raised.value)


def without_what_differs(receipt: Receipt) -> Receipt:
    """Apart from ids, times, nonces, keys, vantage and clock."""
    payload = receipt.payload_digest
    return replace(
        receipt,
        receipt_id=receipt.stream_id,
        stream_id=receipt.stream_id,
        sequence=0,
        previous_hash=bytes(32),
        elicitation_id=None,
        operation_id=None,
        occurred_at=0,
        since_previous_us=receipt.since_previous_us and 0,
        clock=None,
        vantage=None,
        session_ref=None,
        payload_digest=payload and replace(payload, nonce=bytes(16), value=bytes(32)),
        producer_name="same",
        producer_version="1",
    )


def test_a_recording_gives_what_the_tap_wrote_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, file = tmp_path / "home", tmp_path / "a.jsonl"
    monkeypatch.setenv("RECEIPTS_HOME", str(home))
    recorder = [sys.executable, recordings.__file__, str(file), *SERVER]
    with Client([*TAP, "--automatic-below-ms", "0", "--", *recorder]) as client:
        client.answer(client.ask(1), action="accept", content={"city": "Quetzaltenango"})
        client.answer(client.ask(2), action="decline")
        client.ask(3)
        client.end()
    with Spool.open(home, create=False) as spool:
        live = [decode(stored.message) for stored in spool.read(0, 100)]
    post = replace(POST, policy=policy_with("thresholds", automatic_below_ms=0))
    keys = Keyring.open(home / "keys").tenant("default")
    recorded = [one for step in replay(read(file), keys, post) for one in step.receipts]
    live = [receipt for receipt in live if receipt.elicitation_id is not None]
    [stream_id] = {receipt.stream_id for receipt in live}
    assert len(live) == 8
    assert [without_what_differs(one) for one in live] == [
        replace(without_what_differs(one), receipt_id=stream_id, stream_id=stream_id)
        for one in recorded
    ]
