"""Watchers with everything behind them: keys, spool and sealer of a home, as its settings say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from elicitation_receipts.home import Home
from elicitation_receipts.invocation import PRODUCER
from elicitation_receipts.keyring import open_keyring
from elicitation_receipts.policy_in_force import Renewal
from elicitation_receipts.producers.http.watcher import HttpWatcher
from elicitation_receipts.producers.record import Recorded
from elicitation_receipts.producers.recover import orphans, recover
from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.seal import Sealer, WhenFull
from elicitation_receipts.producers.watcher import Watcher
from elicitation_receipts.producers.wire.scribe import Post
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Fidelity, Vantage
from elicitation_receipts.settings import Settings


@contextmanager
def open_watcher(
    home: Home,
    settings: Settings,
    vantage: Vantage,
    fidelity: Fidelity,
    say: Callable[[str], None],
    recorded: Recorded | None = None,
) -> Iterator[Watcher]:
    """A watcher of one connection, to be closed by who uses it.

    ``say`` is told of a new policy that cannot be used, and of questions a policy warns of.

    Raises :class:`ReceiptsError` where it could not write at all.
    """
    with _open_parts(home, settings, vantage, fidelity, say) as it:
        yield Watcher(it.redactor, it.post, it.name, it.sealer, recorded, it.renewed, say)


@contextmanager
def open_http_watcher(
    home: Home,
    settings: Settings,
    vantage: Vantage,
    warn: Callable[[str], None],
    recorded: Recorded | None = None,
) -> Iterator[HttpWatcher]:
    """A watcher of all HTTP traffic with one server. ``warn``: see :class:`HttpWatcher`.

    Raises :class:`ReceiptsError` where it could not write at all.
    """
    with (
        _open_parts(home, settings, vantage, Fidelity.BYTES, warn) as it,
        HttpWatcher(
            it.redactor, it.post, it.name, it.sealer, warn, recorded, it.renewed, it.take_up
        ) as watcher,
    ):
        yield watcher


@dataclass(frozen=True, slots=True)
class _Parts:
    redactor: Redactor
    post: Post
    name: str
    sealer: Sealer
    renewed: Renewal
    take_up: Callable[[], list[Receipt]]


@contextmanager
def _open_parts(
    home: Home,
    settings: Settings,
    vantage: Vantage,
    fidelity: Fidelity,
    say: Callable[[str], None],
) -> Iterator[_Parts]:
    renewed = Renewal(home, settings, say)
    policy = renewed.policy
    keys = open_keyring(home, settings).tenant(settings.tenant)
    with Spool.open(home.path, durability=settings.durability) as spool:
        recover(spool, PRODUCER, policy)
        with Sealer(
            spool,
            settings.tenant,
            PRODUCER,
            policy=policy,
            vantage=vantage,
            when_full=WhenFull(settings.when_full) if settings.when_full else None,
            block_timeout=settings.block_timeout,
        ) as sealer:
            post = Post(
                policy=policy,
                vantage=vantage,
                fidelity=fidelity,
                producer_name=PRODUCER.name,
                producer_version=PRODUCER.version,
                environment=settings.environment,
                flow=settings.flow,
                stamps=settings.question_meta == "policy",
            )
            redactor = Redactor(settings.tenant, sealer.stream_id, keys)

            def take_up() -> list[Receipt]:
                recover(spool, PRODUCER, renewed.policy)
                return orphans(spool, settings.tenant, vantage)

            yield _Parts(redactor, post, str(uuid4()), sealer, renewed, take_up)
