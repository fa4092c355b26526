"""Config file: replaced whole or not at all, and what is no file to change has a name."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from elicitation_receipts.config_file import ConfigFile
from elicitation_receipts.schemas.errors import ConfigError

OLD, NEW = "{}\r\n// ü\n", '{"new": 1}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "mcp.json"
    path.write_bytes(OLD.encode())
    return path


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_mode_stays_and_the_copy_is_for_the_owner_alone(path: Path, mode: int) -> None:
    path.chmod(mode)
    copy = ConfigFile(path).replace(NEW, ".before")
    assert (path.read_bytes(), mode_of(path)) == (NEW.encode(), mode)
    assert copy == path.with_name("mcp.json.before")
    assert (copy.read_bytes(), mode_of(copy)) == (OLD.encode(), 0o600)
    assert sorted(path.parent.iterdir()) == [path, copy]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_file_and_copy_stay_their_owners(path: Path) -> None:
    os.chown(path, 12345, 23456)
    for changed in (ConfigFile(path).replace(NEW, ".before"), path):
        assert (changed.stat().st_uid, changed.stat().st_gid) == (12345, 23456)


def test_a_link_stays_and_what_it_leads_to_is_changed(path: Path) -> None:
    link = path.parent / "elsewhere" / "link.json"
    link.parent.mkdir()
    link.symlink_to(Path("..", path.name))
    copy = ConfigFile(link).replace(NEW, ".before")
    assert link.is_symlink()
    assert path.read_text() == NEW
    assert copy.parent == path.parent


def test_a_copy_does_not_follow_a_link_that_lies_in_its_place(path: Path) -> None:
    precious = path.with_name("precious")
    precious.write_text("mine")
    path.with_name("mcp.json.before").symlink_to(precious)
    ConfigFile(path).replace(NEW, ".before")
    assert precious.read_text() == "mine"


def test_a_file_that_was_changed_meanwhile_is_left(path: Path) -> None:
    file = ConfigFile(path)
    path.write_text("changed by the client")
    with pytest.raises(ConfigError) as caught:
        file.replace(NEW, ".before")
    assert caught.value.reason == "config_changed"
    assert path.read_text() == "changed by the client"
    assert list(path.parent.iterdir()) == [path]


def test_a_full_disk_leaves_the_file_as_it_is(small_disk: Path) -> None:
    path = small_disk / "mcp.json"
    path.write_text(OLD)
    file = ConfigFile(path)
    with pytest.raises(ConfigError) as caught:
        file.replace("x" * 5_000_000, ".before")
    assert caught.value.reason == "config_unwritable"
    assert path.read_bytes() == OLD.encode()
    assert list(small_disk.iterdir()) == [path]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_left(path: Path) -> None:
    path.chmod(0o400)
    with pytest.raises(ConfigError) as caught:
        ConfigFile(path).replace(NEW, ".before")
    assert caught.value.reason == "config_unwritable"
    assert list(path.parent.iterdir()) == [path]


def make_circle(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, "config_missing"),
        (Path.mkdir, "config_not_a_file"),
        (os.mkfifo, "config_not_a_file"),
        (make_circle, "config_unreadable"),
        (lambda path: path.write_bytes(b"\xff\xfe{\0}\0"), "config_not_json"),
    ],
)
def test_what_cannot_be_read_has_a_name(tmp_path: Path, make: object, reason: str) -> None:
    path = tmp_path / "config"
    assert callable(make)
    make(path)
    with pytest.raises(ConfigError) as caught:
        ConfigFile(path)
    assert caught.value.reason == reason
