"""Config file: someone else's file, read whole and replaced whole, with a copy kept beside it."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from elicitation_receipts.schemas.errors import ConfigError

_COPY_MODE: Final = 0o600  # it holds what the file held, secrets too


class ConfigFile:
    """A UTF-8 file as it was when it was read. ``path``: the file itself, links followed."""

    def __init__(self, path: Path) -> None:
        """Raises :class:`ConfigError`: ``config_missing``, ``config_not_a_file``,
        ``config_unreadable``, ``config_not_json`` (not UTF-8).
        """
        try:
            self.path = path.expanduser().resolve(strict=True)
            self._status = self.path.stat()
            if not stat.S_ISREG(self._status.st_mode):  # reading a pipe would wait
                raise ConfigError("config_not_a_file", f"{path} is no file; name the file itself")
            self._content = self.path.read_bytes()
            self.text = self._content.decode("utf-8")
        except (FileNotFoundError, NotADirectoryError):
            raise ConfigError(
                "config_missing", f"there is no {path}; name the client's configuration file"
            ) from None
        except UnicodeDecodeError:
            raise ConfigError("config_not_json", f"{path} is not UTF-8 text") from None
        except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
            why = error.strerror if isinstance(error, OSError) else "links lead in a circle"
            raise ConfigError("config_unreadable", f"cannot read {path} ({why})") from error

    def replace(self, text: str, copy_suffix: str) -> Path:
        """Give the file new text, whole or not at all; mode and owner stay.

        Returns where the copy of the old one is: beside it, with ``copy_suffix`` behind its
        name, for the owner's eyes only. Raises :class:`ConfigError`: ``config_unwritable``,
        ``config_changed``.
        """
        copy = self.path.with_name(self.path.name + copy_suffix)
        try:
            if not os.access(self.path, os.W_OK):  # a rename would not mind
                raise PermissionError(None, "it is read-only")
            with (
                self._beside(self._content, _COPY_MODE) as old,
                self._beside(text.encode("utf-8"), stat.S_IMODE(self._status.st_mode)) as new,
            ):
                # As late as can be: a client may write the file while we ask.
                if self.path.read_bytes() != self._content:
                    raise ConfigError(
                        "config_changed",
                        f"{self.path} was changed meanwhile and is left as it is; run this again",
                    )
                old.replace(copy)
                new.replace(self.path)
        except OSError as error:
            raise ConfigError(
                "config_unwritable",
                f"cannot replace {self.path} ({error.strerror}); it is left as it is",
            ) from error
        return copy

    @contextmanager
    def _beside(self, content: bytes, mode: int) -> Iterator[Path]:
        """A finished file in the same folder, so that a rename puts it in place at once."""
        descriptor, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
        path = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                created = os.fstat(descriptor)
                if (created.st_uid, created.st_gid) != (self._status.st_uid, self._status.st_gid):
                    os.fchown(descriptor, self._status.st_uid, self._status.st_gid)
                os.fchmod(descriptor, mode)  # behind fchown, which may take bits away
                stream.write(content)
                stream.flush()
                os.fsync(descriptor)
            yield path
        finally:
            path.unlink(missing_ok=True)
