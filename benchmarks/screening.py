"""Measures screening: what it finds in the corpus of questions, and how long it takes.

    python benchmarks/screening.py

Precision and recall are by class of data, over the questions in `tests/support/questions`. Those
in `held_out.txt` were never used to tune the rules.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from measure import percentile
from rich.console import Console
from rich.table import Table

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))
from questions_corpus import Example, read_corpus

from elicitation_receipts.producers.screening.screen import screen


def main() -> None:
    tuned = [*read_corpus("secret"), *read_corpus("ordinary")]
    show("Questions the rules were made with", tuned)
    show("Questions held out", read_corpus("held_out"))
    show_time(tuned)


def show(title: str, examples: list[Example]) -> None:
    """A table of each class, and how often an ordinary question is taken for another."""
    seen = [(one.asks, {found.value for found in screen(one.params).asks_for}) for one in examples]
    table = Table("class", "questions", "precision", "recall", title=title, title_justify="left")
    for name in sorted({asks for asks, _ in seen} - {"none"}):
        is_there = [found for asks, found in seen if asks == name]
        hits = sum(name in found for found in is_there)
        named = sum(name in found for _, found in seen)
        table.add_row(name, str(len(is_there)), _share(hits, named), _share(hits, len(is_there)))
    secret = [found for asks, found in seen if asks != "none"]
    ordinary = [found for asks, found in seen if asks == "none"]
    hits, wrong = sum(map(bool, secret)), sum(map(bool, ordinary))
    table.add_section()
    table.add_row(
        "any class", str(len(secret)), _share(hits, hits + wrong), _share(hits, len(secret))
    )
    console = Console(width=100)
    console.print(table)
    rate = _share(wrong, len(ordinary))
    console.print(f"ordinary questions: {len(ordinary)}, taken for another: {wrong} ({rate})\n")


def show_time(examples: Iterable[Example]) -> None:
    """How long one question takes (the best of five rounds), and how that grows with it."""
    rounds = [list(timed(example.params for example in examples)) for _ in range(5)]
    microseconds = [min(times) for times in zip(*rounds, strict=True)]
    print(f"one question   p50 {percentile(microseconds, 0.50):8.0f} µs")
    print(f"               p99 {percentile(microseconds, 0.99):8.0f} µs")
    for fields in (10, 100, 1_000):
        described = {"type": "string", "title": "A field", "description": "What it is for. " * 4}
        schema = {"type": "object", "properties": {f"field{n}": described for n in range(fields)}}
        params = {"mode": "form", "message": "Please fill in", "requestedSchema": schema}
        best = min(timed([params] * 5))
        size = len(json.dumps(params)) / 1_000
        print(f"{fields:5} fields   {best:12.0f} µs, {best / size:6.1f} µs a kilobyte")


def timed(questions: Iterable[dict[str, object]]) -> Iterator[float]:
    """Microseconds of processor time that each takes, once the lists of words are read."""
    screen({"message": "Password?", "requestedSchema": {}})
    for params in questions:
        start = time.thread_time_ns()
        screen(params)
        yield (time.thread_time_ns() - start) / 1_000


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"


if __name__ == "__main__":
    main()
