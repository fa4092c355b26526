"""``receipts prove``: one receipt, and that it stands in its stream, in a file for anyone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from elicitation_receipts.acting import record_reading
from elicitation_receipts.evidence.history import nodes, seals_of
from elicitation_receipts.evidence.prove import Proof
from elicitation_receipts.evidence.store import read_folder
from elicitation_receipts.evidence_sources import Stored, stores_of
from elicitation_receipts.filters import REQUIRE_RECORD
from elicitation_receipts.home import Home
from elicitation_receipts.invocation import Invocation
from elicitation_receipts.schemas.errors import EvidenceError, ReportError, UsageError
from elicitation_receipts.schemas.vocabulary import Event
from elicitation_receipts.schemas.whole_file import whole_file

app = typer.Typer(add_completion=False)


@app.command()
def prove(
    context: typer.Context,
    receipt: Annotated[str, typer.Argument(help="The receipt's id.")],
    output: Annotated[
        Path | None, typer.Option(help="The file to write, such as receipt.tlog-proof.")
    ] = None,
    require_record: REQUIRE_RECORD = False,
) -> None:
    """Prove that a receipt stands in its stream under the newest checkpoint (C2SP tlog-proof).

    The file holds the receipt itself, the path to the signed root, and the checkpoint.
    `receipts verify` checks it, as any other program that knows the format.
    """
    invocation: Invocation = context.obj
    home = invocation.home(create=False)
    try:
        receipt_id = UUID(receipt)
    except ValueError:
        raise UsageError("receipt_invalid", "a receipt's id is a UUID") from None
    with stores_of(home) as stores:
        proof = _prove(home, stores, receipt_id)
    record_reading(invocation, Event.EXPORTED, "proof", 1, require=require_record)
    if output is None:
        sys.stdout.write(bytes(proof).decode())
        return
    try:
        with whole_file(output) as draft:
            draft.write_bytes(bytes(proof))
    except OSError as error:
        raise ReportError(
            "output_unwritable", f"cannot write {output} ({error.strerror}); check its folder"
        ) from error


def _prove(home: Home, stores: Sequence[Stored], receipt_id: UUID) -> Proof:
    for store in stores:
        place = store.find(receipt_id)
        if place is None:
            continue
        stream_id, sequence = place
        covering = [
            signed
            for signed in read_folder(home.evidence / "checkpoints" / str(stream_id)).checkpoints
            if signed.content.size > sequence
        ]
        if not covering:
            raise EvidenceError(
                "not_signed_yet", "no checkpoint covers this receipt; run `receipts checkpoint`"
            )
        newest = max(covering, key=lambda each: each.content.size)
        seals = seals_of(home.evidence, stream_id)
        try:
            return Proof.make(
                next(store.messages(stream_id, sequence)),
                sequence,
                newest.note,
                nodes(store, stream_id, seals),
            )
        except ValueError:
            raise EvidenceError(
                "stream_incomplete",
                f"stream {stream_id} lacks what its tree is made of; run `receipts verify`",
            ) from None
    raise EvidenceError("receipt_unknown", "no receipt of this home has this id")
