"""What belongs to the session as a whole: who speaks, what was declared, how it begins and ends."""

from __future__ import annotations

from typing import Any

import pytest
from conversation import (
    BOTH_MODES,
    FIRST,
    FORM_ONLY,
    KEYS,
    MODERN,
    NO_MODE,
    SECOND,
    URL_ONLY,
    Conversation,
    accept,
    call,
    decline,
    error,
    findings,
    form,
    form_params,
    interim,
    notification,
    request,
    result,
    success,
    url,
    url_required,
)
from policies import policy_with

from elicitation_receipts.producers.policy import BUILT_IN
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import (
    Clock,
    Decision,
    Event,
    Fidelity,
    FindingName,
    Gate,
    Identity,
    Mode,
    Severity,
    Vantage,
)


def asked(talk: Conversation) -> Receipt:
    talk.client(call(1))
    talk.server(form(7))
    return talk.receipts[-1]


# What is no concern of ours


def test_ordinary_traffic_leaves_no_receipt() -> None:
    talk = Conversation()
    talk.client(request(1, "tools/list"))
    talk.server(result(1, tools=[]))
    talk.client(call(2))
    talk.server(notification("notifications/progress", progress=1))
    talk.server(request("s1", "ping"))
    talk.client(result("s1"))
    talk.server(success(2))
    talk.client(notification("notifications/roots/list_changed"))
    talk.wait(seconds=100_000)
    talk.close()
    assert talk.receipts == []


def test_the_modern_handshake_leaves_no_receipt() -> None:
    talk = Conversation(MODERN)
    talk.client(request(1, "server/discover", {}))
    talk.server(result(1, resultType="complete", supportedVersions=[MODERN]))
    talk.close()
    assert talk.receipts == []


# Who speaks


@pytest.mark.parametrize("revision", [FIRST, SECOND, MODERN])
def test_who_speaks_stands_on_every_receipt(revision: str) -> None:
    talk = Conversation(revision)
    talk.client(call(1))
    if revision == MODERN:
        server = {"io.modelcontextprotocol/serverInfo": {"name": "tools", "version": "2.0.0"}}
        message = interim(1, {"k": form_params()})
        message["result"]["_meta"] = server
        talk.server(message)
    else:
        talk.server(form(7))
    (receipt,) = talk.receipts
    assert receipt.client_name == "scripted-client"
    assert receipt.client_version == "1.0.0"
    assert receipt.server_name == ("tools" if revision == MODERN else "scripted-server")
    assert receipt.server_version == "2.0.0"
    assert receipt.identity is Identity.SELF_REPORTED
    assert receipt.protocol_version == revision


def test_the_server_names_the_revision_that_is_spoken() -> None:
    talk = Conversation(SECOND, greet=False)
    talk.client(talk.initialize())
    answer = talk.initialize_result()
    answer["result"]["protocolVersion"] = FIRST
    talk.server(answer)
    talk.client(notification("notifications/initialized"))
    assert asked(talk).protocol_version == FIRST


def test_a_name_that_is_not_safe_becomes_a_reference() -> None:
    talk = Conversation(
        client={"name": "Ada Lovelace's client", "version": "build of 1980-04-12"},
        server={"name": "s" * 65, "version": "1.0.123456789"},
    )
    receipt = asked(talk)
    for text in (
        receipt.client_name,
        receipt.client_version,
        receipt.server_name,
        receipt.server_version,
    ):
        assert text is not None
        assert text.startswith(f"#{KEYS.reference.id}.")
    assert receipt.redaction_dropped == 4


def test_a_revision_nobody_knows_becomes_a_reference() -> None:
    receipt = asked(Conversation("1980-04-12"))
    assert receipt.protocol_version is not None
    assert receipt.protocol_version.startswith("#")


@pytest.mark.parametrize("odd", [None, 5, "x", [], {}, {"name": 5, "version": ["1"]}])
def test_peers_that_say_nothing_usable(odd: Any) -> None:
    talk = Conversation(client=odd or {"name": ""}, server=odd or {"name": ""})
    receipt = asked(talk)
    assert receipt.client_name is None
    assert receipt.server_version is None


# What was declared


