"""Ten million receipts: what landing them takes in memory, and what reports on them take in time.

    python benchmarks/many.py FOLDER ROWS

A process of its own, so that its memory is a lander's. Prints one JSON object. Each question is
asked of a tenth of the receipts and of all, with DuckDB held to 2 GB.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from stamped import StampedSource, templates

from elicitation_receipts.consumers.landing import Lander, Warehouse
from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.schemas.keys import Key

_MEMORY = "2GB"


def resident() -> int:
    """Bytes of memory this process has now."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def asked(warehouse: Warehouse) -> dict[str, float]:
    """Seconds that each canned question takes."""
    catalogue = Catalogue()
    taken = {}
    for name, question in catalogue.questions.items():
        splits = any(parameter.name == "by" for parameter in question.parameters)
        with warehouse.read() as database:
            database.execute("SET memory_limit = $limit", {"limit": _MEMORY})
            started = time.perf_counter()
            catalogue.run(database, name, {"by": ["server"]} if splits else {})
            taken[name] = time.perf_counter() - started
    return taken


def main() -> None:
    folder, rows = Path(sys.argv[1]), int(sys.argv[2])
    warehouse = Warehouse(folder / "many.duckdb")
    kinds = templates(folder)
    memory: dict[int, int] = {}
    source = StampedSource(kinds, rows // 10)
    lander = Lander(warehouse, source, Key(b"b" * 32))

    def watch(summary: object, remaining: int) -> None:
        landed = source.count - remaining
        step = min(9, landed * 10 // rows)  # the highest of each tenth
        memory[step] = max(memory.get(step, 0), resident())

    started = time.perf_counter()
    lander.land(progress=watch)
    first = asked(warehouse)
    source.count = rows
    lander.land(progress=watch)
    taken = time.perf_counter() - started
    print(
        json.dumps(
            {
                "rows": rows,
                "landed_per_s": rows / taken,
                "rss_bytes": [memory[step] for step in sorted(memory)],
                "report_tenth_s": first,
                "report_all_s": asked(warehouse),
            }
        )
    )


if __name__ == "__main__":
    main()
