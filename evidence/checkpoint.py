"""Checkpoints: how large a stream's tree was, and its root, as a signed note.

C2SP tlog-checkpoint (https://c2sp.org/tlog-checkpoint): three lines, origin, size and root;
no extension lines. When it was signed says the registry (``registry``), which lists it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self
from uuid import UUID

from elicitation_receipts.evidence.note import base64_bytes, base64_text
from elicitation_receipts.evidence.text import malformed, number, uuid

_ORIGIN: Final = "elicitation-receipts/streams/"
_KIND: Final = "tlog-checkpoint, of a stream of receipts"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The tree over the receipts ``[0, size)`` of a stream has this ``root`` (32 bytes)."""

    stream_id: UUID
    size: int
    root: bytes

    @property
    def origin(self) -> str:
        return f"{_ORIGIN}{self.stream_id}"

    @property
    def text(self) -> str:
        """The note's text."""
        return f"{self.origin}\n{self.size}\n{base64_text(self.root)}\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises :class:`EvidenceError` (``note_malformed``)."""
        try:
            origin, size, root = text.removesuffix("\n").split("\n")
            checkpoint = cls(
                uuid(origin.removeprefix(_ORIGIN)), number(size), base64_bytes(root, 32)
            )
        except ValueError:
            raise malformed(_KIND) from None
        if checkpoint.text != text:
            raise malformed(_KIND)
        return checkpoint


def is_checkpoint(text: str) -> bool:
    """Whether a note's text is meant to be a checkpoint."""
    return text.startswith(_ORIGIN)
