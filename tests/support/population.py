"""A population: people, clients and faults with known rates, and the receipts they leave.

What each report must say of it is counted in ``census``, one elicitation at a time, without SQL.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from lives import (
    AUTOMATIC,
    DAY,
    PERSON,
    POLICY,
    RUNTIME,
    SECOND,
    START,
    UNKNOWN,
    Step,
    ended,
    live,
    refused,
    requested,
    resumed,
)
from lives import answered as answer
from streams import ListSource, seal

from elicitation_receipts.consumers.landing import Lander, Warehouse
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.receipt import Finding, Keyed, Receipt
from elicitation_receipts.schemas.vocabulary import (
    DecidedBy,
    Decision,
    Event,
    FindingName,
    Keyword,
    Mode,
    Outcome,
    Presentation,
    Proof,
)

#: How forms end, and by whom, with the share of each.
FORM_ENDINGS: dict[tuple[Outcome, DecidedBy | None], float] = {
    (Outcome.ACCEPTED, PERSON): 0.56,
    (Outcome.DECLINED, PERSON): 0.1,
    (Outcome.CANCELLED, PERSON): 0.06,
    (Outcome.INVALID, PERSON): 0.04,
    (Outcome.ACCEPTED, AUTOMATIC): 0.05,
    (Outcome.CANCELLED, AUTOMATIC): 0.02,
    (Outcome.DECLINED, UNKNOWN): 0.01,
    (Outcome.MALFORMED, UNKNOWN): 0.01,
    (Outcome.UNSUPPORTED, RUNTIME): 0.03,
    (Outcome.ERRORED, RUNTIME): 0.02,
    (Outcome.BLOCKED, POLICY): 0.02,
    (Outcome.WITHDRAWN, RUNTIME): 0.02,
    (Outcome.EXPIRED, RUNTIME): 0.02,
    (Outcome.ABANDONED, RUNTIME): 0.03,
    (Outcome.OPEN, None): 0.01,
}
#: The same of URLs; a completed one has a person's consent before it.
URL_ENDINGS: dict[tuple[Outcome, DecidedBy | None], float] = {
    (Outcome.COMPLETED, PERSON): 0.7,
    (Outcome.DECLINED, PERSON): 0.15,
    (Outcome.UNPROVEN, PERSON): 0.1,
    (Outcome.CONSENTED, PERSON): 0.05,
}
IS_URL = 0.15
FAILS_FIRST = 0.12
HAS_FINDING = 0.1
SERVERS = ("files", "mail", "calendar")
CLIENTS = ("desk", "phone")
DAYS = 3
QUESTIONS = 40
SILENT = (
    Outcome.UNSUPPORTED,
    Outcome.ERRORED,
    Outcome.BLOCKED,
    Outcome.WITHDRAWN,
    Outcome.EXPIRED,
    Outcome.ABANDONED,
    Outcome.OPEN,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One elicitation, as the model made it up. Times are in microseconds."""

    number: int
    mode: Mode
    server: str
    client: str
    at: int
    session: str | None
    question: int
    outcome: Outcome
    by: DecidedBy | None
    failed_first: bool
    finding: bool
    origin: str | None
    proof: Proof | None
    version: str
    declared: tuple[Mode, ...]
    wait: int
    ceremony: int
    resume: int | None

    @property
    def day(self) -> int:
        return (self.at - START) // DAY

    @property
    def is_answered(self) -> bool:
        return self.outcome not in SILENT

    @property
    def digest(self) -> Keyed:
        return Keyed("0" * 12, hashlib.sha256(str(self.question).encode()).digest())

    def steps(self) -> Iterator[Step]:
        """What happens to it, in order."""
        found = FindingName.MISSING_DESCRIPTION
        put = {
            "question_digest": self.digest,
            "findings": (Finding(found, found.default_severity, found.gate),) * self.finding,
            "policy_id": "house",
            "policy_version": self.version,
            "policy_digest": self.version.encode().ljust(32),
            "decision": Decision.BLOCK if self.outcome is Outcome.BLOCKED else Decision.ALLOW,
        }
        yield requested(**put)
        if self.failed_first:
            failure = [("email", Keyword.FORMAT)]
            yield answer(Outcome.INVALID, PERSON, 3 * SECOND, failed=failure)
            yield requested(SECOND, **put)
        if self.outcome in (Outcome.EXPIRED, Outcome.ABANDONED):
            yield ended(self.outcome, self.wait)
        elif self.outcome in SILENT and self.by is not None:
            yield refused(self.outcome, self.by, self.wait)
        elif self.by is not None:
            failed = [("age", Keyword.MINIMUM)] if self.outcome is Outcome.INVALID else []
            consent = self.origin is not None and self.outcome is not Outcome.DECLINED
            said = Outcome.CONSENTED if consent else self.outcome
            yield answer(said, self.by, self.wait, failed=failed)
        if self.proof is not None:
            yield {
                "event": Event.COMPLETED,
                "outcome": Outcome.COMPLETED,
                "decided_by": RUNTIME,
                "proof": self.proof,
                "after": self.ceremony,
            }
        if self.outcome is Outcome.UNPROVEN:
            yield ended(Outcome.UNPROVEN, self.ceremony)
        if self.resume is not None:
            yield resumed(self.resume)

    def receipts(self, stream: UUID, sequence: int) -> list[Receipt]:
        presentation = Presentation.URL if self.mode is Mode.URL else Presentation.FORM
        origin: dict[str, Any] = {
            "mode": self.mode,
            "presentation": presentation,
            "server_name": self.server,
            "client_name": self.client,
            "url_origin": self.origin,
            "declared_modes": self.declared,
        }
        steps = self.steps()
        return live(stream, sequence, *steps, at=self.at, session=self.session, **origin)


