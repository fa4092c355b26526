"""What happens, as OpenTelemetry metrics: counted from receipts, so never with content.

Recorded through the OpenTelemetry API alone; nothing leaves the process unless its user
sets up an SDK. Every attribute comes from a closed vocabulary.

==================================== ========= ========== ==========================================
instrument                           kind      unit       attributes
==================================== ========= ========== ==========================================
elicitation_receipts.questions       counter   {question} mode, carrier
elicitation_receipts.outcomes        counter   {receipt}  event, outcome, decided_by, mode, carrier
elicitation_receipts.human_wait      histogram s          decided_by, mode, carrier
elicitation_receipts.time_to_resume  histogram s          mode, carrier
elicitation_receipts.spooled         counter   {receipt}
elicitation_receipts.shipped         counter   {receipt}
elicitation_receipts.landed          counter   {receipt}  event
elicitation_receipts.rejected        counter   {receipt}  reason
elicitation_receipts.lag             gauge     {receipt}
==================================== ========= ========== ==========================================

* questions: every ``requested``, each round anew. A policy that blocks one lets it be
  counted here and as the outcome ``blocked``.
* outcomes: every receipt that gives a question another state than open; its answers are
  those with event ``answered``.
* human_wait: from a question to each answer of its round. time_to_resume: from an
  elicitation's first question to ``resumed``, where somebody answered.
* lag: records of the source that have not landed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final
from uuid import UUID

from opentelemetry.metrics import MeterProvider, get_meter

from elicitation_receipts.consumers.decode.decoded import Sighting
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Event, Outcome

METER_NAME: Final = "elicitation_receipts"

#: So many elicitations are followed at once; of one older than these no wait is recorded.
FOLLOWED: Final = 10_000

#: From what no person can do to a day, in seconds.
_WAITS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14400, 86400)
_MICROS: Final = 1_000_000


@dataclass(slots=True)
class _Life:
    """An elicitation so far: microseconds since its first question, and up to its last one."""

    now_us: int = 0
    asked_us: int = 0
    answered: bool = False


class Metrics:
    """The instruments. ``provider``: whose meter; by default the one set up for the process."""

    def __init__(self, provider: MeterProvider | None = None) -> None:
        meter = get_meter(METER_NAME, version("elicitation-receipts"), provider)
        self._questions = meter.create_counter(
            "elicitation_receipts.questions", "{question}", "Questions put, each round anew"
        )
        self._outcomes = meter.create_counter(
            "elicitation_receipts.outcomes", "{receipt}", "Answers and other ends of questions"
        )
        self._human_wait = meter.create_histogram(
            "elicitation_receipts.human_wait",
            "s",
            "From a question to its answer",
            explicit_bucket_boundaries_advisory=_WAITS,
        )
        self._time_to_resume = meter.create_histogram(
            "elicitation_receipts.time_to_resume",
            "s",
            "From the first question to the operation going on",
            explicit_bucket_boundaries_advisory=_WAITS,
        )
        self._spooled = meter.create_counter(
            "elicitation_receipts.spooled", "{receipt}", "Receipts sealed into the spool"
        )
        self._shipped = meter.create_counter(
            "elicitation_receipts.shipped", "{receipt}", "Receipts the broker acknowledged"
        )
        self._landed = meter.create_counter(
            "elicitation_receipts.landed", "{receipt}", "Receipts landed in the warehouse"
        )
        self._rejected = meter.create_counter(
            "elicitation_receipts.rejected", "{receipt}", "Messages that could not land"
        )
        self._lag = meter.create_gauge(
            "elicitation_receipts.lag", "{receipt}", "Records of the source that have not landed"
        )
        self._lives: OrderedDict[UUID, _Life] = OrderedDict()

    def observe(self, receipt: Receipt | Sighting) -> None:
        """Count what a receipt says. Those of one elicitation must come in their order."""
        if receipt.elicitation_id is None:
            return
        question = _present(mode=receipt.mode, carrier=receipt.carrier)
        decided_by = _present(decided_by=receipt.decided_by)
        if receipt.event is Event.REQUESTED:
            self._questions.add(1, question)
        if receipt.outcome not in (None, Outcome.OPEN):
            self._outcomes.add(
                1, question | decided_by | _present(event=receipt.event, outcome=receipt.outcome)
            )
        life = self._follow(receipt, receipt.elicitation_id)
        if life is None:
            return
        if receipt.event is Event.REQUESTED:
            life.asked_us = life.now_us
        elif receipt.event is Event.ANSWERED:
            life.answered = True
            waited = (life.now_us - life.asked_us) / _MICROS
            self._human_wait.record(waited, question | decided_by)
        elif receipt.event is Event.RESUMED and life.answered:
            self._time_to_resume.record(life.now_us / _MICROS, question)

    def sealed(self, receipts: Sequence[Receipt]) -> None:
        """These receipts were sealed into the spool: counted, and observed."""
        self._spooled.add(len(receipts))
        for receipt in receipts:
            self.observe(receipt)

    def shipped(self, count: int) -> None:
        """So many receipts were acknowledged by the broker."""
        self._shipped.add(count)

    def landed(self, receipt: Receipt | Sighting) -> None:
        """A receipt landed for the first time."""
        self._landed.add(1, {"event": receipt.event.value})
        self.observe(receipt)

    def rejected(self, reason: str) -> None:
        """A message was rejected, for the reason its row in ``rejects`` has."""
        self._rejected.add(1, {"reason": reason})

    def lag(self, count: int) -> None:
        """So many records of the source have not landed."""
        self._lag.set(count)

    def _follow(self, receipt: Receipt | Sighting, elicitation_id: UUID) -> _Life | None:
        """The life this receipt belongs to, brought up to it; None where its start is unknown."""
        if receipt.since_previous_us is None:
            # Only a first question has none before it; without one no wait can be told.
            self._lives.pop(elicitation_id, None)
            if receipt.event is not Event.REQUESTED:
                return None
            life = self._lives[elicitation_id] = _Life()
            if len(self._lives) > FOLLOWED:
                self._lives.popitem(last=False)
            return life
        life_so_far = self._lives.get(elicitation_id)
        if life_so_far is not None:
            life_so_far.now_us += receipt.since_previous_us
            self._lives.move_to_end(elicitation_id)
            if receipt.event is Event.RESUMED:
                del self._lives[elicitation_id]
        return life_so_far


def _present(**words: str | None) -> dict[str, str]:
    """The words that are there, as plain attribute values."""
    return {name: str(word) for name, word in words.items() if word is not None}
