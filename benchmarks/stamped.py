"""As many receipts as a benchmark wants: real ones, over and over, each with ids of its own.

To have the core make ten million would take hours. Here some thousand of its messages are
templates: a copy gets a receipt's id, its place and link in a stream, and an elicitation's id.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

from lives import receipts

from elicitation_receipts.consumers.source import Positions, Record
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.codec import encode
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.receipt import ZERO_HASH, Receipt

#: In a message: behind the header; behind the receipt's and the stream's id stands the sequence.
_ID, _SEQUENCE, _UUID, _HASH = 10, 42, 16, 32


def templates(folder: Path, count: int = 3_000) -> list[Receipt]:
    """Receipts of a few hundred questions, whole lives."""
    home = folder / "templates"
    home.mkdir(mode=0o700, exist_ok=True)
    keys = Keyring.open(home / "keys").tenant("default")
    return list(itertools.islice(receipts(UUID(int=0), keys), count))


def stamped(kinds: list[Receipt], stream_id: UUID) -> Iterator[bytes]:
    """The messages of a stream without end."""
    tails = []
    for kind in kinds:
        message = encode(kind)
        elicitation = kind.elicitation_id.bytes if kind.elicitation_id else None
        before, found, behind = message[_SEQUENCE + 1 + _HASH :].partition(elicitation or message)
        tails.append((message[:_ID], before, elicitation if found else None, behind))
    previous, numbers = ZERO_HASH, itertools.count()
    while True:
        fresh: dict[bytes, bytes] = {}
        for head, before, elicitation, behind in tails:
            if elicitation is not None:
                before += fresh.setdefault(elicitation, uuid4().bytes)
            place = stream_id.bytes + _number(next(numbers)) + previous
            message = head + os.urandom(_UUID) + place + before + behind
            previous = leaf_hash(message)
            yield message


def _number(value: int) -> bytes:
    """A number as Avro writes it."""
    rest, out = value << 1, bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


class StampedSource:
    """A source of so many receipts of one stream, made as they are fetched."""

    topic = group = None

    def __init__(self, kinds: list[Receipt], count: int) -> None:
        stream_id = uuid4()
        self.name = f"stamped:{stream_id}"
        self.count = count
        self._key = str(stream_id).encode()
        self._messages = stamped(kinds, stream_id)
        self._made = 0

    def fetch(self, positions: Positions, limit: int, timeout: float) -> list[Record]:
        at = positions.get(0, 0)
        assert at == self._made  # nobody but one lander reads it
        self._made = min(self.count, at + limit)
        messages = itertools.islice(self._messages, self._made - at)
        return [Record(0, at + number, self._key, one) for number, one in enumerate(messages)]

    def commit(self, positions: Positions) -> None:
        pass

    def lag(self, positions: Positions) -> int:
        return self.count - positions.get(0, 0)
