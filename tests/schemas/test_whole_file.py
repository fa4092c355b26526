"""Whole file: whole or not at all, and nothing but a file is ever replaced."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from elicitation_receipts.schemas.whole_file import whole_file


def test_it_is_there_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with whole_file(path) as place:
        place.write_text("half")
        assert not path.exists()
        place.write_text("whole")
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")

    def fail() -> None:
        with whole_file(path) as place:
            place.write_text("half")
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    target.write_text("before")
    link.symlink_to(target)
    with whole_file(link) as place:
        place.write_text("after")
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    with whole_file(pipe) as place:
        place.write_text("through")
    reader.join()
    assert heard == ["through"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", [".", "", "/", ".."])
def test_a_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IsADirectoryError), whole_file(Path(name)):
        pass
