"""Home: made closed to others, judged before it is used."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import platformdirs
import pytest

from elicitation_receipts.home import Home, home_path
from elicitation_receipts.schemas.errors import HomeError


def test_option_before_variable_before_platform(tmp_path: Path) -> None:
    variable = {"RECEIPTS_HOME": str(tmp_path / "of-variable")}
    assert home_path(tmp_path / "of-option", variable) == tmp_path / "of-option"
    assert home_path(None, variable) == tmp_path / "of-variable"
    assert home_path(None, {}) == platformdirs.user_data_path("elicitation-receipts")


def test_a_relative_home_does_not_move_with_the_working_directory() -> None:
    assert home_path(Path("here"), {}).is_absolute()
    assert home_path(Path("~/there"), {}) == Path.home() / "there"


def test_writers_make_it_closed_to_others(tmp_path: Path) -> None:
    umask = os.umask(0o000)
    try:
        home = Home.open(tmp_path / "new" / "home", create=True)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
    assert Home.open(home.path, create=False) == home


def test_readers_never_make_it(tmp_path: Path) -> None:
    with pytest.raises(HomeError, match=r"^home_missing: "):
        Home.open(tmp_path / "none", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("below", ["", "sub", "sub/sub"])
def test_a_file_is_no_home(tmp_path: Path, create: bool, below: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError, match=r"^home_not_a_directory: "):
        Home.open(tmp_path / "file" / below, create=create)


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("mode", [0o701, 0o750, 0o755, 0o777])
def test_open_to_others_is_refused_with_the_fix(tmp_path: Path, create: bool, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(HomeError, match=rf"^home_open_to_others: .*chmod 700 {tmp_path}"):
        Home.open(tmp_path, create=create)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(HomeError, match=r"^home_unwritable: "):
        Home.open(tmp_path / "home", create=True)
    with pytest.raises(HomeError, match=r"^home_unwritable: "):
        Home.open(tmp_path, create=True)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="/proc: a place even root cannot write")
def test_unwritable_even_for_root() -> None:
    with pytest.raises(HomeError, match=r"^home_unwritable: "):
        Home.open(Path("/proc/self/home"), create=True)
