"""Recordings: which files are found, and what cannot be read is named."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from conversation import call, success
from recordings import archive, entry, json_lines, said

from elicitation_receipts.producers.recordings.recording import RecordingError, find, read
from elicitation_receipts.producers.recordings.traffic import Line, Request

LINES = json_lines([said(0, "c2s", call(1)), said(1, "s2c", success(1))])


def test_a_directory_stands_for_every_recording_in_it(tmp_path: Path) -> None:
    for name in ("b.jsonl", "deep/er/a.jsonl", "deep/session.har", "notes.txt", "deep/b.json"):
        path = tmp_path / "all" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    alone = tmp_path / "recorded.log"
    found = find([alone, tmp_path / "all", tmp_path / "all" / "b.jsonl"])
    names = [str(path.relative_to(tmp_path)) for path in found]
    assert names == ["recorded.log", "all/b.jsonl", "all/deep/er/a.jsonl", "all/deep/session.har"]


def test_a_directory_without_a_recording_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError) as raised:
        find([tmp_path])
    assert raised.value.reason == "no_recording"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.jsonl", LINES, Line),
        ("recorded", LINES, Line),
        ("a.HAR", archive(entry(0, 1, call(1), success(1))), Request),
    ],
)
def test_the_name_tells_the_format(
    tmp_path: Path, name: str, content: bytes, kind: type[Line | Request]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    recording = read(path)
    assert isinstance(recording.traffic[0], kind)
    assert (recording.path, recording.digest) == (path, sha256(content).digest())


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("missing.jsonl", None, "recording_unreadable"),
        ("a.jsonl", LINES[:-9], "recording_broken"),
        ("a.jsonl", b"\n\n", "recording_empty"),
        ("a.har", LINES, "recording_broken"),
        ("a.har", archive(), "recording_empty"),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: bytes | None, reason: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RecordingError) as raised:
        read(path)
    assert raised.value.reason == reason
    assert str(path) in str(raised.value)
