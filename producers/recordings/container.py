"""Receipts in a file for any Avro tool: an Avro Object Container File.

It holds each receipt's datum. The sealed message is the datum behind the marker C3 01 and
the schema's fingerprint.

Source: Avro 1.12 specification, "Object Container Files".
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from elicitation_receipts.schemas.binary import compile_writer
from elicitation_receipts.schemas.codec import installed
from elicitation_receipts.schemas.errors import ReceiptsError
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.sealing import seal
from elicitation_receipts.schemas.whole_file import whole_file

_MAGIC: Final = b"Obj\x01"
#: Marker and fingerprint, which stand before the datum in a message.
_HEADER_SIZE: Final = 10

_write_long: Final = compile_writer("long")
_write_string: Final = compile_writer({"type": "string"})


class ContainerError(ReceiptsError):
    """A container cannot be written."""


def write_container(path: Path, streams: Iterable[Iterable[Receipt]], sync_marker: bytes) -> None:
    """Write whole streams, each sealed from 0 on. The file is there whole or not at all.

    ``sync_marker``: 16 bytes, which end a block. Raises :class:`ContainerError`
    (``output_unwritable``) and :class:`CodecError`.
    """
    try:
        with whole_file(path) as place, place.open("wb") as file:
            file.write(_header(sync_marker))
            file.writelines(_block(receipts, sync_marker) for receipts in streams)
    except OSError as error:
        raise ContainerError(
            "output_unwritable", f"cannot write {path} ({error.strerror}); check its folder"
        ) from error


def _header(sync_marker: bytes) -> bytes:
    header = bytearray(_MAGIC)
    # A map of bytes, which are written as strings are.
    _write_long(2, header)
    for text in ("avro.codec", "null", "avro.schema", installed().newest.text):
        _write_string(text, header)
    _write_long(0, header)
    return bytes(header + sync_marker)


def _block(receipts: Iterable[Receipt], sync_marker: bytes) -> bytes:
    data = [message[_HEADER_SIZE:] for message in seal(receipts)]
    block = bytearray()
    _write_long(len(data), block)
    _write_long(sum(map(len, data)), block)
    return bytes(block) + b"".join(data) + sync_marker
