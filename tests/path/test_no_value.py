"""No value, anywhere: sessions full of marks go the whole way, and no mark is found at its end.

Looked through are the home (spool, database, keys), the topic, every report in every format,
all that our commands say, and all that is logged on the way, down to the level DEBUG.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import conversation as say
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from journey import Journey
from marked_traffic import REVISIONS, Session, full_session, sessions
from marks import Marks, find
from scripted_server import CLIENT, SERVER

from elicitation_receipts.schemas.identifiers import is_identifier, is_version
from elicitation_receipts.schemas.kafka import KafkaSettings
from elicitation_receipts.schemas.vocabulary import Carrier, Event

#: A failing example is not made smaller: what was found says for itself where it stood.
_AS_FOUND = settings(
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
_SEVERAL = st.lists(sessions(), min_size=1, max_size=2)


@pytest.fixture(autouse=True, scope="module")
def no_other_settings() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("RECEIPTS_", "OTEL_")):
                patch.delenv(name)
        yield


def travel(several: Sequence[Session], journey: Journey) -> None:
    """Send sessions the whole way and look for their marks."""
    for session in several:
        journey.watch(session.steps)
    journey.go_on(["json"])
    assert find(places(several), journey.look) == {}


def places(several: Sequence[Session]) -> dict[str, str]:
    return {core: place for session in several for core, place in session.marks.places.items()}


def test_every_scene_leaves_its_receipts_and_no_mark(tmp_path: Path) -> None:
    journey = Journey(tmp_path)
    several = [full_session(revision, times=4) for revision in REVISIONS]
    for session in several:
        journey.watch(session.steps)
    journey.land_loudly()
    journey.go_on()

    receipts = journey.receipts()
    assert {receipt.event for receipt in receipts} >= {
        Event.REQUESTED,
        Event.REFUSED,
        Event.ANSWERED,
        Event.COMPLETED,
        Event.RESUMED,
        Event.ABANDONED,
        Event.NOTED,
    }
    assert {receipt.carrier for receipt in receipts} >= set(Carrier)
    assert find(places(several), journey.look) == {}


@pytest.mark.slow
@pytest.mark.timeout(1200)
@settings(_AS_FOUND, max_examples=8)
@given(_SEVERAL)
def test_no_session_leaves_a_mark(several: list[Session]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        travel(several, Journey(Path(folder)))


@pytest.mark.kafka
def test_nor_does_one_through_kafka(tmp_path: Path, kafka: str, topic: str) -> None:
    several = [full_session(revision, times=2) for revision in REVISIONS]
    travel(several, Journey(tmp_path, KafkaSettings(kafka, topic)))


def test_a_value_that_were_kept_would_be_found(tmp_path: Path) -> None:
    """A tool's name is kept where it is safe: such a mark shows in every place there is."""
    found = found_of_a_safe_name(Journey(tmp_path))
    assert str(tmp_path / "home" / "spool.db") in found
    assert str(tmp_path / "home" / "warehouse.duckdb, receipts.tool") in found
    for form in ("json", "csv"):
        assert str(tmp_path / "reports" / f"completion.{form}") in found
    assert str(tmp_path / "reports" / "completion.parquet, its rows") in found
    assert any("report completion" in place for place in found)


@pytest.mark.kafka
def test_and_so_would_one_in_the_topic(tmp_path: Path, kafka: str, topic: str) -> None:
    found = found_of_a_safe_name(Journey(tmp_path, KafkaSettings(kafka, topic)))
    assert any(place.startswith(f"{topic}, partition ") for place in found)


def found_of_a_safe_name(journey: Journey) -> list[str]:
    marks = Marks(1)
    tool = marks.word("a tool")
    talk = [
        (CLIENT, say.request(1, "initialize", {"protocolVersion": say.FIRST})),
        (SERVER, say.result(1, protocolVersion=say.FIRST)),
        (CLIENT, say.call(2, tool=tool)),
        (SERVER, say.form(1)),
        (CLIENT, say.accept(1, {"branch": "main"})),
        (SERVER, say.success(2)),
    ]
    journey.watch([(who, json.dumps(message).encode() + b"\n") for who, message in talk])
    journey.go_on()
    return find(marks.places, journey.look)["a tool"]


@given(st.integers(0, 2**32))
def test_marks_are_never_safe_names_and_words_always_are(seed: int) -> None:
    marks = Marks(seed)
    for mark in (marks.text(""), marks.odd(""), str(marks.number("")), marks.full_width("")):
        assert not is_identifier(mark)
        assert not is_version(mark)
    assert is_identifier(marks.word(""))