def people(size: int, seed: int) -> list[Asked]:
    """So many elicitations, drawn at the rates above; the same for the same seed."""
    chance = random.Random(seed)
    return [_ask(number, chance, max(1, size // 5)) for number in range(size)]


def _ask(number: int, chance: random.Random, sessions: int) -> Asked:
    is_url = chance.random() < IS_URL
    shares = URL_ENDINGS if is_url else FORM_ENDINGS
    [(outcome, by)] = chance.choices(list(shares), list(shares.values()))
    completed = outcome is Outcome.COMPLETED
    goes_on = outcome not in (
        Outcome.OPEN,
        Outcome.ABANDONED,
        Outcome.CONSENTED,
        Outcome.UNPROVEN,
    )
    spoken = outcome in (Outcome.ACCEPTED, Outcome.DECLINED, Outcome.CANCELLED)
    fails = not is_url and spoken and by is PERSON and chance.random() < FAILS_FIRST
    day = chance.randrange(DAYS)
    return Asked(
        number=number,
        mode=Mode.URL if is_url else Mode.FORM,
        server=chance.choices(SERVERS, (6, 3, 1))[0],
        client=chance.choice(CLIENTS),
        # Each at a moment of its own, so that which came first is never a matter of taste.
        at=START + day * DAY + chance.randrange(80_000) * SECOND + number % SECOND,
        session=None if chance.random() < 0.05 else f"{day}-{chance.randrange(sessions)}",
        question=chance.randrange(QUESTIONS),
        outcome=outcome,
        by=by,
        failed_first=fails,
        finding=chance.random() < HAS_FINDING,
        origin=chance.choice(["https://pay.example", "https://id.example"]) if is_url else None,
        proof=chance.choice(list(Proof)) if completed else None,
        version=f"{day + 1}.0",
        declared=(Mode.FORM, Mode.URL) if chance.random() < 0.7 else (Mode.FORM,),
        wait=50_000 if by is AUTOMATIC else chance.randrange(1, 120) * SECOND,
        ceremony=chance.randrange(5, 300) * SECOND,
        resume=chance.randrange(1, 2000) * 1000 if goes_on else None,
    )


def land(asked: list[Asked], folder: Path, *, shuffled: int | None = None) -> Warehouse:
    """Through codec and lander into a warehouse of their own, a thousand a stream.

    ``shuffled``: the seed of another order; receipts then arrive late and out of order.
    """
    source = ListSource()
    messages = []
    for start in range(0, len(asked), 1000):
        stream = UUID(int=start + 1, version=4)
        receipts: list[Receipt] = []
        for one in asked[start : start + 1000]:
            receipts += one.receipts(stream, len(receipts))
        messages += seal(receipts)
    if shuffled is not None:
        random.Random(shuffled).shuffle(messages)
    source.add_sealed(*messages)
    warehouse = Warehouse(folder / "warehouse.duckdb")
    summary = Lander(warehouse, source, Key(b"k" * 32)).land()
    assert (summary.landed, summary.rejected) == (len(messages), 0)
    return warehouse
