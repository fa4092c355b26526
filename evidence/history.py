"""A stream's history as its tree sees it: what is there, and the seals of what was dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol
from uuid import UUID

from elicitation_receipts.evidence.seal import Seal
from elicitation_receipts.evidence.store import read_folder
from elicitation_receipts.evidence.tree import Frontier, Node


class Extent(NamedTuple):
    """A stream and how far its receipts reach in a source: up to ``next_sequence``, at most."""

    stream_id: UUID
    tenant: str
    next_sequence: int


class Leaves(Protocol):
    """Synced receipts, as a checkpointer sees them."""

    def extents(self) -> Sequence[Extent]:
        """Every stream, in the order they were opened."""

    def leaves(self, stream_id: UUID, first: int) -> Iterator[bytes]:
        """The leaf hashes of a stream from ``first`` on, up to the first gap."""


def nodes(source: Leaves, stream_id: UUID, seals: Iterable[Seal]) -> Iterator[Node]:
    """The tree of a stream from its first leaf on, dropped segments as their subtrees."""
    sealed = {each.first: each for each in seals}
    at = 0
    while True:
        for leaf in source.leaves(stream_id, at):
            yield Node(0, leaf)
            at += 1
        if at not in sealed:
            return
        yield from sealed[at].nodes
        at = sealed[at].last + 1


def tree_of(source: Leaves, stream_id: UUID, seals: Iterable[Seal], size: int) -> Frontier:
    """The tree over the first ``size`` receipts; smaller where there are not so many."""
    tree = Frontier()
    for node in nodes(source, stream_id, seals):
        if tree.size >= size:
            break
        tree.add(node)
    return tree


def seals_of(folder: Path, stream_id: UUID) -> Sequence[Seal]:
    """The seals of a stream in a folder of evidence, in order."""
    found = (each.content for each in read_folder(folder / "seals" / str(stream_id)).seals)
    return sorted(found, key=lambda each: each.first)
