"""What both sides are told when an elicitation message may not go on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conversation import accept, call, completion, error, form, interim, success

from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.refusal import not_written, refuse
from elicitation_receipts.schemas.vocabulary import LossReason

TO_CLIENT, TO_SERVER = Direction.SERVER_TO_CLIENT, Direction.CLIENT_TO_SERVER


def told(direction: Direction, message: object) -> list[tuple[Direction, Any]]:
    """What is sent instead of ``message``."""
    lines = refuse(direction, json.dumps(message).encode(), not_written(LossReason.DISK_FULL))
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for _, line in lines)
    return [(way, json.loads(line)) for way, line in lines]


@pytest.mark.parametrize(
    ("direction", "message"), [(TO_CLIENT, form(7)), (TO_SERVER, call(7))], ids=["ask", "call"]
)
def test_who_sent_a_request_is_told_in_its_response(
    direction: Direction, message: dict[str, Any]
) -> None:
    ((way, line),) = told(direction, message)
    assert way is direction.back
    assert line["id"] == 7
    assert line["error"]["code"] == -32603
    assert line["error"]["message"].startswith("receipt_not_written")
    assert line["error"]["data"] == {"reason": "disk_full"}


@pytest.mark.parametrize(
    ("direction", "message"),
    [
        (TO_SERVER, accept(7, {"branch": "main"})),
        (TO_CLIENT, interim(7, {}, "s")),
        (TO_CLIENT, success(7)),
        (TO_CLIENT, error(7, -32042)),
    ],
)
def test_who_waits_for_a_response_gets_an_error_in_its_place(
    direction: Direction, message: dict[str, Any]
) -> None:
    ((way, line),) = told(direction, message)
    assert way is direction
    assert line["id"] == 7
    assert "result" not in line
    assert line["error"]["code"] == -32603


def test_a_notification_is_dropped() -> None:
    assert told(TO_CLIENT, completion()) == []


def test_each_message_of_an_array_is_refused_for_itself() -> None:
    lines = told(TO_CLIENT, [form(7), completion(), success(1)])
    assert [(way, line["id"]) for way, line in lines] == [(TO_SERVER, 7), (TO_CLIENT, 1)]


@pytest.mark.parametrize("id_", ["7", "", -1, 0])
def test_an_id_goes_back_with_its_type(id_: object) -> None:
    ((_, line),) = told(TO_CLIENT, form(id_))
    assert line["id"] == id_
    assert type(line["id"]) is type(id_)


def test_nothing_of_the_message_is_repeated() -> None:
    ((_, line),) = told(TO_SERVER, accept(7, {"branch": "hunter2"}))
    assert "hunter2" not in json.dumps(line)
