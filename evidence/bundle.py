"""A bundle: everything an auditor needs about some streams, in one archive, to verify alone.

Members, in this order; the manifest lists all others with their SHA-256::

    manifest.note                  which streams and files belong to it, signed
    README.md                      what it shows, and what it does not
    verify.py                      a verifier that needs nothing of ours
    registry.note  keys/  checkpoints/  seals/      as in a home's folder of evidence
    schemas/receipt_v<n>.avsc      how the receipts are to be read
    frontiers/<stream id>.frontier the tree before the first receipt, where a stream is here in part
    policies/<digest>.json         policies the receipts name, each named by its SHA-256
    policies/not-kept.txt          digests that receipts name and of which no policy is kept
    receipts/<stream id>.messages  each message behind its length (4 bytes, big-endian)
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from elicitation_receipts.evidence import frontier_file
from elicitation_receipts.evidence.archive import (
    ArchiveError,
    Member,
    content_of,
    digest_of,
    read_index,
    write_archive,
)
from elicitation_receipts.evidence.dump import LENGTH, framed
from elicitation_receipts.evidence.manifest import Manifest
from elicitation_receipts.evidence.note import Note
from elicitation_receipts.evidence.registry import schema_file
from elicitation_receipts.evidence.signing import SigningKeys
from elicitation_receipts.evidence.source import Item
from elicitation_receipts.evidence.store import SUFFIXES, Evidence, Signed, read_files
from elicitation_receipts.evidence.tree import Frontier
from elicitation_receipts.evidence.walk import place_of
from elicitation_receipts.schemas.codec import decode, schemas
from elicitation_receipts.schemas.errors import CodecError, EvidenceError
from elicitation_receipts.schemas.whole_file import whole_file

MANIFEST: Final = "manifest.note"
_README: Final = "bundle_readme.md"
#: Below it each file is a policy, and bears the name of its digest, but for this one.
_POLICIES: Final = "policies/"
_NOT_KEPT: Final = "policies/not-kept.txt"


@dataclass(frozen=True, slots=True)
class Part:
    """A stream's share: ``messages`` from ``before.size`` on, up to the sequence ``last``."""

    stream_id: UUID
    before: Frontier
    last: int
    messages: Iterable[bytes]


def write_bundle(
    path: Path,
    parts: Iterable[Part],
    evidence: Mapping[str, bytes],
    policy_of: Callable[[bytes], bytes | None],
    keys: SigningKeys,
    now: datetime,
) -> list[str]:
    """Write the bundle: whole, or not at all; the digests of policies it should have and has not.

    ``evidence``: files by name; ``policy_of``: what was kept of the policy with a digest.
    Raises :class:`EvidenceError` (``output_unwritable``) and :class:`KeyringError`.
    """
    files: dict[str, bytes | Path] = {
        "README.md": (resources.files(__package__) / _README).read_bytes(),
        "verify.py": resources.files(__package__).joinpath("standalone.py").read_bytes(),
        **evidence,
        **{
            f"schemas/{schema_file(version)}": schema.text.encode()
            for version, schema in schemas().items()
        },
    }
    try:
        with (
            whole_file(path) as draft,
            tempfile.TemporaryDirectory(dir=path.absolute().parent) as name,
        ):
            streams, receipts, named = {}, dict[str, Path](), set[bytes]()
            for part in parts:
                if part.before.size:
                    files[frontier_file.name(part.stream_id)] = frontier_file.dump(part.before)
                streams[part.stream_id] = part.before.size, part.last
                receipts[f"receipts/{part.stream_id}.messages"] = _write_part(
                    Path(name), part, named
                )
            policies, not_kept = _policies(sorted(named), policy_of)
            files |= policies
            files |= receipts
            manifest = Manifest(now, streams, {name: _digest(each) for name, each in files.items()})
            with draft.open("wb") as file:
                note = bytes(keys.sign(manifest.text))
                write_archive(file, [(MANIFEST, note), *files.items()])
    except OSError as error:
        raise EvidenceError(
            "output_unwritable", f"cannot write {path} ({error.strerror}); check its folder"
        ) from error
    return not_kept


