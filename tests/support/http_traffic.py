"""HTTP traffic with one server, played to the watcher's pure core."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from typing import Any
from uuid import UUID

from conversation import KEYS, told

from elicitation_receipts.producers.policy import BUILT_IN
from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.wire.exchange import Exchange, Exchanges
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.scribe import Post
from elicitation_receipts.schemas import codec
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Fidelity, Outcome, Vantage


class Traffic:
    """HTTP traffic with one server, watched. A second passes with each thing that happens."""

    def __init__(self) -> None:
        self.receipts: list[Receipt] = []
        self._seconds = 0
        self._numbers = count(1)
        self.restart()

    def restart(self) -> None:
        """A new watcher takes the place of the one before, which is gone without a word."""
        redactor = Redactor(
            "default", UUID(int=1), KEYS, lambda size: next(self._numbers).to_bytes(size, "big")
        )
        post = Post(BUILT_IN, Vantage.HTTP, Fidelity.BYTES, "tests", "0.1.0")
        self.exchanges = Exchanges(redactor, post, f"watcher {next(self._numbers)}")
        self.exchanges.offer(self._open_questions())

    def _open_questions(self) -> list[Receipt]:
        """As the spool keeps them: each as its newest receipt, with its newest outcome."""
        found: dict[UUID, Receipt] = {}
        for receipt in self.receipts:
            if receipt.elicitation_id is not None:
                before = found.get(receipt.elicitation_id, receipt)
                outcome = receipt.outcome or before.outcome
                found[receipt.elicitation_id] = replace(receipt, outcome=outcome)
        running = (Outcome.OPEN, Outcome.CONSENTED)
        return [receipt for receipt in found.values() if receipt.outcome in running]

    def now(self, later: int = 1) -> Moment:
        self._seconds += later
        return Moment(self._seconds * 1_000_000, self._seconds * 1_000_000)

    def open(
        self,
        message: Any = None,
        session: str | None = "one",
        principal: str | None = None,
        method: str = "POST",
        **headers: str,
    ) -> Exchange:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        if session is not None:
            fields["mcp-session-id"] = session
        exchange = self.exchanges.open(method, fields, principal)
        if message is not None:
            self.keep(exchange.on_request(json.dumps(message).encode(), self.now()))
        return exchange

    def status(self, exchange: Exchange, status: int = 200, **headers: str) -> None:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        self.keep(exchange.on_status(status, fields, self.now()))

    def say(self, exchange: Exchange, *messages: Any, id: str | None = None) -> None:  # noqa: A002
        for message in messages:
            self.keep(exchange.on_frame(json.dumps(message).encode(), self.now(), id))

    def end(self, exchange: Exchange) -> None:
        self.keep(exchange.on_end(self.now()))

    def post(self, message: Any, status: int = 202, **where: Any) -> None:
        exchange = self.open(message, **where)
        self.status(exchange, status)
        self.end(exchange)

    def pass_time(self, seconds: int) -> None:
        self.keep(self.exchanges.on_tick(self.now(seconds)))

    def keep(self, receipts: list[Receipt]) -> None:
        for receipt in receipts:
            assert codec.decode(codec.encode(receipt)) == receipt
        self.receipts += receipts

    @property
    def story(self) -> list[str]:
        return told(self.receipts)
