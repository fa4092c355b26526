"""Recordings: files of recorded traffic, found and read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from elicitation_receipts.producers.recordings.har import read_har
from elicitation_receipts.producers.recordings.json_lines import read_json_lines
from elicitation_receipts.producers.recordings.traffic import BrokenError, Traffic
from elicitation_receipts.schemas.errors import ReceiptsError

#: What a directory is searched for.
_PATTERNS: Final = ("*.jsonl", "*.har")


class RecordingError(ReceiptsError):
    """A recording cannot be replayed."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file tells, in order; at least one thing. ``digest``: SHA-256 of the file."""

    path: Path
    digest: bytes
    traffic: list[Traffic]


def find(paths: Iterable[Path]) -> list[Path]:
    """Each file given, and every ``*.jsonl`` and ``*.har`` anywhere in a directory given.

    Raises :class:`RecordingError` (``no_recording``) where that is none.
    """
    found: dict[Path, None] = {}
    for path in paths:
        inside = (file for pattern in _PATTERNS for file in path.rglob(pattern))
        found.update(dict.fromkeys(sorted(inside) if path.is_dir() else [path]))
    if not found:
        raise RecordingError("no_recording", "no *.jsonl or *.har there; name a file instead")
    return list(found)


def read(path: Path) -> Recording:
    """Read a file, as HAR where its name ends in ``.har``, else as JSON lines.

    Raises :class:`RecordingError`: ``recording_unreadable``; ``recording_broken``, which names
    the line; ``recording_empty``.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RecordingError(
            "recording_unreadable", f"cannot read {path} ({error.strerror}); check name and rights"
        ) from error
    read_format = read_har if path.suffix.lower() == ".har" else read_json_lines
    try:
        traffic = read_format(content)
    except BrokenError as error:
        raise RecordingError("recording_broken", f"{path}, {error}") from None
    if not traffic:
        raise RecordingError("recording_empty", f"{path} holds no MCP traffic")
    return Recording(path, sha256(content).digest(), traffic)
