"""Where a verifier reads receipts: a `Source` of messages, stream by stream in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from elicitation_receipts.evidence.walk import Fault


class Item(NamedTuple):
    """A message where it lies.

    ``stream`` (16 bytes) and ``sequence``: the place the source gives it. ``message`` None:
    what stands there is no receipt at all, ``fault`` says why. ``leaf``: the leaf hash the
    source keeps beside it, if it does. ``walked``: the message was just made from a row,
    and so has its one encoding.
    """

    stream: bytes
    sequence: int
    message: bytes | None
    leaf: bytes | None = None
    fault: Fault | None = None
    walked: bool = False


class Run(NamedTuple):
    """Receipts of a stream, one behind the other, that were found to hold together.

    Each is where it says, has the leaf hash its source keeps beside it, and names the one before
    it. ``first``: the sequence of the first; ``previous``: the hash that one names.
    """

    stream: bytes
    first: int
    previous: bytes
    leaves: Sequence[bytes]


class Source(Protocol):
    """Receipts to verify. The streams may be mixed; each is in its own order."""

    @property
    def name(self) -> str:
        """What it is, for people."""

    @property
    def count(self) -> int | None:
        """How many items there are, if it is known."""

    def items(self) -> Iterator[Item | Run]:
        """Every receipt, once, from the start. Raises :class:`ReceiptsError`."""
