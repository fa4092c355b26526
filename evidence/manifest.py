"""A bundle's manifest: the streams and files that belong to it, signed, its first member.

So neither can a file be taken out or put in, nor a stream be left out, unnoticed::

    elicitation-receipts/bundle/v1
    time 2026-11-30T21:00:00Z
    stream <stream id> <first sequence> <last sequence>
    file <SHA-256, hexadecimal> <name>
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self
from uuid import UUID

from elicitation_receipts.evidence.text import (
    lines_of,
    malformed,
    moment,
    moment_text,
    number,
    uuid,
)

KIND: Final = "elicitation-receipts/bundle/v1"


@dataclass(frozen=True, slots=True)
class Manifest:
    """``streams``: first and last sequence of each; ``files``: SHA-256 by name, in order."""

    time: datetime
    streams: Mapping[UUID, tuple[int, int]]
    files: Mapping[str, str]

    @property
    def text(self) -> str:
        """The note's text."""
        lines = [KIND, f"time {moment_text(self.time)}"]
        lines += [f"stream {each} {first} {last}" for each, (first, last) in self.streams.items()]
        lines += [f"file {digest} {name}" for name, digest in self.files.items()]
        return "\n".join(lines) + "\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises :class:`EvidenceError` (``note_malformed``)."""
        time, streams, files = None, dict[UUID, tuple[int, int]](), dict[str, str]()
        try:
            for line in lines_of(text, KIND):
                match line:
                    case ["time", written]:
                        time = moment(written)
                    case ["stream", stream, first, last]:
                        streams[uuid(stream)] = number(first), number(last)
                    case ["file", digest, name]:
                        files[name] = digest
        except ValueError:
            raise malformed(KIND) from None
        if time is None:
            raise malformed(KIND)
        manifest = cls(time, streams, files)
        if manifest.text != text:
            raise malformed(KIND)
        return manifest
