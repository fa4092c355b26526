"""The registry: which streams there are and how far each has come, signed, with the time.

What a checkpoint alone cannot show: that a whole stream is missing, that a schema file was
swapped, and how old the evidence is. It is signed anew at every checkpoint, also when no
receipt came, and lists the newest checkpoint of every stream::

    elicitation-receipts/registry/v1
    time 2026-11-30T21:00:00Z
    schema receipt_v1.avsc <SHA-256 of the file, hexadecimal>
    stream <stream id> <tenant> <first sequence> <last sequence> <root, base64>
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final, Self
from uuid import UUID

from elicitation_receipts.evidence.checkpoint import Checkpoint
from elicitation_receipts.evidence.note import base64_bytes, base64_text
from elicitation_receipts.evidence.text import (
    lines_of,
    malformed,
    moment,
    moment_text,
    number,
    uuid,
)
from elicitation_receipts.schemas.codec import schemas

KIND: Final = "elicitation-receipts/registry/v1"


@dataclass(frozen=True, slots=True)
class Entry:
    """A stream: its tenant, and the root over all its receipts up to ``last``."""

    stream_id: UUID
    tenant: str
    last: int
    root: bytes

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.stream_id, self.last + 1, self.root)


@dataclass(frozen=True, slots=True)
class Registry:
    """``schemas``: SHA-256 (hexadecimal) of each schema file; ``streams``: in order of opening."""

    time: datetime
    schemas: Mapping[str, str]
    streams: Mapping[UUID, Entry]

    @property
    def text(self) -> str:
        """The note's text."""
        lines = [KIND, f"time {moment_text(self.time)}"]
        lines += [f"schema {name} {digest}" for name, digest in self.schemas.items()]
        lines += [
            f"stream {each.stream_id} {each.tenant} 0 {each.last} {base64_text(each.root)}"
            for each in self.streams.values()
        ]
        return "\n".join(lines) + "\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises :class:`EvidenceError` (``note_malformed``)."""
        time, files, streams = None, dict[str, str](), dict[UUID, Entry]()
        try:
            for line in lines_of(text, KIND):
                match line:
                    case ["time", written]:
                        time = moment(written)
                    case ["schema", name, digest]:
                        files[name] = digest
                    case ["stream", stream, tenant, "0", last, root]:
                        entry = Entry(uuid(stream), tenant, number(last), base64_bytes(root, 32))
                        streams[entry.stream_id] = entry
        except ValueError:
            raise malformed(KIND) from None
        if time is None:
            raise malformed(KIND)
        registry = cls(time, files, streams)
        if registry.text != text:
            raise malformed(KIND)
        return registry


def installed_schemas() -> dict[str, str]:
    """The SHA-256 of every schema file of this installation, by file name."""
    return {
        schema_file(version): sha256(schema.text.encode()).hexdigest()
        for version, schema in schemas().items()
    }


def schema_file(version: int) -> str:
    """The name of a schema version's file."""
    return f"receipt_v{version}.avsc"