@pytest.mark.parametrize("revision", [SECOND, MODERN])
@pytest.mark.parametrize(
    ("capabilities", "modes"),
    [
        (NO_MODE, ()),
        ({"elicitation": None}, ()),
        (FORM_ONLY, (Mode.FORM,)),
        ({"elicitation": {"applyDefaults": True}}, (Mode.FORM,)),
        ({"elicitation": {"form": {}}}, (Mode.FORM,)),
        (URL_ONLY, (Mode.URL,)),
        (BOTH_MODES, (Mode.FORM, Mode.URL)),
    ],
)
def test_declared_modes(
    revision: str, capabilities: dict[str, Any], modes: tuple[Mode, ...]
) -> None:
    talk = Conversation(revision, capabilities=capabilities)
    talk.client(call(1))
    talk.server(form(7) if revision == SECOND else interim(1, {"k": form_params()}))
    (receipt,) = talk.receipts
    assert receipt.declared_modes == modes
    assert receipt.capability_digest is not None
    assert (FindingName.MODE_NOT_DECLARED in findings(receipt)) is (Mode.FORM not in modes)


def test_equal_capabilities_have_equal_digests() -> None:
    def digest(capabilities: dict[str, Any]) -> object:
        return asked(Conversation(capabilities=capabilities)).capability_digest

    assert digest({"a": 1, **FORM_ONLY}) == digest({**FORM_ONLY, "a": 1.0})
    assert digest(FORM_ONLY) != digest(BOTH_MODES)


def test_what_was_never_seen_is_not_undeclared() -> None:
    talk = Conversation(greet=False)
    receipt = asked(talk)
    assert receipt.declared_modes is None
    assert receipt.capability_digest is None
    assert receipt.protocol_version is None
    assert FindingName.MODE_NOT_DECLARED not in findings(receipt)


def test_a_modern_request_declares_for_itself() -> None:
    talk = Conversation(MODERN, capabilities=FORM_ONLY)
    talk.client(call(1))
    talk.capabilities = NO_MODE
    talk.client(call(2, tool="build"))
    talk.server(interim(1, {"k": form_params()}))
    talk.server(interim(2, {"k": form_params()}))
    assert talk.story == ["requested open", "requested open [mode_not_declared]"]


# Beginning


def test_a_question_before_the_client_is_initialized() -> None:
    talk = Conversation(greet=False)
    talk.client(talk.initialize())
    talk.server(talk.initialize_result())
    talk.client(call(1))
    talk.server(form(7))
    talk.client(notification("notifications/initialized"))
    talk.server(form(8, "Which tag?"))
    assert talk.story == ["requested open [before_initialized]", "requested open"]


def test_a_question_before_anything() -> None:
    talk = Conversation(greet=False)
    talk.server(form(7))
    assert talk.story == ["requested open [before_initialized no_originating_request]"]


def test_a_modern_session_is_never_initialized() -> None:
    talk = Conversation(MODERN)
    asked(talk)
    assert talk.story == ["requested open [retired_code]"]


# Stray findings


@pytest.mark.parametrize("raw", [b"no json\n", b"\xff\n", b"[" * 5_000, b"5\n"])
def test_traffic_that_is_no_json_is_noted_once_a_session_and_direction(raw: bytes) -> None:
    talk = Conversation()
    talk.server(raw)
    talk.server(raw)
    talk.client(raw)
    assert talk.story == ["noted [malformed_message]", "noted [malformed_message]"]
    asked(talk)
    talk.wait(seconds=5)
    talk.client(accept(7, {}))
    assert talk.story[2:] == ["requested open", "answered accepted by person_claimed"]


def test_an_oversized_message_is_noted() -> None:
    talk = Conversation()
    moment = Moment(1_790_000_000_000_000, 0)
    (noted,) = talk.session.on_oversized(Direction.SERVER_TO_CLIENT, moment)
    assert findings(noted) == {FindingName.OVERSIZED_MESSAGE}
    assert noted.client_name == "scripted-client"
    assert noted.elicitation_id is None


def test_a_clients_id_used_again_is_noted_once_a_session() -> None:
    talk = Conversation()
    for _ in range(3):
        talk.client(call(1))
        talk.server(success(1))
    assert talk.story == ["noted [duplicate_id]"]
    assert talk.last.elicitation_id is None


def test_ids_of_different_types_are_different() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.client(call("1"))
    assert talk.receipts == []


def test_a_stray_finding_names_the_session_and_no_elicitation() -> None:
    talk = Conversation()
    talk.client(accept(99, {"branch": "main"}))
    (noted,) = talk.receipts
    assert noted.event is Event.NOTED
    assert noted.elicitation_id is None
    assert noted.round == 0
    assert noted.outcome is None
    assert noted.session_ref is not None
    assert noted.client_name == "scripted-client"


