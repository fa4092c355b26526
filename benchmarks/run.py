"""Measures the parts side by side and prints figures and ratios.

    python benchmarks/run.py [--quick] [--json FILE]

Needs the `test` extra (pyarrow). Everything happens in a folder of its own under
the current one's file system, since speed depends on the disk.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import emit
import landing
import proxy
import tap
from measure import Figure, interleaved
from rich.console import Console
from rich.table import Table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    # Where the other end of many sessions is.
    sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))
    rounds, scale = (3, 1) if options.quick else (5, 5)
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).absolute()
        figures = [
            *interleaved(rounds, tap.cases(folder, 1_000 * scale)),
            *interleaved(rounds, emit.cases(folder, 500 * scale)),
            *interleaved(rounds, landing.cases(folder, 20_000 * scale)),
            *proxy.figures(folder, 200 * scale, 1_000, rounds),
        ]
    ratios = _ratios({figure.name: figure.median for figure in figures})
    _show(figures, ratios)
    if options.json:
        options.json.write_text(json.dumps(_document(figures, ratios), indent=2) + "\n")


def _ratios(median: dict[str, float]) -> dict[str, float]:
    return {
        "tap_added_p50_ms": median["tap_p50_ms"] - median["pipe_p50_ms"],
        "tap_added_p99_ms": median["tap_p99_ms"] - median["pipe_p99_ms"],
        "proxy_over_plain_p50": median["proxy_p50_ms"] / median["plain_proxy_p50_ms"],
        "proxy_over_plain_p99": median["proxy_p99_ms"] / median["plain_proxy_p99_ms"],
        "emit_power_over_sync": median["emit_power_p50_us"] / median["sync_p50_us"],
        "landing_base_over_appender": median["landing_base_per_s"] / median["bare_appender_per_s"],
        "landing_base_over_limit": median["landing_base_per_s"] / median["bare_arrow_per_s"],
    }


def _show(figures: list[Figure], ratios: dict[str, float]) -> None:
    table = Table("figure", "median", "unit", "spread")
    for figure in figures:
        table.add_row(figure.name, f"{figure.median:,.3g}", figure.unit, f"± {figure.spread:.0%}")
    table.add_section()
    for name, value in ratios.items():
        table.add_row(name, f"{value:.3g}", "ms" if name.endswith("_ms") else "ratio", "")
    Console().print(table)


def _document(figures: list[Figure], ratios: dict[str, float]) -> dict[str, object]:
    return {
        "figures": {
            figure.name: {
                "median": figure.median,
                "unit": figure.unit,
                "spread": figure.spread,
                "rounds": figure.rounds,
            }
            for figure in figures
        },
        "ratios": ratios,
    }


if __name__ == "__main__":
    main()
