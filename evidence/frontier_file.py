"""A tree's frontier in a file: where a checkpointer, or a partial bundle's verifier, goes on.

Not signed: it counts only where the root that it gives, or leads to, is signed::

    elicitation-receipts/frontier/v1
    size <number of leaves>
    peak <hash, base64>
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import UUID

from elicitation_receipts.evidence.note import base64_bytes, base64_text
from elicitation_receipts.evidence.text import lines_of, malformed, number
from elicitation_receipts.evidence.tree import Frontier
from elicitation_receipts.schemas.errors import EvidenceError

KIND: Final = "elicitation-receipts/frontier/v1"


def name(stream_id: UUID) -> str:
    """The name of a stream's frontier, below the folder of evidence."""
    return f"frontiers/{stream_id}.frontier"


def dump(tree: Frontier) -> bytes:
    lines = [KIND, f"size {tree.size}", *(f"peak {base64_text(peak)}" for peak in tree.peaks)]
    return ("\n".join(lines) + "\n").encode()


def parse(content: bytes) -> Frontier:
    """Raises :class:`EvidenceError` (``note_malformed``)."""
    try:
        [_, size], *peaks = lines_of(content.decode("ascii"), KIND)
        tree = Frontier(number(size), [base64_bytes(peak, 32) for _, peak in peaks])
    except ValueError:
        raise malformed(KIND) from None
    if dump(tree) != content:
        raise malformed(KIND)
    return tree


def load(folder: Path, stream_id: UUID) -> Frontier | None:
    """A stream's frontier as it was kept; None where there is none that can be read."""
    with suppress(OSError, EvidenceError):
        return parse((folder / name(stream_id)).read_bytes())
    return None
