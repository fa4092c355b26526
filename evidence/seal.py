"""Seals: what stays of a segment of a stream when its receipts have been dropped.

A signed note with all a verifier needs to step over the gap: the subtrees that cover the
segment in the stream's tree, and the leaf hash the next receipt names. So a root over the
whole stream can still be told, and the hole has a signed name::

    elicitation-receipts/seal/v1
    time 2026-11-30T21:00:00Z
    stream <stream id>
    first <sequence>
    last <sequence>
    last-leaf <leaf hash, base64>
    previous <SHA-256 of the text of the seal before in the stream, base64; - for the first>
    node <height> <hash, base64>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final, Self
from uuid import UUID

from elicitation_receipts.evidence.note import base64_bytes, base64_text
from elicitation_receipts.evidence.text import (
    lines_of,
    malformed,
    moment,
    moment_text,
    number,
    uuid,
)
from elicitation_receipts.evidence.tree import Node, cover

KIND: Final = "elicitation-receipts/seal/v1"


@dataclass(frozen=True, slots=True)
class Seal:
    """The receipts ``first`` to ``last`` of a stream. ``nodes``: their subtrees, as `cover` says.

    ``previous``: the digest of the seal before, None for a stream's first. Build it with
    ``tree.subtrees(first, last + 1, leaves)``.
    """

    stream_id: UUID
    first: int
    last: int
    last_leaf: bytes
    nodes: Sequence[Node]
    previous: bytes | None
    time: datetime

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the text, 32 bytes: what the next seal names."""
        return sha256(self.text.encode()).digest()

    @property
    def text(self) -> str:
        """The note's text."""
        lines = [
            KIND,
            f"time {moment_text(self.time)}",
            f"stream {self.stream_id}",
            f"first {self.first}",
            f"last {self.last}",
            f"last-leaf {base64_text(self.last_leaf)}",
            f"previous {base64_text(self.previous) if self.previous else '-'}",
            *(f"node {node.height} {base64_text(node.hash)}" for node in self.nodes),
        ]
        return "\n".join(lines) + "\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises :class:`EvidenceError` (``note_malformed``)."""
        seal: Self | None = None
        try:
            match lines_of(text, KIND):
                case [
                    ["time", time],
                    ["stream", stream],
                    ["first", first],
                    ["last", last],
                    ["last-leaf", leaf],
                    ["previous", previous],
                    *lines,
                ]:
                    seal = cls(
                        uuid(stream),
                        number(first),
                        number(last),
                        base64_bytes(leaf, 32),
                        tuple(_node(line) for line in lines),
                        None if previous == "-" else base64_bytes(previous, 32),
                        moment(time),
                    )
        except ValueError:
            raise malformed(KIND) from None
        if seal is None or seal.text != text:
            raise malformed(KIND)
        if [node.height for node in seal.nodes] != list(cover(seal.first, seal.last + 1)):
            raise malformed(KIND)
        return seal


def _node(line: Sequence[str]) -> Node:
    match line:
        case ["node", height, hash_]:
            return Node(number(height), base64_bytes(hash_, 32))
    raise ValueError("not a node")
