"""``receipts bundle``: receipts and all that is needed to verify them, in one archive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from elicitation_receipts.acting import record_reading
from elicitation_receipts.checkpointing import Checkpointing
from elicitation_receipts.evidence.bundle import Part, write_bundle
from elicitation_receipts.evidence.history import seals_of, tree_of
from elicitation_receipts.evidence.registry import Registry
from elicitation_receipts.evidence.signing import SigningKeys
from elicitation_receipts.evidence_sources import Stored, stores_of
from elicitation_receipts.filters import REQUIRE_RECORD
from elicitation_receipts.home import Home
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.moment import read_moment
from elicitation_receipts.producers.policy.kept import read_kept
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.vocabulary import Event

app = typer.Typer(add_completion=False)


@app.command()
def bundle(
    context: typer.Context,
    output: Annotated[Path, typer.Option(help="The archive to write, whole or not at all.")],
    since: Annotated[
        str | None, typer.Option(help="Receipts from this time on.", metavar="TIME")
    ] = None,
    stream: Annotated[list[str] | None, typer.Option(help="Only this stream.")] = None,
    require_record: REQUIRE_RECORD = False,
) -> None:
    """Bundle receipts with checkpoints, schemas, policies, keys, and a verifier without us.

    Signs a checkpoint first, where the newest does not cover all of it or is older than
    `checkpoint_every`. With --since a stream begins in its middle; the tree before it comes
    along, the receipts do not.
    """
    invocation: Invocation = context.obj
    settings = invocation.load_settings().settings
    home = invocation.home(create=False)
    now = datetime.now(UTC)
    signed = Checkpointing(home, settings).sign_unless_fresh(now, stream or ())
    wanted = _wanted(signed.registry, stream)
    time = None if since is None else read_moment("since", since)
    with stores_of(home) as stores:
        parts = list(_parts(home, stores, signed.registry, wanted, time))
        receipts = sum(part.last + 1 - part.before.size for part in parts)
        record_reading(invocation, Event.EXPORTED, "bundle", receipts, require=require_record)
        not_kept = write_bundle(
            output,
            parts,
            dict(_evidence(home, signed.files, parts)),
            partial(read_kept, home.policies),
            SigningKeys.open(home.signing_keys),
            now,
        )
    typer.echo(f"bundled {receipts} receipts of {len(parts)} streams in {output}")
    for digest in not_kept:
        typer.echo(f"note: receipts name the policy {digest}, which was not kept", err=True)


def _wanted(registry: Registry, given: Sequence[str] | None) -> list[UUID]:
    if not given:
        return list(registry.streams)
    wanted = []
    for text in given:
        known = [each for each in registry.streams if str(each) == text]
        if not known:
            raise UsageError("stream_unknown", "--stream names none of the signed streams")
        wanted += known
    return wanted


def _parts(
    home: Home,
    stores: Sequence[Stored],
    registry: Registry,
    wanted: Sequence[UUID],
    since: datetime | None,
) -> Iterator[Part]:
    """Each stream from ``since`` on, up to where it is signed; those without such a receipt not."""
    held = {each.stream_id: store for store in reversed(stores) for each in store.extents()}
    for stream_id in wanted:
        if stream_id not in held:
            continue
        store, last = held[stream_id], registry.streams[stream_id].last
        first = 0
        if since is not None:
            first = store.first_since(stream_id, round(since.timestamp() * 1_000_000))
        if first <= last:
            before = tree_of(store, stream_id, seals_of(home.evidence, stream_id), first)
            yield Part(
                stream_id, before, last, _messages(home, store, stream_id, before.size, last)
            )


def _messages(home: Home, store: Stored, stream_id: UUID, first: int, last: int) -> Iterator[bytes]:
    """The messages that are there, over what was dropped with a seal."""
    at = first
    sealed = {each.first: each.last for each in seals_of(home.evidence, stream_id)}
    while at <= last:
        for message in islice(store.messages(stream_id, at), last + 1 - at):
            yield message
            at += 1
        if at not in sealed:
            return
        at = sealed[at] + 1


def _evidence(
    home: Home, signed: Mapping[str, bytes], parts: Sequence[Part]
) -> Iterator[tuple[str, bytes]]:
    """The notes about the parts: registry and keys, then the checkpoints and seals of each."""
    for name, content in signed.items():
        if not name.startswith("checkpoints/"):
            yield name, content
    for part in parts:
        for pattern in (f"checkpoints/{part.stream_id}/*.note", f"seals/{part.stream_id}/*.note"):
            for path in sorted(home.evidence.glob(pattern)):
                # A root over less than what comes before the part cannot be told from it; one
                # over more has been signed just now, by another.
                if part.before.size <= int(path.stem[:12]) <= part.last + 1:
                    yield str(path.relative_to(home.evidence)), path.read_bytes()
