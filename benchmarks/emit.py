"""How long it takes until a receipt is durable, beside one bare sync of the same disk."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from measure import percentile
from stamped import templates

from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Producer, Spool

_PRODUCER = Producer("benchmark", "0.1.0")


def appends(folder: Path, durability: str, receipts: list[Receipt]) -> list[float]:
    """Microseconds of appends of one receipt each."""
    home = folder / f"emit-{durability}"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)
    with Spool.open(home, durability=durability) as spool:
        stream_id = spool.stream_for("default", _PRODUCER)
        ready = [replace(one, stream_id=stream_id, receipt_id=uuid4()) for one in receipts]
        taken = []
        for receipt in ready:
            started = time.perf_counter()
            spool.append([receipt])
            taken.append((time.perf_counter() - started) * 1e6)
    return taken


def syncs(folder: Path, count: int) -> list[float]:
    """Microseconds of ``count`` writes of 500 bytes, each followed by fdatasync."""
    fd = os.open(folder / "sync", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        taken = []
        for _ in range(count):
            started = time.perf_counter()
            os.write(fd, b"x" * 500)
            os.fdatasync(fd)
            taken.append((time.perf_counter() - started) * 1e6)
    finally:
        os.close(fd)
    return taken


def cases(folder: Path, count: int) -> dict[str, tuple[str, Callable[[], float]]]:
    kinds = (templates(folder) * (1 + count // 3_000))[:count]
    return {
        "sync_p50_us": ("us", lambda: percentile(syncs(folder, count), 0.5)),
        "emit_power_p50_us": ("us", lambda: percentile(appends(folder, "power", kinds), 0.5)),
        "emit_process_p50_us": ("us", lambda: percentile(appends(folder, "process", kinds), 0.5)),
        "emit_process_per_s": ("/s", lambda: 1e6 * count / sum(appends(folder, "process", kinds))),
    }
