"""Prove: that one receipt is in a stream's tree, as a file anyone can check offline.

C2SP tlog-proof (https://c2sp.org/tlog-proof): index, inclusion proof, and the checkpoint as it
was signed. The ``extra`` line holds the receipt's message, which the leaf hash is of: so one file
shows what was recorded, and that it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from elicitation_receipts.evidence.checkpoint import Checkpoint
from elicitation_receipts.evidence.note import Note, base64_bytes, base64_text
from elicitation_receipts.evidence.text import malformed, number
from elicitation_receipts.evidence.tree import Node, inclusion_proof, root_from_inclusion
from elicitation_receipts.schemas.chain import leaf_hash

KIND: Final = "c2sp.org/tlog-proof@v1"


@dataclass(frozen=True, slots=True)
class Proof:
    """``message`` stands at ``index`` of the tree that ``checkpoint`` signs, says ``path``."""

    message: bytes
    index: int
    path: tuple[bytes, ...]
    checkpoint: Note

    @classmethod
    def make(cls, message: bytes, index: int, checkpoint: Note, nodes: Iterable[Node]) -> Self:
        """From the tree's ``nodes``. Raises ``ValueError`` where they do not reach so far."""
        size = Checkpoint.parse(checkpoint.text).size
        return cls(message, index, tuple(inclusion_proof(index, size, nodes)), checkpoint)

    def __bytes__(self) -> bytes:
        lines = [
            KIND,
            f"extra {base64_text(self.message)}",
            f"index {self.index}",
            *map(base64_text, self.path),
        ]
        return "\n".join(lines).encode() + b"\n\n" + bytes(self.checkpoint)

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Raises :class:`EvidenceError` (``note_malformed``, ``note_unsigned``)."""
        head, _, note = content.partition(b"\n\n")
        try:
            kind, extra, index, *path = head.decode("ascii").split("\n")
            proof = cls(
                base64_bytes(extra.removeprefix("extra ")),
                number(index.removeprefix("index ")),
                tuple(base64_bytes(each, 32) for each in path),
                Note.parse(note),
            )
        except ValueError:
            raise malformed(KIND) from None
        if kind != KIND or bytes(proof) != content:
            raise malformed(KIND)
        return proof

    def leads_to(self, checkpoint: Checkpoint) -> bool:
        """Whether the path leads from the message to the checkpoint's root."""
        root = root_from_inclusion(self.index, checkpoint.size, leaf_hash(self.message), self.path)
        return root == checkpoint.root
