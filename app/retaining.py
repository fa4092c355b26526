"""Retaining: seals what a home holds day by day; drops what is old enough, whole and on record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from uuid import UUID

from elicitation_receipts.acting import all_acts
from elicitation_receipts.checkpointing import Checkpointing
from elicitation_receipts.consumers.rewrite import DroppedSegment, drop_segments
from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.evidence.ages import Ages
from elicitation_receipts.evidence.holds import standing_holds
from elicitation_receipts.evidence.note import SignatureFault
from elicitation_receipts.evidence.seal import Seal
from elicitation_receipts.evidence.segments import Store, is_what_was_sealed, root_of, seal_days
from elicitation_receipts.evidence.signing import SigningKeys
from elicitation_receipts.evidence.store import read_folder, seal_file, write_folder
from elicitation_receipts.home import Home
from elicitation_receipts.retention_stores import SpoolStore, WarehouseStore
from elicitation_receipts.schemas.errors import EvidenceError
from elicitation_receipts.schemas.identifiers import OPERATORS
from elicitation_receipts.schemas.operators import Operators
from elicitation_receipts.schemas.vocabulary import Event
from elicitation_receipts.settings import Settings

#: Below the folder of evidence: which segments are being dropped, while they are.
_INTENT = "dropping.json"


class State(StrEnum):
    """Why a sealed segment stays, or that it does not."""

    KEPT = "kept"  # not old enough
    DUE = "due"  # goes when retention is applied
    HELD = "held"  # old enough, but its tenant is under a hold
    OPEN = "open"  # … but a question in it has no end yet
    WAITING = "waiting"  # … but not landed or shipped yet
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Segment:
    """A sealed segment. ``expires_at``: UTC microseconds; None: never, or it is gone."""

    seal: Seal
    tenant: str
    state: State
    expires_at: int | None


class Retention:
    """Retention of one home. Every method raises :class:`ReceiptsError`.

    The operators' stream is never sealed nor dropped: it says what became of the others.
    """

    def __init__(
        self,
        home: Home,
        settings: Settings,
        operators: Operators,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """``progress`` is told how many segments were looked at, and how many remain."""
        self._home = home
        self._settings = settings
        self._operators = operators
        self._progress = progress
        self._ages = Ages.parse(settings.retention or "")
        self._keys = SigningKeys.open(home.signing_keys, create=True)

    def seal(self, now: datetime) -> list[Seal]:
        """Seal every day that is over, of every stream, and sign a checkpoint over it."""
        today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        until = int(today.timestamp()) * 1_000_000
        made: list[Seal] = []
        sealed = {stream_id: list(seals) for stream_id, seals in self._seals()}
        with self._stores() as stores:
            for stream_id, tenant in self._tenants(stores).items():
                if tenant == OPERATORS:
                    continue
                before = sealed[stream_id][-1] if stream_id in sealed else None
                first = before.last + 1 if before else 0
                for store in stores:
                    new = list(
                        seal_days(stream_id, before, store.receipts(stream_id, first), until, now)
                    )
                    if new:  # both hold the same; one of them may have been trimmed
                        self._write(new)
                        made += new
                        break
            self._record(Event.SEGMENT_SEALED, [*self._all_seals()], self._tenants(stores))
        if made:
            Checkpointing(self._home, self._settings).sign(now)
        return made

    def segments(self, now: datetime) -> list[Segment]:
        """Every sealed segment and why it stays."""
        with self._stores() as stores:
            tenants = self._tenants(stores)
            seals = list(self._all_seals())
            found = []
            for seal in seals:
                found.append(self._look(seal, tenants[seal.stream_id], stores, now))
                if self._progress is not None:
                    self._progress(len(found), len(seals) - len(found))
            return found

    def apply(self, now: datetime) -> list[Seal]:
        """Drop every segment that is due; returns their seals.

        One that is not what was sealed stops it before anything is dropped: `segment_altered`.
        """
        interrupted = self._interrupted(now)
        due = [one.seal for one in self.segments(now) if one.state is State.DUE]
        doomed = {(seal.stream_id, seal.first): seal for seal in [*interrupted, *due]}
        if not doomed:
            self._forget_intent()
            return []
        self._check(due)
        # What a seal says of the tree is only worth something under a signed root.
        Checkpointing(self._home, self._settings).sign(now)
        intent = [[str(stream_id), first] for stream_id, first in doomed]
        write_folder(self._home.evidence, {_INTENT: json.dumps(intent).encode()})
        self._drop(list(doomed.values()))
        self._forget_intent()
        return list(doomed.values())

    # Inside

    @contextmanager
    def _stores(self) -> Iterator[list[Store]]:
        spool = SpoolStore(self._operators.spool)
        if not self._home.warehouse.exists():
            yield [spool]
            return
        with Warehouse(self._home.warehouse).read() as database:
            yield [spool, WarehouseStore(database)]

    def _tenants(self, stores: Sequence[Store]) -> dict[UUID, str]:
        evidence = read_folder(self._home.evidence)
        found = {
            stream_id: entry.tenant
            for registry in evidence.registries
            for stream_id, entry in registry.content.streams.items()
        }
        for store in stores:
            found |= store.tenants()
        return found

    def _seals(self) -> Iterator[tuple[UUID, Iterator[Seal]]]:
        """The seals of each stream, in order. Raises ``seal_not_ours``."""
        found = read_folder(self._home.evidence).seals
        known = self._keys.public()
        for one in found:
            try:
                one.note.signer(known)
            except SignatureFault:
                raise EvidenceError(
                    "seal_not_ours",
                    f"{one.name} was not signed by this home's keys, or is damaged: "
                    "put back what was there; nothing was done",
                ) from None
        seals = sorted((one.content for one in found), key=lambda one: (one.stream_id, one.first))
        yield from groupby(seals, key=lambda one: one.stream_id)

    def _all_seals(self) -> Iterator[Seal]:
        for _, seals in self._seals():
            yield from seals

    def _write(self, seals: Sequence[Seal]) -> None:
        notes = {seal_file(seal): bytes(self._keys.sign(seal.text)) for seal in seals}
        write_folder(self._home.evidence, notes)

    @cached_property
    def _held(self) -> frozenset[str]:
        return frozenset(
            hold.target for hold in standing_holds(all_acts(self._operators, self._home))
        )

    @cached_property
    def _open(self) -> frozenset[tuple[UUID, int]]:
        questions = self._operators.spool.open_questions()
        return frozenset((one.receipt.stream_id, one.receipt.sequence) for one in questions)

    def _look(self, seal: Seal, tenant: str, stores: Sequence[Store], now: datetime) -> Segment:
        extents = [store.extent(seal) for store in stores]
        there = [extent for extent in extents if extent.count]
        if not there:
            return Segment(seal, tenant, State.DROPPED, None)
        ends = [extent.expires_at(self._ages) for extent in there]
        expires_at = None if None in ends else max(end for end in ends if end is not None)
        if expires_at is None or expires_at > int(now.timestamp() * 1_000_000):
            state = State.KEPT
        elif self._operators.target(tenant) in self._held:
            state = State.HELD
        elif any(
            stream_id == seal.stream_id and seal.first <= sequence <= seal.last
            for stream_id, sequence in self._open
        ):
            state = State.OPEN
        else:
            landed = any(one.count == seal.count or one.was_dropped for one in extents[1:])
            state = State.WAITING if self._waits(seal, landed=landed) else State.DUE
        return Segment(seal, tenant, state, expires_at)

    def _waits(self, seal: Seal, *, landed: bool) -> bool:
        """Whether the spool's receipts of a segment have still to go somewhere."""
        for stream in self._operators.spool.streams():
            if stream.stream_id == seal.stream_id and stream.shipped_next <= seal.last:
                return self._settings.kafka is not None or not landed
        return False

    def _check(self, seals: Sequence[Seal]) -> None:
        with self._stores() as stores:
            for seal in seals:
                for store in stores:
                    if store.extent(seal).count and not is_what_was_sealed(store, seal):
                        raise EvidenceError(
                            "segment_altered",
                            f"stream {seal.stream_id}, sequences {seal.first} to {seal.last} are "
                            "not what was sealed: `receipts verify` says more; nothing was dropped",
                        )

    def _interrupted(self, now: datetime) -> list[Seal]:
        """The segments that were being dropped when somebody was killed, and may still go."""
        try:
            intent = json.loads((self._home.evidence / _INTENT).read_bytes())
        except FileNotFoundError:
            return []
        wanted = {(UUID(stream_id), first) for stream_id, first in intent}
        return [
            one.seal
            for one in self.segments(now)
            if (one.seal.stream_id, one.seal.first) in wanted
            and one.state in (State.DUE, State.DROPPED)
        ]

    def _drop(self, seals: Sequence[Seal]) -> None:
        with self._stores() as stores:
            tenants = self._tenants(stores)
            in_warehouse = any(store.extent(seal).count for store in stores[1:] for seal in seals)
        if in_warehouse:
            segments = [
                DroppedSegment(one.stream_id, one.first, one.last, one.last_leaf) for one in seals
            ]
            drop_segments(Warehouse(self._home.warehouse), segments)
        for seal in seals:
            self._operators.spool.drop_segment(seal.stream_id, seal.first, seal.last)
        self._record(Event.SEGMENT_DROPPED, seals, tenants)

    def _record(self, event: Event, seals: Sequence[Seal], tenants: dict[UUID, str]) -> None:
        """Record an act for each seal that has none yet: a crash may have come between."""
        acts = (one.act for one in self._operators.acts() if one.event is event)
        recorded = {(act.first_sequence, act.last_sequence, act.root) for act in acts if act}
        for seal in seals:
            place = (seal.first, seal.last, root_of(seal))
            if place not in recorded:
                self._operators.record(
                    event,
                    tenants[seal.stream_id],
                    seal.count,
                    first_sequence=seal.first,
                    last_sequence=seal.last,
                    root=root_of(seal),
                )

    def _forget_intent(self) -> None:
        (self._home.evidence / _INTENT).unlink(missing_ok=True)
