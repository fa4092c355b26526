"""Decoding a batch on each rung, beside fastavro record by record, which checks next to nothing."""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import fastavro
from stamped import stamped, templates

from elicitation_receipts.consumers.decode import Decode
from elicitation_receipts.consumers.decode.columnar import decode_columns
from elicitation_receipts.consumers.decode.generated import decode_by_generated
from elicitation_receipts.consumers.decode.reference import decode_by_reference
from elicitation_receipts.consumers.landing import BATCH
from elicitation_receipts.consumers.source import Record
from elicitation_receipts.schemas.codec import installed

_HEADER = 10  # marker and fingerprint


def cases(folder: Path) -> dict[str, tuple[str, Callable[[], float]]]:
    """Records a second, of one batch."""
    stream_id = uuid4()
    messages = list(itertools.islice(stamped(templates(folder), stream_id), BATCH))
    key = str(stream_id).encode()
    records = [Record(0, place, key, message) for place, message in enumerate(messages)]
    schema = installed().newest.parsed

    def by_fastavro() -> float:
        started = time.perf_counter()
        for message in messages:
            body = io.BytesIO(message)
            body.seek(_HEADER)
            fastavro.schemaless_reader(body, schema)
        return BATCH / (time.perf_counter() - started)

    def by(rung: Decode) -> Callable[[], float]:
        def case() -> float:
            started = time.perf_counter()
            decoded = rung(records)
            taken = time.perf_counter() - started
            assert len(decoded.records) == BATCH
            return BATCH / taken

        return case

    return {
        "decode_fastavro_per_s": ("/s", by_fastavro),
        "decode_fast_per_s": ("/s", by(decode_columns)),
        "decode_base_per_s": ("/s", by(decode_by_generated)),
        "decode_reference_per_s": ("/s", by(decode_by_reference)),
    }