# What stands on every receipt


def test_where_the_watcher_stands_and_under_which_policy() -> None:
    talk = Conversation()
    asked(talk)
    talk.wait(seconds=5)
    talk.client(decline(7))
    talk.server(success(1))
    talk.client(accept(99))
    for receipt in talk.receipts:
        assert receipt.vantage is Vantage.STDIO
        assert receipt.fidelity is Fidelity.BYTES
        assert receipt.producer_name == "tests"
        assert receipt.tenant == "default"
        assert receipt.policy_id == BUILT_IN.id
        assert receipt.policy_version == BUILT_IN.version
        assert receipt.policy_digest == BUILT_IN.digest
    assert len({r.session_ref for r in talk.receipts}) == 1
    assert len({r.receipt_id for r in talk.receipts}) == len(talk.receipts)


def test_the_built_in_policy_observes() -> None:
    receipt = asked(Conversation())
    assert receipt.decision is Decision.ALLOW


def test_intervals_are_measured_on_the_monotonic_clock() -> None:
    talk = Conversation()
    asked(talk)
    talk.wait(seconds=5)
    talk.client(accept(7, {}))
    talk.wait(seconds=2)
    talk.server(success(1))
    assert [r.since_previous_us for r in talk.receipts] == [None, 5_000_000, 2_000_000]
    assert [r.clock for r in talk.receipts] == [None, Clock.MONOTONIC, Clock.MONOTONIC]
    first = talk.receipts[0].occurred_at
    assert [r.occurred_at - first for r in talk.receipts] == [0, 5_000_000, 7_000_000]


def test_a_clock_that_runs_backwards_shortens_nothing_below_zero() -> None:
    talk = Conversation()
    asked(talk)
    talk.wait(seconds=-1)
    talk.client(accept(7, {}))
    assert talk.last.since_previous_us == 0


def test_a_finding_carries_its_gate_and_severity() -> None:
    talk = Conversation()
    talk.server(form(7, properties={"a": {"type": "string"}}))
    by_name = {f.name: f for f in talk.last.findings}
    unsolicited = by_name[FindingName.NO_ORIGINATING_REQUEST]
    assert (unsolicited.gate, unsolicited.severity) == (Gate.PROTOCOL, Severity.WARNING)
    undescribed = by_name[FindingName.MISSING_DESCRIPTION]
    assert (undescribed.gate, undescribed.severity) == (Gate.UX, Severity.INFO)


def test_a_name_stands_once_among_the_findings() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(
        '{"id":7,"id":7,"method":"elicitation/create","params":{"message":"a","message":"b",'
        '"requestedSchema":{"type":"object","properties":{"b":{"type":"string","title":"B"}}}}}'
    )
    assert len(talk.last.findings) == 1


# Time


def test_the_wait_is_the_policys_number() -> None:
    talk = Conversation(policy=policy_with("thresholds", silence_s=10))
    talk.client(call(1))
    talk.server(url_required(1, {"mode": "url", "message": "?", "url": "https://a.example"}))
    talk.wait(seconds=9.9)
    assert len(talk.receipts) == 1
    talk.wait(seconds=0.1)
    assert talk.last.event is Event.ABANDONED
    assert talk.wait(seconds=1_000) == []


# Messages that did not go on


def test_a_question_that_did_not_go_on_was_never_put() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.session.retract(talk.server(form(7)))
    talk.server(success(1))
    talk.close()
    assert talk.story == ["requested open"]


def test_what_was_asked_after_a_question_that_did_not_go_on_is_followed() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.session.retract(talk.server(form(7)))
    talk.server(form(8))
    talk.wait(seconds=5)
    talk.client(accept(8, {}))
    talk.server(success(1))
    assert talk.story[1:] == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]


# The end


def test_everything_still_running_ends_with_the_connection() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.server(url(8, "pay"))
    talk.wait(seconds=5)
    talk.client(accept(8))
    talk.server(error(1, -32603))
    talk.close()
    assert sorted(talk.story[3:]) == [
        "abandoned abandoned by runtime (error) [resume_without_answer unanswered]",
        "abandoned unproven by runtime",
        "resumed (error)",
    ]
    assert talk.close() == []
