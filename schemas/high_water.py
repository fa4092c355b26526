"""The high-water mark: how far each stream has been written, kept beside the spool.

A spool put back from an older copy would give out sequences a second time. The mark
does not go back with it, and so tells.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from struct import Struct
from typing import Final
from uuid import UUID

#: One slot a stream: its id and the sequence its next receipt will have. 32 bytes, so that
#: no slot lies across two sectors and each is written whole or not at all.
_SLOT: Final = Struct(">16sQ8x")


class HighWaterMark:
    """The file of slots at ``path``. Writing happens under the spool's lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[UUID, int] = {}

    def read(self) -> dict[UUID, int]:
        """The next sequence of each stream; empty where there is no file. Raises OSError."""
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            content = b""
        whole = len(content) - len(content) % _SLOT.size
        marks = {UUID(bytes=id_): next_ for id_, next_ in _SLOT.iter_unpack(content[:whole])}
        self._places = {stream_id: place for place, stream_id in enumerate(marks)}
        return marks

    def write(self, marks: Mapping[UUID, int]) -> None:
        """Set the marks of some streams, in place. Raises OSError."""
        if not marks.keys() <= self._places.keys():
            self.read()  # others may have opened streams since
        descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            for stream_id, next_sequence in marks.items():
                place = self._places.setdefault(stream_id, len(self._places))
                slot = _SLOT.pack(stream_id.bytes, next_sequence)
                os.pwrite(descriptor, slot, place * _SLOT.size)
        finally:
            os.close(descriptor)
