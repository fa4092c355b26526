"""Where secrets come from: files of the key folder, one environment variable, or a command.

A secret is 32 random bytes, written as 64 hexadecimal digits. Its name is a path:
``root``, ``lander``, ``tenants/acme/tenant-0001``, ``tenants/acme/epoch-0001``.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Final, Protocol

from elicitation_receipts.schemas import key_files
from elicitation_receipts.schemas.errors import KeyringError

#: Seconds a command of the user's may take to answer.
_PATIENCE: Final = 30.0
_DIGITS: Final = re.compile(r"[0-9a-f]{64}")


class SecretSource(Protocol):
    """What the keyring asks of a place that keeps secrets. Every method: :class:`KeyringError`."""

    def names(self, prefix: str = "") -> set[str]:
        """The names it has a secret for, of those that begin with ``prefix``."""

    def get(self, name: str) -> bytes | None:
        """A secret of 32 bytes, or None where it has none of that name."""

    def make(self, name: str) -> None:
        """Make a new random secret unless there is one. Raises ``key_unwritable``."""

    def destroy(self, name: str) -> None:
        """Destroy a secret, or one that is gone already. Raises ``key_kept`` unless it is sure."""


class FileSecrets:
    """Files ``<name>.key`` below a folder, for their owner alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self, prefix: str = "") -> set[str]:
        below = self._folder / prefix
        paths = (path.relative_to(self._folder) for path in below.rglob("*.key"))
        return {path.as_posix().removesuffix(".key") for path in paths if path.name[0] != "."}

    def get(self, name: str) -> bytes | None:
        return key_files.read_secret(self._path(name))

    def make(self, name: str) -> None:
        path = self._path(name)
        for folder in reversed(path.relative_to(self._folder).parents[:-1]):
            key_files.make_folder(self._folder / folder)
        if not path.exists():
            key_files.make_secret(path)

    def destroy(self, name: str) -> None:
        key_files.erase(self._path(name))

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.key"


class EnvironmentSecrets:
    """Secrets in a text, ``name=digits`` separated by white space, as a variable holds them.

    Nothing can be made or destroyed here: who set the variable has to.
    """

    def __init__(self, text: str, variable: str) -> None:
        """Raises ``key_unreadable``; what stands in ``text`` is never repeated."""
        self._variable = variable
        self._secrets: dict[str, bytes] = {}
        for place, entry in enumerate(text.split(), start=1):
            name, _, digits = entry.partition("=")
            if not name or not _DIGITS.fullmatch(digits):
                raise KeyringError(
                    "key_unreadable",
                    f"entry {place} of {variable} must be a name, = and 64 hexadecimal digits",
                )
            self._secrets[name] = bytes.fromhex(digits)

    def names(self, prefix: str = "") -> set[str]:
        return {name for name in self._secrets if name.startswith(prefix)}

    def get(self, name: str) -> bytes | None:
        return self._secrets.get(name)

    def make(self, name: str) -> None:
        if name not in self._secrets:
            raise KeyringError(
                "key_unwritable",
                f"{self._variable} has no {name}: add it there with 64 random hexadecimal digits",
            )

    def destroy(self, name: str) -> None:
        raise KeyringError(
            "key_kept",
            f"{name} comes from {self._variable}, and nobody can tell what else holds a copy: "
            "keep keys in files or behind a keys_command that confirms, to be able to destroy them",
        )


class CommandSecrets:
    """Secrets behind a command, called with a verb:

    ``list``          prints the names, one a line
    ``get NAME``      prints 64 hexadecimal digits
    ``make NAME``     makes a new secret unless there is one
    ``destroy NAME``  destroys it, in all versions, and prints ``destroyed``

    It ends with exit code 0; its standard error is not shown. Raises ``keys_command_failed``.
    """

    def __init__(self, command: str) -> None:
        try:
            self._command = shlex.split(command)
        except ValueError:
            self._command = []
        if not self._command:
            raise KeyringError("keys_command_failed", "keys_command is no command line")
        self._names: set[str] | None = None

    def names(self, prefix: str = "") -> set[str]:
        if self._names is None:
            self._names = set(self._run("list").split())
        return {name for name in self._names if name.startswith(prefix)}

    def get(self, name: str) -> bytes | None:
        if name not in self.names():
            return None
        digits = self._run("get", name).strip()
        if not _DIGITS.fullmatch(digits):
            raise KeyringError(
                "key_unreadable",
                f"what keys_command gives for {name} is not 64 hexadecimal digits; restore it",
            )
        return bytes.fromhex(digits)

    def make(self, name: str) -> None:
        if name not in self.names():
            self._run("make", name)
            self._names = None

    def destroy(self, name: str) -> None:
        answer = self._run("destroy", name) if name in self.names() else "destroyed"
        self._names = None
        if answer.strip() != "destroyed" or name in self.names():
            raise KeyringError(
                "key_kept", f"keys_command does not confirm that {name} is destroyed: it counts on"
            )

    def _run(self, verb: str, *names: str) -> str:
        asked = " ".join([Path(self._command[0]).name, verb, *names])
        try:
            done = subprocess.run(  # noqa: S603  (the user's own command)
                [*self._command, verb, *names],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise KeyringError(
                "keys_command_failed", f"`{asked}` did not end within {_PATIENCE:.0f} s"
            ) from None
        except OSError as error:
            raise KeyringError(
                "keys_command_failed", f"cannot run `{asked}` ({error.strerror})"
            ) from error
        if done.returncode != 0:
            raise KeyringError(
                "keys_command_failed", f"`{asked}` ended with exit code {done.returncode}"
            )
        return done.stdout.decode("utf-8", "replace")
