"""A proxy in this process, its receipts in a spool of its own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

from conversation import KEYS
from policies import policy_with
from sample import PRODUCER, read_all
from yarl import URL

from elicitation_receipts.producers.http.proxy import Proxy
from elicitation_receipts.producers.http.watcher import HttpWatcher
from elicitation_receipts.producers.recover import orphans, recover
from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.seal import Sealer, WhenFull
from elicitation_receipts.producers.wire.scribe import Post
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event, Fidelity, Vantage


@contextlib.contextmanager
def watching(
    home: Path,
    *,
    vantage: Vantage = Vantage.HTTP,
    when_full: WhenFull = WhenFull.DROP,
    warnings: list[str] | None = None,
) -> Iterator[HttpWatcher]:
    """A watcher to whom no answer comes too soon."""
    policy = policy_with("thresholds", automatic_below_ms=0)
    with (
        Spool.open(home, durability="process", lock_timeout=0.1) as spool,
        Sealer(
            spool,
            "default",
            PRODUCER,
            policy=policy,
            vantage=vantage,
            when_full=when_full,
            block_timeout=0.2,
        ) as sealer,
    ):
        post = Post(policy, vantage, Fidelity.BYTES, PRODUCER.name, PRODUCER.version)
        redactor = Redactor("default", sealer.stream_id, KEYS)
        heard = warnings if warnings is not None else []

        def take_up() -> list[Receipt]:
            recover(spool, PRODUCER, policy)
            return orphans(spool, "default", vantage)

        with HttpWatcher(
            redactor, post, str(uuid4()), sealer, heard.append, take_up=take_up
        ) as watcher:
            yield watcher


@contextlib.asynccontextmanager
async def proxied(
    home: Path,
    upstream: str,
    *,
    when_full: WhenFull = WhenFull.DROP,
    said: list[str] | None = None,
    **options: object,
) -> AsyncIterator[int]:
    """A proxy before ``upstream``; gives its port."""
    heard = said if said is not None else []
    with watching(home, when_full=when_full, warnings=heard) as watcher:
        proxy = Proxy(URL(upstream), watcher, heard.append, **options)  # type: ignore[arg-type]
        async with proxy.listening("127.0.0.1", 0) as port:
            yield port


def receipts_in(home: Path) -> list[Receipt]:
    """What a home's spool holds, but for the events of the stream itself."""
    with Spool.open(home, create=False) as spool:
        return [
            receipt
            for receipt in read_all(spool)
            if receipt.event not in (Event.STREAM_OPENED, Event.POLICY_LOADED)
        ]
