"""Every scene of the demo, on the official SDK and through the tap: the receipts it leaves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from telling import tell

from elicitation_receipts.demo.scenes import ASKED, NOT_ASKED, Era, Said, Scene, play
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Carrier, Event, Keyword, Proof

pytestmark = pytest.mark.slow

#: What a scene leaves, by tool: no two scenes of a session call the same.
EXPECTED = {
    "issue_card": ["requested open", "answered accepted person_claimed", "resumed success"],
    "change_address": ["requested open", "answered declined person_claimed", "resumed success"],
    "deliver_book": ["requested open", "answered cancelled person_claimed", "resumed success"],
    "reserve_room": [
        "requested open",
        "answered invalid person_claimed !accept_schema_mismatch",
        "requested open",
        "answered accepted person_claimed",
        "resumed success",
    ],
    "review_book": [
        "requested open",
        "answered accepted automatic_suspected !implausible_latency",
        "resumed success",
    ],
    "link_identity": [
        "requested open",
        "answered consented person_claimed",
        "completed runtime PROOF",
        "resumed success",
    ],
    "pay_fee": [
        "requested open",
        "answered consented person_claimed",
        "resumed tool_error",
        "abandoned unproven runtime",
    ],
    "suggest_book": ["requested open", "abandoned runtime !unanswered"],
}
PROOFS = {Era.HANDSHAKE: Proof.SERVER_NOTIFICATION, Era.ROUND_TRIPS: Proof.OPERATION_RESULT}
CARRIERS = {
    Era.HANDSHAKE: Carrier.SERVER_REQUEST,
    Era.ROUND_TRIPS: Carrier.MULTI_ROUND_TRIP,
}


@dataclass(frozen=True)
class Play:
    """What was said, and what the tap wrote of it."""

    said: Said
    receipts: list[Receipt]

    def of(self, era: Era, scene: Scene) -> list[Receipt]:
        """The receipts of a scene; its session is known by whether anybody could be asked."""
        return [
            receipt
            for receipt in self.receipts
            if receipt.protocol_version == era
            and receipt.tool == scene.tool
            and bool(receipt.declared_modes) == bool(scene.deeds)
        ]


@pytest.fixture(scope="module")
def played(
    tmp_path_factory: pytest.TempPathFactory,
    tap: Callable[..., list[str]],
    read_spool: Callable[[Path], list[Receipt]],
) -> Play:
    home = tmp_path_factory.mktemp("live") / "home"
    command = tap(home, sys.executable, "-m", "elicitation_receipts.demo.server")
    with (home.parent / "log").open("w") as log:
        said = play(command, log, lambda _era, _scene: None)
    assert Path(log.name).read_text() == ""
    return Play(said, read_spool(home))


@pytest.mark.parametrize("era", Era)
@pytest.mark.parametrize("scene", ASKED, ids=lambda scene: scene.title)
def test_a_scene_leaves_exactly_these_receipts(played: Play, era: Era, scene: Scene) -> None:
    receipts = played.of(era, scene)
    expected = [line.replace("PROOF", PROOFS[era]) for line in EXPECTED[scene.tool]]
    assert tell(receipts) == expected
    assert {receipt.carrier for receipt in receipts} == {CARRIERS[era]}
    assert len({receipt.elicitation_id for receipt in receipts}) == 1
    [operation_id] = {receipt.operation_id for receipt in receipts}
    assert operation_id is not None


def test_a_client_that_cannot_ask_is_no_refusal_of_a_person(played: Play) -> None:
    asked_all_the_same, told = (played.of(era, *NOT_ASKED) for era in Era)
    assert tell(asked_all_the_same) == [
        "requested open !mode_not_declared",
        "refused unsupported runtime",
        "resumed error",
    ]
    assert tell(told) == ["requested open", "refused unsupported runtime"]
    assert {receipt.carrier for receipt in told} == {Carrier.MULTI_ROUND_TRIP}
    assert {receipt.question_digest for receipt in told} == {None}  # nothing was worded


@pytest.mark.parametrize("era", Era)
def test_rounds_and_attempts_count_what_was_put_and_answered(played: Play, era: Era) -> None:
    receipts = played.of(era, scene("reserve_room"))
    assert [(receipt.round, receipt.attempt) for receipt in receipts] == [
        (1, 0),
        (1, 1),
        (2, 0),
        (2, 1),
        (2, 1),
    ]


@pytest.mark.parametrize("era", Era)
def test_a_mistake_is_named_by_field_and_keyword(played: Play, era: Era) -> None:
    validation = played.of(era, scene("reserve_room"))[1].validation
    assert validation is not None
    assert (validation.requested, validation.required, validation.answered) == (2, 2, 2)
    [failed] = validation.failed
    assert (failed.field, failed.keyword) == ("member_number", Keyword.TYPE)


@pytest.mark.parametrize("era", Era)
def test_an_address_is_kept_as_its_origin(played: Play, era: Era) -> None:
    origins = {receipt.url_origin for receipt in played.of(era, scene("pay_fee"))}
    assert origins == {"https://payments.example"}


@pytest.mark.parametrize("era", Era)
def test_a_persons_pace_is_measured(played: Play, era: Era) -> None:
    waits = {
        receipt.tool: receipt.since_previous_us
        for receipt in played.receipts
        if receipt.protocol_version == era and receipt.event is Event.ANSWERED
    }
    at_once = waits.pop("review_book")
    assert at_once is not None
    assert at_once < 250_000
    assert all(wait is not None and 300_000 <= wait < 5_000_000 for wait in waits.values())


def test_who_spoke_is_named(played: Play) -> None:
    names = {
        (receipt.server_name, receipt.client_name)
        for era in Era
        for scene in ASKED
        for receipt in played.of(era, scene)
    }
    assert names == {("demo-library", "demo-client")}


def test_the_demo_typed_enough_to_look_for(played: Play) -> None:
    assert len(played.said.typed) >= 20
    assert all(len(text) >= 12 for text in played.said.typed | played.said.read)


def scene(tool: str) -> Scene:
    return next(scene for scene in ASKED if scene.tool == tool)
