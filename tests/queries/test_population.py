"""Every report equals the count of a population that is known one by one."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from census import AS_OF, CENSUS, day
from population import Asked, land, people

from elicitation_receipts.queries.catalogue import Catalogue

MOMENT = datetime(1970, 1, 1) + timedelta(microseconds=AS_OF)  # noqa: DTZ001
#: Nothing of theirs is told from one group alone: an earlier question may be in another.
ACROSS = ("policy", "repeats")


def agree(population: list[Asked], folder: Path, **how: Any) -> None:
    catalogue = Catalogue()
    assert set(catalogue.questions) - {"delivery"} == set(CENSUS)
    with land(population, folder, **how).read() as database:
        for by in ([], ["server"], ["client", "day"]):
            groups: dict[tuple[Any, ...], list[Asked]] = defaultdict(list)
            for one in population:
                named = {"server": one.server, "client": one.client, "day": day(one.day)}
                groups[tuple(named[name] for name in by)].append(one)
            for question, (count, key) in CENSUS.items():
                if by and question in ACROSS:
                    continue
                expected = {
                    (*group, *names): row
                    for group, members in groups.items()
                    for names, row in count(members).items()
                }
                own = {"as_of": MOMENT} if question == "open" else {}
                result = catalogue.run(database, question, {"by": by, **own})
                found = {}
                for cells in result.rows:
                    row = dict(zip(result.columns, cells, strict=True))
                    found[tuple(row.pop(name) for name in (*by, *key))] = row
                assert found == expected, (question, by)
                assert len(found) == len(result.rows), question


def test_every_report_equals_the_census(tmp_path: Path) -> None:
    agree(people(1000, seed=1), tmp_path)


@pytest.mark.slow
def test_late_and_out_of_order_receipts_change_nothing_in_the_end(tmp_path: Path) -> None:
    agree(people(300, seed=2), tmp_path, shuffled=3)


def test_delivery_counts_what_landed(tmp_path: Path) -> None:
    population = people(200, seed=4)
    messages = sum(len(list(one.steps())) for one in population)
    with land(population, tmp_path).read() as database:
        result = Catalogue().run(database, "delivery")
        [row] = [dict(zip(result.columns, cells, strict=True)) for cells in result.rows]
    assert (row["emitted"], row["landed"], row["missing"], row["gaps"]) == (
        messages,
        messages,
        0,
        0,
    )


@pytest.mark.long
def test_a_million_receipts_equal_the_census(tmp_path: Path) -> None:
    population = people(330_000, seed=5)
    assert sum(len(list(one.steps())) for one in population) > 900_000
    agree(population, tmp_path)
