"""The files of the key folder: mode 0700 and 0600, each made whole and durable, or removed."""

from __future__ import annotations

import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from elicitation_receipts.schemas.errors import KeyringError

SECRET_SIZE: Final = 32
_SECRET: Final = re.compile(rb"[0-9a-f]{64}\n")
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def check_folder(folder: Path) -> None:
    """Raises ``key_unreadable`` unless it is a folder closed to other users."""
    try:
        mode = folder.stat().st_mode
    except OSError as error:
        raise unreadable(folder, error) from error
    if not stat.S_ISDIR(mode) or mode & _OTHERS:
        raise KeyringError(
            "key_unreadable", f"{folder} must be a folder of yours alone: chmod 700 {folder}"
        )


def make_folder(folder: Path) -> None:
    """Make it where it is missing, durable. Raises ``key_unwritable``."""
    try:
        folder.mkdir(mode=0o700)
        sync_folder(folder.parent)
    except FileExistsError:
        pass
    except OSError as error:
        raise unwritable(folder, error) from error


def read_secret(path: Path) -> bytes | None:
    """The 32 bytes at ``path``; None where there is no file. Raises ``key_unreadable``."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            mode = os.fstat(descriptor).st_mode
            text = file.read(2 * SECRET_SIZE + 2)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not path.is_symlink():
            return None
        raise unreadable(path, error) from error
    if mode & _OTHERS:
        raise KeyringError(
            "key_unreadable",
            f"{path} is open to other users: replace it if they may have read it, then chmod 600",
        )
    if not _SECRET.fullmatch(text):
        raise KeyringError(
            "key_unreadable", f"{path} is damaged: it must hold 64 hexadecimal digits; restore it"
        )
    return bytes.fromhex(text.decode("ascii"))


def make_secret(path: Path) -> None:
    """Put a new secret at ``path`` unless one is there. Raises ``key_unwritable``."""
    write_once(path, secrets.token_hex(SECRET_SIZE).encode("ascii") + b"\n")


def write_once(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path``, whole and durable, unless somebody was faster.

    Raises ``key_unwritable``.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink()
        sync_folder(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error


def erase(path: Path) -> None:
    """Remove a secret and every draft of it that a crash has left: overwritten, then unlinked.

    Raises ``key_unwritable``.
    """
    try:
        for copy in (path, *path.parent.glob(f".{path.name}.*")):
            with suppress(FileNotFoundError):
                _overwrite(copy)
                copy.unlink()
        with suppress(FileNotFoundError):
            sync_folder(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error


def _overwrite(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.pwrite(descriptor, bytes(os.fstat(descriptor).st_size), 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make durable which files stand in ``folder``."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def unreadable(path: Path, error: OSError) -> KeyringError:
    """What it is called that ``path`` cannot be read."""
    return KeyringError(
        "key_unreadable", f"cannot read {path} ({error.strerror}); restore it or its permissions"
    )


def unwritable(path: Path, error: OSError) -> KeyringError:
    """What it is called that ``path`` cannot be written."""
    return KeyringError(
        "key_unwritable", f"cannot write {path} ({error.strerror}); check its folder and the disk"
    )
