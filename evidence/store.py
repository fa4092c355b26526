"""Evidence as it is kept: signed notes and verifier keys, told apart by what they say.

A home keeps it in the folder ``evidence/``; the names are for people, a verifier goes by
content, so that files may be renamed and moved::

    registry.note
    checkpoints/<stream id>/<size>.note
    keys/<number>.vkey, <number>.note     verifier keys, and the rotations between them
    seals/<stream id>/<first>-<last>.note
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, TypeVar

from elicitation_receipts.evidence import registry, seal, signing
from elicitation_receipts.evidence.checkpoint import Checkpoint, is_checkpoint
from elicitation_receipts.evidence.note import Note, VerifierKey, read_keys
from elicitation_receipts.evidence.registry import Registry
from elicitation_receipts.evidence.seal import Seal
from elicitation_receipts.evidence.signing import Rotation
from elicitation_receipts.schemas.errors import EvidenceError
from elicitation_receipts.schemas.whole_file import whole_file

REGISTRY: Final = "registry.note"
SUFFIXES: Final = (".note", ".vkey")

Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class Signed(Generic[Content]):
    """A note under the name it was found by, and what it says; not believed yet."""

    name: str
    note: Note
    content: Content


@dataclass(slots=True)
class Evidence:
    """What was found. ``unread``: names of files that are no evidence, and why."""

    registries: list[Signed[Registry]] = field(default_factory=list)
    checkpoints: list[Signed[Checkpoint]] = field(default_factory=list)
    seals: list[Signed[Seal]] = field(default_factory=list)
    rotations: list[Signed[Rotation]] = field(default_factory=list)
    keys: list[VerifierKey] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)

    def add(self, name: str, content: bytes) -> None:
        """Take a file in; what it is says its content."""
        try:
            if name.endswith(".vkey"):
                self.keys += read_keys(content.decode("utf-8", "replace"))
            else:
                self._add_note(name, Note.parse(content))
        except EvidenceError as error:
            self.unread.append((name, error.reason))

    def _add_note(self, name: str, note: Note) -> None:
        kind = note.text.split("\n", 1)[0]
        if is_checkpoint(note.text):
            self.checkpoints.append(Signed(name, note, Checkpoint.parse(note.text)))
        elif kind == registry.KIND:
            self.registries.append(Signed(name, note, Registry.parse(note.text)))
        elif kind == seal.KIND:
            self.seals.append(Signed(name, note, Seal.parse(note.text)))
        elif kind == signing.KIND:
            self.rotations.append(Signed(name, note, Rotation.parse(note.text)))
        # What else is signed says nothing about receipts.


def read_files(files: Iterable[tuple[str, bytes]]) -> Evidence:
    """The evidence in files, given by name and content."""
    evidence = Evidence()
    for name, content in files:
        evidence.add(name, content)
    return evidence


def read_folder(folder: Path) -> Evidence:
    """The evidence in a folder and below; none where there is no folder.

    Raises :class:`EvidenceError` (``evidence_unreadable``).
    """
    try:
        return read_files(_files(folder))
    except OSError as error:
        raise EvidenceError(
            "evidence_unreadable", f"cannot read {folder} ({error.strerror}); check it"
        ) from error


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put files into a folder, each whole and durable, in the order given.

    Raises :class:`EvidenceError` (``evidence_unwritable``).
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with whole_file(path) as draft, draft.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise EvidenceError(
            "evidence_unwritable", f"cannot write to {folder} ({error.strerror}); check it"
        ) from error


def checkpoint_file(checkpoint: Checkpoint) -> str:
    """The name of a checkpoint's note, below the folder; names sort as sizes do."""
    return f"checkpoints/{checkpoint.stream_id}/{checkpoint.size:012}.note"


def seal_file(sealed: Seal) -> str:
    """The name of a seal's note, below the folder."""
    return f"seals/{sealed.stream_id}/{sealed.first:012}-{sealed.last:012}.note"


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()
