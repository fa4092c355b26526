"""Whether a Parquet file is whole: no byte of it belongs to nothing, and none is missing."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Final

import duckdb

from elicitation_receipts.evidence.archive import ArchiveError

#: What a file begins and ends with (Apache Parquet, "File format").
MAGIC: Final = b"PAR1"
#: Before the magic at the end: how long the footer before it is.
_LENGTH: Final = Struct("<I")
_TAIL: Final = _LENGTH.size + len(MAGIC)
#: What else than column chunks the footer says is there, each if it is: columns of its metadata.
_BESIDE: Final = ("bloom_filter", "column_index", "offset_index")


def check_whole(database: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raises :class:`ArchiveError`: ``cut_off``, ``trailing_bytes``; and what DuckDB and files do.

    Only the footer, at the end, says what is read: bytes between it and what it names can hide.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        footer = _footer(content, len(content))
        if footer is None:
            if _ends_earlier(content):
                raise ArchiveError("trailing_bytes", "there are bytes behind the Parquet file")
            raise _cut_off()
    at = len(MAGIC)
    for start, size in sorted(_parts(database, path)):
        if start != at:
            break
        at += size
    if at > footer:
        raise _cut_off()
    if at != footer:
        raise ArchiveError("trailing_bytes", "the Parquet file has bytes that belong to no column")


def _cut_off() -> ArchiveError:
    return ArchiveError("cut_off", "the Parquet file lacks bytes that it had; get it again")


def _footer(content: mmap.mmap, end: int) -> int | None:
    """Where the footer of a file that ends at ``end`` begins; None: there is none."""
    if end < len(MAGIC) + _TAIL or content[end - len(MAGIC) : end] != MAGIC:
        return None
    [size] = _LENGTH.unpack_from(content, end - _TAIL)
    begins = end - _TAIL - int(size)
    return begins if begins >= len(MAGIC) else None


def _ends_earlier(content: mmap.mmap) -> bool:
    at = len(content)
    while (at := content.rfind(MAGIC, len(MAGIC), at)) > 0:
        if _footer(content, at + len(MAGIC)) is not None:
            return True
    return False


def _parts(database: duckdb.DuckDBPyConnection, path: Path) -> Iterator[tuple[int, int]]:
    """Start and size of all that the footer names."""
    found = database.execute("SELECT * FROM parquet_metadata(?)", [str(path)])
    names = [column[0] for column in found.description or ()]
    for row in found.fetchall():
        chunk = dict(zip(names, row, strict=True))
        pages = chunk["dictionary_page_offset"], chunk["data_page_offset"]
        yield min(page for page in pages if page), chunk["total_compressed_size"]
        for name in _BESIDE:
            if chunk.get(f"{name}_offset") and chunk.get(f"{name}_length"):
                yield chunk[f"{name}_offset"], chunk[f"{name}_length"]
