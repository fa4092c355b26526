"""`receipts replay`: recordings into the home, once each; explained; or into a file of a seed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest
from asking_client import SERVER, TAP, Client
from conversation import accept, call, form, notification, request, result, success
from recordings import json_lines, said

from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event, Vantage

Receipts = Callable[..., subprocess.CompletedProcess[str]]
TYPED = "Quetzaltenango-97341"
GREETING = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"form": {}}}}


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A directory with two recordings of one question each."""
    folder = tmp_path / "recorded"
    folder.mkdir()
    for id_ in (7, 8):
        lines = [
            said(0, "c2s", request(0, "initialize", GREETING)),
            said(0, "s2c", result(0, serverInfo={"name": "recorded-server"})),
            said(0, "c2s", notification("notifications/initialized")),
            said(1, "c2s", call(1)),
            said(2, "s2c", form(id_)),
            said(5, "c2s", accept(id_, {"branch": TYPED})),
            said(6, "s2c", success(1)),
        ]
        (folder / f"{id_}.jsonl").write_bytes(json_lines(lines))
    return folder


def spooled(home: Path) -> list[Receipt]:
    with Spool.open(home, create=False) as spool:
        return [decode(stored.message) for stored in spool.read(0, 1000)]


def test_each_recording_gets_a_stream_of_its_own(
    receipts: Receipts, home: Path, recorded: Path
) -> None:
    done = receipts("replay", str(recorded), "--flow", "signup")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "replayed 2, receipts 12, there already 0, broken 0\n"
    written = spooled(home)
    assert len({receipt.stream_id for receipt in written}) == 2
    assert {receipt.vantage for receipt in written} == {Vantage.REPLAY}
    assert {receipt.flow for receipt in written if receipt.elicitation_id} == {"signup"}
    assert all(TYPED.encode() not in file.read_bytes() for file in home.rglob("*.*"))


def test_a_recording_is_replayed_once(
    receipts: Receipts, home: Path, recorded: Path, tmp_path: Path
) -> None:
    receipts("replay", str(recorded / "7.jsonl"))
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes((recorded / "7.jsonl").read_bytes())
    done = receipts("replay", str(copy), str(recorded))
    assert done.returncode == 0
    assert done.stdout == "replayed 1, receipts 6, there already 2, broken 0\n"
    assert len(spooled(home)) == 12


def test_a_replay_never_writes_to_a_live_stream_nor_a_tap_to_a_replayed_one(
    receipts: Receipts, home: Path, recorded: Path
) -> None:
    for _ in range(2):
        with Client([*TAP, "--", *SERVER]) as client:
            client.answer(client.ask(), action="decline")
            client.end()
        receipts("replay", str(recorded))
    written = spooled(home)
    streams = {
        kind: {one.stream_id for one in written if (one.vantage is Vantage.REPLAY) is kind}
        for kind in (True, False)
    }
    assert (len(streams[True]), len(streams[False])) == (2, 1)
    assert streams[True].isdisjoint(streams[False])


def test_reports_leave_a_replay_out_unless_it_is_asked_for(
    receipts: Receipts, home: Path, recorded: Path
) -> None:
    def put(*options: str) -> int:
        said = receipts("report", "completion", "--format", "json", *options)
        return sum(row["put"] for row in json.loads(said.stdout)["rows"])

    receipts("replay", str(recorded))
    receipts("land")
    assert put() == 2  # there is nothing else
    with Client([*TAP, "--", *SERVER]) as client:
        client.answer(client.ask(), action="decline")
        client.end()
    receipts("land")
    assert put() == 1
    assert put("--include-replay") == 3


def test_a_broken_recording_is_named_and_the_others_go_on(
    receipts: Receipts, home: Path, recorded: Path
) -> None:
    broken = recorded / "0.jsonl"
    broken.write_text(f'{{"ts": 1, "dir": "c2s", "raw": ""}}\n{{"ts": 1, "raw": "{TYPED}')
    done = receipts("replay", str(recorded), str(recorded / "missing.har"))
    assert done.returncode == 3
    assert done.stdout == "replayed 2, receipts 12, there already 0, broken 2\n"
    said = done.stderr.splitlines()
    assert said[0].startswith(f"receipts: recording_broken: {broken}, line 2: ")
    assert said[1].startswith("receipts: recording_unreadable: ")
    assert said[2].startswith("receipts: recordings_broken: 2 of 4 ")
    assert TYPED not in done.stdout + done.stderr
    # Nothing of a broken recording is written, and once it is whole it is replayed.
    broken.write_bytes((recorded / "7.jsonl").read_bytes() + b"\n")
    assert receipts("replay", str(recorded)).stdout.startswith("replayed 1,")


def test_to_explain_writes_nothing(receipts: Receipts, home: Path, recorded: Path) -> None:
    done = receipts("replay", "--explain", str(recorded))
    assert (done.returncode, done.stderr) == (0, "")
    assert str(recorded / "7.jsonl") in done.stdout
    assert done.stdout.count("question 1 answered, accepted") == 2
    assert TYPED not in done.stdout
    assert not home.exists()


def test_a_seed_gives_the_same_bytes_each_time(
    receipts: Receipts, home: Path, recorded: Path, tmp_path: Path
) -> None:
    def file(name: str, seed: str, *recordings: Path) -> bytes:
        path = tmp_path / name
        paths = map(str, recordings)
        done = receipts("replay", "--seed", seed, "--output", str(path), *paths)
        assert (done.returncode, done.stderr) == (0, "")
        return path.read_bytes()

    first = file("first", "7", recorded)
    assert file("again", "7", recorded, recorded / "7.jsonl") == first
    assert file("other", "8", recorded) != first
    with (tmp_path / "first").open("rb") as stream:
        data: list[Any] = list(fastavro.reader(stream))
    assert [datum["event"] for datum in data].count(Event.ANSWERED) == 2
    assert TYPED.encode() not in first
    assert not home.exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [(["--seed", "7"], "seed_with_live_keys"), (["--output", "x"], "output_without_seed")],
)
def test_a_seed_never_meets_live_keys(
    receipts: Receipts, home: Path, recorded: Path, options: list[str], reason: str
) -> None:
    done = receipts("replay", *options, str(recorded))
    assert done.returncode == 2
    assert done.stderr.startswith(f"receipts: {reason}: ")
    assert not home.exists()


def test_a_directory_without_recordings(receipts: Receipts, tmp_path: Path) -> None:
    done = receipts("replay", str(tmp_path))
    assert done.returncode == 3
    assert done.stderr.startswith("receipts: no_recording: ")