class Bundle:
    """A bundle at ``path``, as a source of receipts and of the evidence about them.

    Opening it reads it all: each member must be the one its manifest lists. Raises
    :class:`ArchiveError` (also ``member_altered``, ``member_missing``, ``odd_member``,
    ``manifest_missing``), and :class:`EvidenceError` (``source_unreadable``).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = f"bundle {path.name}"
        self.count: int | None = None
        try:
            with path.open("rb") as file:
                self._members = read_index(file)
                self.manifest = self._read_manifest(file)
                self._check(file)
                small = [
                    (name, content_of(file, member))
                    for name, member in self._members.items()
                    if not name.startswith("receipts/")
                ]
        except OSError as error:
            raise EvidenceError(
                "source_unreadable", f"cannot read {path} ({error.strerror})"
            ) from error
        self.evidence: Evidence = read_files(
            (name, content)
            for name, content in small
            if name.endswith(SUFFIXES) and name != MANIFEST
        )
        self.schemas = {
            name.removeprefix("schemas/"): sha256(content).hexdigest()
            for name, content in small
            if name.startswith("schemas/")
        }
        self.policies = {
            name: sha256(content).hexdigest()
            for name, content in small
            if name.startswith(_POLICIES) and name != _NOT_KEPT
        }
        self.starts = {
            UUID(Path(name).stem): frontier_file.parse(content)
            for name, content in small
            if name.endswith(".frontier")
        }

    @property
    def streams(self) -> frozenset[UUID]:
        return frozenset(self.manifest.content.streams)

    def items(self) -> Iterator[Item]:
        with self.path.open("rb") as file:
            for stream_id in self.manifest.content.streams:
                member = self._members[f"receipts/{stream_id}.messages"]
                file.seek(member.at)
                sequence = -1
                for _, message in framed(file, self.path, member.at + member.size):
                    place = place_of(message)
                    sequence = sequence + 1 if place is None else place[1]
                    yield Item(stream_id.bytes, sequence, message)

    def _read_manifest(self, file: Any) -> Signed[Manifest]:
        if next(iter(self._members), None) != MANIFEST:
            raise ArchiveError("manifest_missing", "the archive does not begin with a manifest")
        try:
            note = Note.parse(content_of(file, self._members[MANIFEST]))
            return Signed(MANIFEST, note, Manifest.parse(note.text))
        except EvidenceError as error:
            kind = "unsigned" if error.reason == "note_unsigned" else "manifest_malformed"
            raise ArchiveError(kind, "the archive's manifest is no signed manifest") from None

    def _check(self, file: Any) -> None:
        listed = self.manifest.content.files
        if missing := [name for name in listed if name not in self._members]:
            raise ArchiveError("member_missing", f"the archive lacks {missing[0]}")
        if [MANIFEST, *listed] != list(self._members):
            raise ArchiveError("odd_member", "the archive has members its manifest does not list")
        for stream_id in self.streams:
            if f"receipts/{stream_id}.messages" not in listed:
                raise ArchiveError("member_missing", f"the archive lacks stream {stream_id}")
        for name, digest in listed.items():
            if digest_of(file, self._members[name]) != digest:
                raise ArchiveError("member_altered", f"{name} is not what was bundled")


def _write_part(folder: Path, part: Part, named: set[bytes]) -> Path:
    """The file of a stream's messages; the digests of policies that they name go to ``named``."""
    path = folder / str(part.stream_id)
    with path.open("wb") as file:
        for message in part.messages:
            file.write(LENGTH.pack(len(message)) + message)
            # To decode takes a hundred times as long, and most name the policy of the one before.
            if not any(digest in message for digest in named):
                with suppress(CodecError):  # what is no receipt is bundled, for verifiers to name
                    digest = decode(message).policy_digest
                    named |= {digest} if digest else set()
    return path


def _policies(
    named: Iterable[bytes], policy_of: Callable[[bytes], bytes | None]
) -> tuple[dict[str, bytes], list[str]]:
    """The policies that are kept, by file name, and the digests of those that are not."""
    found = {digest.hex(): policy_of(digest) for digest in named}
    files = {f"{_POLICIES}{name}.json": text for name, text in found.items() if text is not None}
    not_kept = [name for name, text in found.items() if text is None]
    if not_kept:
        files[_NOT_KEPT] = "".join(f"{name}\n" for name in not_kept).encode()
    return files, not_kept


def _digest(content: bytes | Path) -> str:
    if isinstance(content, bytes):
        return sha256(content).hexdigest()
    with content.open("rb") as file:
        return digest_of(file, Member("", 0, content.stat().st_size))
