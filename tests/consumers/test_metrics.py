"""The instruments, as an SDK's reader sees them: names, units, values, and closed attributes."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
import sample
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from streams import ListSource, chain, seal

from elicitation_receipts.consumers import metrics as module
from elicitation_receipts.consumers.landing import Lander
from elicitation_receipts.consumers.metrics import Metrics
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import (
    Action,
    Carrier,
    DecidedBy,
    Event,
    Mode,
    Outcome,
)

FORM = {"mode": "form", "carrier": "server_request"}


class Reading:
    """Metrics under an SDK, and what its reader has collected."""

    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self.metrics = Metrics(MeterProvider([self._reader]))

    def instruments(self) -> dict[str, Any]:
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        [scope] = data.resource_metrics[0].scope_metrics
        assert scope.scope.name == "elicitation_receipts"
        assert scope.scope.version
        return {
            metric.name.removeprefix("elicitation_receipts."): metric for metric in scope.metrics
        }

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        """Attributes and value (for a histogram its sum and count) of each series."""
        instrument = self.instruments().get(name)
        if instrument is None:
            return []
        return [
            (
                dict(point.attributes),
                (point.sum, point.count) if hasattr(point, "sum") else point.value,
            )
            for point in instrument.data.data_points
        ]


@pytest.fixture
def reading() -> Reading:
    return Reading()


def life(*steps: tuple[Event, int | None, dict[str, Any]], **fields: Any) -> list[Receipt]:
    stream_id, elicitation_id = uuid4(), uuid4()
    return [
        sample.receipt(
            stream_id,
            event,
            **{
                "elicitation_id": elicitation_id,
                "carrier": Carrier.SERVER_REQUEST,
                "mode": Mode.FORM,
                "since_previous_us": after,
            }
            | fields
            | more,
        )
        for event, after, more in steps
    ]


ASKED = {"outcome": Outcome.OPEN}
INVALID = {"outcome": Outcome.INVALID, "decided_by": DecidedBy.PERSON_CLAIMED}
ACCEPTED = {"outcome": Outcome.ACCEPTED, "decided_by": DecidedBy.PERSON_CLAIMED}


def test_a_life_of_two_rounds(reading: Reading) -> None:
    for receipt in life(
        (Event.REQUESTED, None, ASKED),
        (Event.ANSWERED, 2_000_000, INVALID),
        (Event.REQUESTED, 1_000_000, ASKED),
        (Event.NOTED, 500_000, {}),
        (Event.ANSWERED, 3_500_000, ACCEPTED),
        (Event.RESUMED, 250_000, {}),
    ):
        reading.metrics.observe(receipt)
    person = {"decided_by": "person_claimed"}
    assert reading.points("questions") == [(FORM, 2)]
    assert reading.points("outcomes") == [
        (FORM | person | {"event": "answered", "outcome": "invalid"}, 1),
        (FORM | person | {"event": "answered", "outcome": "accepted"}, 1),
    ]
    assert reading.points("human_wait") == [(FORM | person, (6.0, 2))]
    assert reading.points("time_to_resume") == [(FORM, (7.25, 1))]


def test_names_and_units(reading: Reading) -> None:
    for receipt in life(
        (Event.REQUESTED, None, ASKED), (Event.ANSWERED, 1, ACCEPTED), (Event.RESUMED, 1, {})
    ):
        reading.metrics.landed(receipt)
    reading.metrics.sealed(life((Event.NOTED, None, {}), (Event.NOTED, 1, {})))
    reading.metrics.shipped(2)
    reading.metrics.rejected("trailing_bytes")
    reading.metrics.lag(7)
    instruments = reading.instruments()
    assert {name: instrument.unit for name, instrument in instruments.items()} == {
        "questions": "{question}",
        "outcomes": "{receipt}",
        "human_wait": "s",
        "time_to_resume": "s",
        "spooled": "{receipt}",
        "shipped": "{receipt}",
        "landed": "{receipt}",
        "rejected": "{receipt}",
        "lag": "{receipt}",
    }
    # The table in the module's documentation names exactly these.
    assert module.__doc__ is not None
    for name, instrument in instruments.items():
        assert f"elicitation_receipts.{name} " in module.__doc__
        assert instrument.description
    assert reading.points("spooled") == [({}, 2)]
    assert reading.points("shipped") == [({}, 2)]
    assert reading.points("lag") == [({}, 7)]
    assert reading.points("rejected") == [({"reason": "trailing_bytes"}, 1)]
    assert sorted(point[0]["event"] for point in reading.points("landed")) == [
        "answered",
        "requested",
        "resumed",
    ]


def test_nothing_from_the_wire_is_an_attribute(reading: Reading) -> None:
    named = {"server_name": "planted", "tool": "planted", "flow": "planted", "tenant": "planted"}
    for receipt in life(
        (Event.REQUESTED, None, ASKED),
        (Event.ANSWERED, 1, ACCEPTED | {"action": Action.ACCEPT}),
        (Event.RESUMED, 1, {}),
        **named,
    ):
        reading.metrics.landed(receipt)
    allowed = {"mode", "carrier", "outcome", "decided_by", "event", "reason"}
    for name in reading.instruments():
        for attributes, _ in reading.points(name):
            assert attributes.keys() <= allowed
            assert "planted" not in attributes.values()


def test_no_wait_is_told_where_the_start_is_unknown(reading: Reading) -> None:
    for receipt in life(
        (Event.ANSWERED, 5, ACCEPTED), (Event.ANSWERED, None, ACCEPTED), (Event.RESUMED, 5, {})
    ):
        reading.metrics.observe(receipt)
    assert reading.points("human_wait") == []
    assert reading.points("time_to_resume") == []
    assert [value for _, value in reading.points("outcomes")] == [2]


def test_nobody_answered_nobody_waited(reading: Reading) -> None:
    refused = {"outcome": Outcome.UNSUPPORTED, "decided_by": DecidedBy.RUNTIME}
    for receipt in life(
        (Event.REQUESTED, None, ASKED), (Event.REFUSED, 5, refused), (Event.RESUMED, 5, {})
    ):
        reading.metrics.observe(receipt)
    assert reading.points("time_to_resume") == []


def test_memory_is_bounded(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FOLLOWED", 2)
    lives = [life((Event.REQUESTED, None, ASKED), (Event.ANSWERED, 1, ACCEPTED)) for _ in range(3)]
    for place in range(2):
        for receipts in lives:
            reading.metrics.observe(receipts[place])
    assert [count for _, (_, count) in reading.points("human_wait")] == [2]


def test_a_landing_counts_what_it_did(reading: Reading, warehouse: Warehouse) -> None:
    receipts = seal(life((Event.REQUESTED, None, ASKED), (Event.ANSWERED, 2_000_000, ACCEPTED)))
    source = ListSource()
    source.add_sealed(*receipts, *receipts, *chain(1))
    source.add(b"key", b"rubbish")
    Lander(warehouse, source, Key(b"k" * 32), reading.metrics).land()
    assert sum(value for _, value in reading.points("landed")) == 3
    assert reading.points("rejected") == [({"reason": "not_single_object"}, 1)]
    assert reading.points("questions") == [(FORM, 1)]
    assert reading.points("human_wait")[0][1] == (2.0, 1)
    assert reading.points("lag") == [({}, 0)]
