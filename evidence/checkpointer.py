"""The checkpointer: signs how far every stream has come, and never takes back what it signed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from elicitation_receipts.evidence import frontier_file
from elicitation_receipts.evidence.checkpoint import Checkpoint
from elicitation_receipts.evidence.history import Extent, Leaves, seals_of, tree_of
from elicitation_receipts.evidence.note import Note, SignatureFault
from elicitation_receipts.evidence.registry import Entry, Registry, installed_schemas
from elicitation_receipts.evidence.signing import SigningKeys
from elicitation_receipts.evidence.store import (
    REGISTRY,
    checkpoint_file,
    write_folder,
)
from elicitation_receipts.evidence.tree import Frontier
from elicitation_receipts.schemas.errors import EvidenceError
from elicitation_receipts.schemas.lock import FileLock

_LOCK_NAME: Final = "evidence.lock"


@dataclass(frozen=True, slots=True)
class Signed:
    """What was signed: ``files`` by their names below the folder of evidence.

    ``grown``: how many streams were signed further than before.
    """

    registry: Registry
    grown: int
    files: Mapping[str, bytes]

    @property
    def receipts(self) -> int:
        return sum(each.last + 1 for each in self.registry.streams.values())


def sign_checkpoints(
    folder: Path, keys: SigningKeys, sources: Iterable[Leaves], now: datetime
) -> Signed:
    """Sign every stream of ``sources`` as far as it has come, and put the notes in ``folder``.

    A stream in several sources is read from the one that reaches furthest. Streams that were
    signed before and are in none stay listed. Raises :class:`EvidenceError`: ``stream_behind``
    where a stream is shorter than what was signed, ``stream_changed`` where its beginning is
    not what was signed, ``registry_not_ours``, ``evidence_unreadable``,
    ``evidence_unwritable``; and
    :class:`KeyringError`.
    """
    write_folder(folder, {})
    with FileLock(folder / _LOCK_NAME):
        signed = newest_signed(folder, keys)
        before = signed.registry if signed else None
        streams = dict(before.streams) if before else {}
        trees = _trees(folder, sources, streams)
        for extent, tree in trees.values():
            streams[extent.stream_id] = Entry(
                extent.stream_id, extent.tenant, tree.size - 1, tree.root()
            )
        registry = Registry(now, installed_schemas(), streams)
        grown = [
            entry.checkpoint
            for entry in streams.values()
            if before is None or before.streams.get(entry.stream_id) != entry
        ]
        notes = {each: bytes(keys.sign(each.text)) for each in grown}
        files = {
            **key_files(keys),
            # First: a checkpoint that its registry does not list is what a cut looks like.
            REGISTRY: bytes(keys.sign(registry.text)),
            **{checkpoint_file(each): note for each, note in notes.items()},
        }
        frontiers = {
            frontier_file.name(each.stream_id): frontier_file.dump(trees[each.stream_id][1])
            for each in grown
        }
        write_folder(folder, files | frontiers)
    return Signed(registry, len(grown), files)


def key_files(keys: SigningKeys) -> dict[str, bytes]:
    """The public side of signing keys: verifier keys, and the notes that name successors."""
    files = {f"keys/{n:04}.vkey": f"{key}\n".encode() for n, key in enumerate(keys.public(), 1)}
    rotations = {f"keys/{n:04}.note": bytes(note) for n, note in enumerate(keys.rotations(), 2)}
    return files | rotations


def newest_signed(folder: Path, keys: SigningKeys) -> Signed | None:
    """What was signed last, but for checkpoints; None: nothing. Raises ``registry_not_ours``."""
    path = folder / REGISTRY
    if not path.exists():
        return None
    try:
        note = Note.parse(path.read_bytes())
        note.signer(keys.public())
        registry = Registry.parse(note.text)
    except (SignatureFault, EvidenceError, OSError) as error:
        raise EvidenceError(
            "registry_not_ours",
            f"{path} was not signed by this home's keys, or is damaged: verify it against a "
            "copy you trust, put it back, or move the folder away to start anew",
        ) from error
    return Signed(registry, 0, {**key_files(keys), REGISTRY: bytes(note)})


def _trees(
    folder: Path, sources: Iterable[Leaves], signed: Mapping[UUID, Entry]
) -> dict[UUID, tuple[Extent, Frontier]]:
    """The tree of every stream, from the source that reaches furthest.

    The spool may have let go of what has landed, and the warehouse may lag behind it.
    """
    trees: dict[UUID, tuple[Extent, Frontier]] = {}
    behind: dict[UUID, Extent] = {}
    for source in sources:
        for extent in source.extents():
            stream_id = extent.stream_id
            entry = signed.get(stream_id)
            if entry and extent.next_sequence <= entry.last:
                behind[stream_id] = extent
                continue
            tree = _grown(folder, extent, source, entry)
            if tree and tree.size > (trees[stream_id][1].size if stream_id in trees else 0):
                trees[stream_id] = extent, tree
    for stream_id, extent in behind.items():
        if stream_id not in trees:
            raise EvidenceError(
                "stream_behind",
                f"stream {stream_id} has {extent.next_sequence} receipts and "
                f"{signed[stream_id].last + 1} were signed: put back what is missing; "
                "nothing was signed",
            )
    return trees


def _grown(folder: Path, extent: Extent, source: Leaves, entry: Entry | None) -> Frontier | None:
    """The tree of a stream as far as it has come, from what was signed on; None: not from here."""
    tree: Frontier | None = Frontier()
    if entry:
        signed = entry.checkpoint
        tree = frontier_file.load(folder, extent.stream_id)
        if tree is None or (tree.size, tree.root()) != (signed.size, signed.root):
            tree = _rebuilt(folder, source, signed)
    if tree is not None:
        for leaf in source.leaves(extent.stream_id, tree.size):
            tree.append(leaf)
    return tree


def _rebuilt(folder: Path, source: Leaves, signed: Checkpoint) -> Frontier | None:
    """The tree that was signed, from its receipts and, for what was dropped, its seals."""
    seals = seals_of(folder, signed.stream_id)
    tree = tree_of(source, signed.stream_id, seals, signed.size)
    if tree.size < signed.size:
        return None
    if tree.root() != signed.root:
        raise EvidenceError(
            "stream_changed",
            f"stream {signed.stream_id} is not what was signed up to sequence {signed.size - 1}: "
            "`receipts verify` says where; nothing was signed",
        )
    return tree
