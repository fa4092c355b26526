"""The home: the one directory with spool, database, keys and settings, closed to other users."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import platformdirs

from elicitation_receipts.schemas.errors import HomeError
from elicitation_receipts.settings import FILE_NAME

VARIABLE: Final = "RECEIPTS_HOME"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def home_path(option: Path | None, environ: Mapping[str, str] = os.environ) -> Path:
    """Where the home is: option, else ``RECEIPTS_HOME``, else what the platform says."""
    if option is not None:
        return option.expanduser().absolute()
    if given := environ.get(VARIABLE):
        return Path(given).expanduser().absolute()
    return platformdirs.user_data_path("elicitation-receipts")


@dataclass(frozen=True, slots=True)
class Home:
    """A directory that was found fit: it is there, ours, and closed to others (mode 0700)."""

    path: Path

    @property
    def spool(self) -> Path:
        return self.path / "spool.db"

    @property
    def warehouse(self) -> Path:
        return self.path / "warehouse.duckdb"

    @property
    def keys(self) -> Path:
        return self.path / "keys"

    @property
    def signing_keys(self) -> Path:
        return self.keys / "signing"

    @property
    def evidence(self) -> Path:
        return self.path / "evidence"

    @property
    def policies(self) -> Path:
        """Every policy that was in force here, by digest."""
        return self.path / "policies"

    @property
    def settings_file(self) -> Path:
        return self.path / FILE_NAME

    @classmethod
    def open(cls, path: Path, *, create: bool) -> Home:
        """The home at ``path``. ``create``: make it where it is missing, and be able to write.

        Raises :class:`HomeError`: ``home_missing``, ``home_not_a_directory``,
        ``home_unwritable``, ``home_open_to_others``.
        """
        if create:
            _make(path)
        try:
            mode = path.stat().st_mode
        except NotADirectoryError:
            raise _not_a_directory(f"a part of {path}") from None
        except FileNotFoundError:
            raise HomeError(
                "home_missing",
                f"there is no home at {path}; `receipts tap` or `receipts demo` makes one, "
                f"or name another with --home or {VARIABLE}",
            ) from None
        except OSError as error:
            raise HomeError(
                "home_missing", f"cannot look at the home {path} ({error.strerror})"
            ) from error
        if not stat.S_ISDIR(mode):
            raise _not_a_directory(str(path))
        if mode & _OTHERS:
            raise HomeError(
                "home_open_to_others",
                f"other users can enter {path}, and it holds keys; close it: chmod 700 {path}",
            )
        if create and not os.access(path, os.W_OK | os.X_OK):
            raise _unwritable(path, "no permission, or a read-only file system")
        return cls(path)


def _make(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700)
    except (FileExistsError, NotADirectoryError):
        pass  # what is there is judged like any other
    except OSError as error:
        raise _unwritable(path, error.strerror or type(error).__name__) from error


def _not_a_directory(what: str) -> HomeError:
    return HomeError(
        "home_not_a_directory",
        f"{what} is not a directory; name another home with --home or {VARIABLE}",
    )


def _unwritable(path: Path, why: str) -> HomeError:
    return HomeError(
        "home_unwritable",
        f"cannot write to the home {path} ({why}); name another with --home or {VARIABLE}",
    )
