"""An archive that can be read in one way only: a tar file with nothing in it but plain files.

POSIX.1-1988 ustar, so that any ``tar`` unpacks it. A header is exactly the one that is made from
name and size; behind the last file stand two empty blocks and nothing else. Whatever else
an archive could hold (links, times, owners, extensions, bytes in between or behind) is refused.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

from elicitation_receipts.schemas.errors import EvidenceError

#: An archive's first so many bytes tell that it is one.
BLOCK: Final = tarfile.BLOCKSIZE
_END: Final = bytes(2 * BLOCK)
_PAGE: Final = 1 << 20
_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")


class ArchiveError(EvidenceError):
    """An archive that is not exactly what we write: for a verifier a finding, not a failure.

    ``trailing_bytes``, ``odd_member``, ``cut_off``.
    """


@dataclass(frozen=True, slots=True)
class Member:
    """A file in the archive: ``size`` bytes from ``at`` on."""

    name: str
    at: int
    size: int


def write_archive(file: BinaryIO, members: Iterable[tuple[str, bytes | Path]]) -> None:
    """Write members in the order given; a path stands for the bytes of its file."""
    for name, content in members:
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        file.write(_header(name, size))
        if isinstance(content, bytes):
            file.write(content)
        else:
            with content.open("rb") as source:
                while page := source.read(_PAGE):
                    file.write(page)
        file.write(bytes(-size % BLOCK))
    file.write(_END)


def is_archive(beginning: bytes) -> bool:
    """Whether a file of which the first block is given can be an archive."""
    return beginning[257:262] == b"ustar"


def read_index(file: BinaryIO) -> Mapping[str, Member]:
    """Every member by name, in order. Raises :class:`ArchiveError`."""
    members: dict[str, Member] = {}
    end = file.seek(0, 2)
    at = file.seek(0)
    while (header := file.read(BLOCK)) != bytes(BLOCK):
        if len(header) < BLOCK:
            raise ArchiveError("cut_off", "the archive ends before its end; get it again")
        member = _member(header, at + BLOCK)
        if member.name in members:
            raise _odd(member.name)
        members[member.name] = member
        at = member.at + member.size + -member.size % BLOCK
        if at > end:
            raise ArchiveError("cut_off", "the archive ends before its end; get it again")
        file.seek(member.at + member.size)
        if any(file.read(at - member.at - member.size)):
            raise ArchiveError("trailing_bytes", f"there are bytes behind {member.name}")
    if at + len(_END) != end or file.read(BLOCK) != bytes(BLOCK):
        raise ArchiveError("trailing_bytes", "there are bytes behind the archive's end")
    return members


def digest_of(file: BinaryIO, member: Member) -> str:
    """The SHA-256 of a member, hexadecimal."""
    file.seek(member.at)
    digest, left = sha256(), member.size
    while left:
        page = file.read(min(left, _PAGE))
        digest.update(page)
        left -= len(page)
    return digest.hexdigest()


def content_of(file: BinaryIO, member: Member) -> bytes:
    """A member's bytes: for small ones."""
    file.seek(member.at)
    return file.read(member.size)


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.USTAR_FORMAT)


def _member(header: bytes, at: int) -> Member:
    try:
        info = tarfile.TarInfo.frombuf(header, "ascii", "strict")
        plain = _header(info.name, info.size)
    except (tarfile.TarError, ValueError):
        raise _odd("a header") from None
    if plain != header or not _NAME.fullmatch(info.name):
        raise _odd("a header")
    return Member(info.name, at, info.size)


def _odd(what: str) -> ArchiveError:
    return ArchiveError("odd_member", f"the archive has {what} that we do not write")
