"""Measures the parts side by side and prints figures and ratios.

    python benchmarks/run.py [--quick] [--json FILE]

Needs the extra `benchmark`, Java and Maven (a real Kafka is started), and PyPI, from which stoik
gets an environment of its own. Everything happens in a folder of its own under the current one,
since speed depends on the disk.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SUPPORT = Path(__file__).parent.parent / "tests" / "support"
sys.path.append(str(_SUPPORT))  # the broker, and the other end of many sessions

import decoding  # noqa: E402
import emit  # noqa: E402
import proxy  # noqa: E402
import tap  # noqa: E402
from broker import Broker  # noqa: E402
from landing import Landings  # noqa: E402
from measure import Figure, interleaved  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

#: What the project promises of each result.
PROMISED = {
    "landing_fast_over_limit": ">= 0.40",
    "landing_fast_beside_reports_over_limit": ">= 0.20",
    "landing_fast_over_millpond_shape": ">= 2",
    "landing_fast_over_stoik": ">= 15",
    "landing_base_over_limit": ">= 0.10",
    "landing_spool_over_kafka": ">= 1",
    "decode_fast_over_fastavro": ">= 5",
    "decode_base_over_fastavro": ">= 1.4",
    "emit_process_p50_us": "<= 100",
    "emit_process_per_s": ">= 5,000",
    "emit_power_over_sync": "one sync and an append",
    "tap_added_p99_ms": "<= 1",
    "report_10m_max_s": "<= 1",
    "landing_rss_growth": "<= 0.10",
}
#: The canned questions that are promised to take no longer than a second.
_CANNED = ("completion", "declines", "validation", "resume")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and rounds: five minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    quick = options.quick
    rounds, scale = (2, 1) if quick else (5, 5)
    rows = {
        "landing": 100_000 * scale,
        "peers": 40_000 * scale,
        "many": 300_000 if quick else 10**7,
    }
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).absolute()
        figures = [
            *interleaved(rounds, tap.cases(folder, 1_000 * scale)),
            *interleaved(rounds, emit.cases(folder, 500 * scale)),
            *interleaved(rounds, decoding.cases(folder)),
            *_landing_figures(folder, rounds, rows["landing"], rows["peers"]),
            *proxy.figures(folder, 200 * scale, 1_000, rounds),
        ]
        many = _many(folder, rows["many"])
    results = _results({figure.name: figure for figure in figures}, many)
    note = f"{'quick, ' if quick else ''}{rounds} rounds; rows: {rows}"
    _show(figures, results, many, note)
    if options.json:
        found = {
            "quick": quick,
            "rows": rows,
            "results": {
                result.name: _document(result) | {"promised": PROMISED[result.name]}
                for result in results
            },
            "figures": {figure.name: _document(figure) for figure in figures},
            "many": many,
        }
        options.json.write_text(json.dumps(found, indent=2) + "\n")


def _landing_figures(folder: Path, rounds: int, count: int, peers_count: int) -> list[Figure]:
    broker = Broker(folder / "kafka")
    broker.start()
    try:
        landings = Landings(folder, broker.address, count, peers_count)
        return interleaved(rounds, landings.cases())
    finally:
        broker.stop()


def _many(folder: Path, rows: int) -> dict[str, Any]:
    place = folder / "many"
    place.mkdir()
    program = Path(__file__).with_name("many.py")
    ended = subprocess.run(
        [sys.executable, str(program), str(place), str(rows)], stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def _results(figures: dict[str, Figure], many: dict[str, Any]) -> list[Figure]:
    """The results promised, each with a value a round."""

    def per_round(name: str, unit: str, make: Callable[..., float], *names: str) -> Figure:
        rows = zip(*(figures[one].rounds for one in names), strict=True)
        return Figure(name, unit, [make(*row) for row in rows])

    def over(name: str, top: str, bottom: str) -> Figure:
        return per_round(name, "ratio", lambda a, b: a / b, top, bottom)

    memory = many["rss_bytes"]
    return [
        over("landing_fast_over_limit", "landing_fast_per_s", "bare_insert_per_s"),
        over(
            "landing_fast_beside_reports_over_limit",
            "landing_beside_reports_per_s",
            "bare_insert_per_s",
        ),
        over("landing_fast_over_millpond_shape", "landing_fast_per_s", "millpond_shape_per_s"),
        over("landing_fast_over_stoik", "landing_fast_per_s", "stoik_per_s"),
        over("landing_base_over_limit", "landing_base_per_s", "bare_insert_per_s"),
        over("landing_spool_over_kafka", "landing_spool_per_s", "landing_fast_per_s"),
        over("decode_fast_over_fastavro", "decode_fast_per_s", "decode_fastavro_per_s"),
        over("decode_base_over_fastavro", "decode_base_per_s", "decode_fastavro_per_s"),
        figures["emit_process_p50_us"],
        figures["emit_process_per_s"],
        over("emit_power_over_sync", "emit_power_p50_us", "sync_p50_us"),
        per_round("tap_added_p99_ms", "ms", lambda a, b: a - b, "tap_p99_ms", "pipe_p99_ms"),
        Figure("report_10m_max_s", "s", [max(many["report_all_s"][name] for name in _CANNED)]),
        Figure("landing_rss_growth", "ratio", [memory[-1] / memory[0] - 1]),
    ]


def _show(figures: list[Figure], results: list[Figure], many: dict[str, Any], note: str) -> None:
    table = Table("result", "median", "unit", "spread", "promised", title=note)
    for result in results:
        promised = PROMISED[result.name]
        table.add_row(*_cells(result), promised)
    table.add_section()
    for figure in figures:
        table.add_row(*_cells(figure), "")
    table.add_section()
    table.add_row("many_landed_per_s", f"{many['landed_per_s']:,.3g}", "/s", "", "")
    memory = [round(one / 2**20) for one in many["rss_bytes"]]
    table.add_row("many_rss", f"{memory[0]:,} → {memory[-1]:,}", "MiB", "", "")
    for name, all_s in sorted(many["report_all_s"].items(), key=lambda each: -each[1]):
        tenth = many["report_tenth_s"][name]
        table.add_row(f"report_{name}", f"{tenth:.3f} → {all_s:.3f}", "s", "", "")
    Console().print(table)


def _cells(figure: Figure) -> list[str]:
    spread = f"± {figure.spread:.0%}" if len(figure.rounds) > 1 else ""
    return [figure.name, f"{figure.median:,.3g}", figure.unit, spread]


def _document(figure: Figure) -> dict[str, object]:
    return {
        "median": figure.median,
        "unit": figure.unit,
        "spread": figure.spread,
        "rounds": figure.rounds,
    }


if __name__ == "__main__":
    main()
