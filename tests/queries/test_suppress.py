"""Suppression: no figure under k can be worked out from all reports together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from attacker import Attacker
from lives import PERSON, Lives, answered, requested
from population import land, people

from elicitation_receipts.queries.catalogue import Catalogue, Cell, Result
from elicitation_receipts.queries.publish import Publication
from elicitation_receipts.queries.suppress import WITHHELD, Figure, Named, pool, quantile, rate
from elicitation_receipts.schemas.receipt import Keyed
from elicitation_receipts.schemas.vocabulary import Outcome

K = 11
ANSWERED = ("accepted", "declined", "cancelled", "invalid", "completed")
WHO = ("person", "automatic", "runtime", "policy", "unknown", "undecided")
Row = dict[str, Any]


def rows(result: Result) -> list[Row]:
    return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


class Attack:
    """What one group's published reports say, as equations over its cells."""

    def __init__(self, published: dict[str, list[Row]], *, reads_marks: bool) -> None:
        self.attacker = Attacker(reads_marks=reads_marks)
        self.hidden: list[tuple[str, Cell, Any]] = []
        self.cells: dict[tuple[str, str], Any] = {}
        for row in published["outcomes"]:
            for who in WHO:
                if row[who] != 0:
                    self.cells[row["outcome"], who] = self.attacker.unknown()
        self._outcomes(published["outcomes"])
        self._completion(published["completion"][0])
        self._declines(published["declines"][0])
        self._abandonment(published["abandonment"][0])
        for row in published["open"]:
            self._read("open.count", row["count"], self._sum(row["kind"]))
        self._parts(published)
        self._again(published)

    def _sum(self, outcome: str | None = None, who: str | None = None) -> Any:
        return self.attacker.total(
            unknown
            for (ended, by), unknown in self.cells.items()
            if outcome in (None, ended) and who in (None, by)
        )

    def _read(self, name: str, cell: Cell, parts: Any) -> Any:
        """Figure ``name`` stands published as ``cell`` and is the sum ``parts``."""
        figure = self.attacker.unknown()
        self.attacker.know(figure == parts)
        assert isinstance(cell, int | str), name
        self.attacker.read(figure, cell)
        if isinstance(cell, str):
            self.hidden.append((name, cell, figure))
        return figure

    def _outcomes(self, published: list[Row]) -> None:
        for row in published:
            outcome = row["outcome"]
            self._read(f"outcomes.{outcome}", row["elicitations"], self._sum(outcome))
            for who in WHO:
                if (outcome, who) in self.cells:
                    self._read(f"outcomes.{outcome}.{who}", row[who], self._sum(outcome, who))

    def _put(self) -> Any:
        return self._sum() - self._sum("blocked")

    def _completion(self, row: Row) -> None:
        self._read("completion.put", row["put"], self._put())
        for name in ANSWERED:
            by = self._sum(name, "person")
            self._read(f"completion.{name}", row[name], by)
        self._read("completion.automatic", row["automatic"], self._sum(who="automatic"))
        unknown = self._sum(who="unknown") - self._sum("malformed", "unknown")
        self._read("completion.unknown", row["unknown"], unknown)
        for name in ("malformed", "unsupported", "errored", "blocked", "withdrawn", "expired"):
            self._read(f"completion.{name}", row[name], self._sum(name))
        for name in ("abandoned", "unproven"):
            self._read(f"completion.{name}", row[name], self._sum(name))
        self._read("completion.open", row["open"], self._sum("open") + self._sum("consented"))

    def _declines(self, row: Row) -> None:
        self._read("declines.put", row["put"], self._put())
        self._read("declines.declined", row["declined"], self._sum("declined", "person"))
        self._read("declines.cancelled", row["cancelled"], self._sum("cancelled", "person"))
        for who in ("automatic", "runtime", "policy", "unknown"):
            self._read(f"declines.{who}", row[who], self._sum(who=who))

    def _abandonment(self, row: Row) -> None:
        left = [self._sum(name) for name in ("abandoned", "expired", "unproven")]
        self._read("abandonment.put", row["put"], self._put())
        self._read("abandonment.left", row["left"], self.attacker.total(left))
        self._read("abandonment.withdrawn", row["withdrawn"], self._sum("withdrawn"))
        self._read("abandonment.unanswered", row["unanswered"], left[0] + left[1])

    def _parts(self, published: dict[str, list[Row]]) -> None:
        """Tables whose rows are disjoint parts of what others show the whole of."""
        for table, column in (("policy", "judged"), ("capabilities", "elicitations")):
            if parts := self._unknowns(table, column, published[table]):
                self.attacker.know(self.attacker.total(parts) == self._sum())
        if parts := self._unknowns("urls", "put", published["urls"]):
            sent = self.attacker.total(parts)
            self.attacker.know(sent <= self._put())
            done = (self._sum(name) for name in ("completed", "consented", "unproven"))
            self.attacker.know(sent >= self.attacker.total(done))
        [row] = published["sessions"]
        parts = [
            self._free(f"sessions.{name}", row[name])
            for name in ("elicitations", "without_session")
        ]
        self.attacker.know(self.attacker.total(parts) == self._sum())
        for row in published["findings"]:
            found = self._free("findings.elicitations", row["elicitations"])
            self.attacker.know(found <= self._sum())

    def _unknowns(self, table: str, column: str, published: list[Row]) -> list[Any]:
        return [self._free(f"{table}.{column}", row[column]) for row in published]

    def _free(self, name: str, cell: Cell) -> Any:
        return self._read(name, cell, self.attacker.unknown())

    def _again(self, published: dict[str, list[Row]]) -> None:
        """Second rounds, which five reports count, and how long people took, which counts them."""
        [repeats] = published["repeats"]
        twice = self._free("repeats.in_operation", repeats["in_operation"])
        self._read("repeats.asked", repeats["asked"], self._put() + twice)
        self._read("completion.rounds", published["completion"][0]["rounds"], self._put() + twice)
        spans = {row["interval"]: row for row in published["resume"]}
        self._read("resume.between_rounds", spans["between_rounds"]["count"], twice + 0)
        for row in published["validation"]:
            if row["field"] == "email":
                self._read("validation.failures", row["failures"], twice + 0)
        went_on = self.attacker.total(self._sum(name, "person") for name in ANSWERED)
        person = went_on + self._sum("unproven") + self._sum("consented")
        self._read("resume.human_wait", spans["human_wait"]["count"], person)
        self._read("resume.time_to_resume", spans["time_to_resume"]["count"], went_on)
        self._read("resume.ceremony", spans["ceremony"]["count"], self._sum("completed"))
        self._read("resume.automatic", spans["human_wait"]["automatic"], self._sum(who="automatic"))


def published_groups(publication: Publication, by: list[str]) -> dict[Any, dict[str, list[Row]]]:
    groups: dict[Any, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for name, question in Catalogue().questions.items():
        if question.picks:
            for row in rows(publication.ask(name)):
                groups[tuple(row[dimension] for dimension in by)][name].append(row)
    return groups


@pytest.mark.parametrize(
    ("size", "by"),
    [
        (60, []),
        (400, []),
        pytest.param(400, ["server"], marks=pytest.mark.slow),
        pytest.param(600, ["client", "day"], marks=pytest.mark.slow),
    ],
)
def test_every_hidden_figure_can_be_anything(size: int, by: list[str], tmp_path: Path) -> None:
    with land(people(size, seed=size), tmp_path).read() as database:
        groups = published_groups(Publication(Catalogue(), database, {"by": by}, K), by)
    hidden = 0
    for published in groups.values():
        reading = Attack(published, reads_marks=True)
        for name, cell, figure in reading.hidden:
            low, high = reading.attacker.bounds(figure)
            # `<11` says 1 to 10, and no more than that can be found out.
            assert (low, high) == (1, K - 1) if cell == f"<{K}" else high - low >= K - 2, name
        blind = Attack(published, reads_marks=False)
        for name, _, figure in blind.hidden:
            low, high = blind.attacker.bounds(figure)
            assert high - low >= K, name
        hidden += len(reading.hidden)
    assert hidden > 10


def test_the_attacker_finds_what_a_total_gives_away() -> None:
    """30 in all, 28, <11, <11 leaves 1 and 1."""
    attacker = Attacker(reads_marks=True)
    parts = [attacker.unknown() for _ in range(3)]
    attacker.know(attacker.total(parts) == 30)
    for part, cell in zip(parts, (28, "<11", "<11"), strict=True):
        attacker.read(part, cell)
    assert [attacker.bounds(part) for part in parts] == [(28, 28), (1, 1), (1, 1)]


@pytest.mark.parametrize(
    ("figure", "shown"),
    [
        (Figure(0, 0), 0),
        (Figure(3, 3), "<11"),
        (Figure(3, 0, 1), "<11"),
        (Figure(11, 11), 11),
        (Figure(30, 28, 2), "30-48"),
        (Figure(9, 0, 2), WITHHELD),  # under k, and so is each of the two it is made of
        (Figure(17, 0, 2), "2-20"),
        (Figure(14, 5, 1), WITHHELD),
        (Figure(40, 28, 2, bounded=False), ">=30"),
    ],
)
def test_what_stands_for_a_figure(figure: Figure, shown: Cell) -> None:
    assert figure.published(K) == shown


def test_rates_and_quantiles_of_few_are_withheld() -> None:
    assert rate(Figure(20, 20), Figure(40, 40), 0.5, K) == 0.5
    assert rate(Figure(0, 0), Figure(40, 40), 0.0, K) == 0.0
    assert rate(Figure(3, 3), Figure(40, 40), 3 / 40, K) == WITHHELD
    assert rate(Figure(38, 38), Figure(40, 40), 0.95, K) == WITHHELD
    assert rate(Figure(5, 5), Figure(5, 5), 1.0, K) == WITHHELD
    assert rate(Figure(28, 28), Figure(30, 28, 2), 28 / 30, K) == "0.583-0.933"
    assert quantile("p50_seconds", 1.5, Figure(22, 22), K) == 1.5
    assert quantile("p50_seconds", 1.5, Figure(21, 21), K) == WITHHELD
    assert quantile("p90_seconds", 1.5, Figure(110, 110), K) == 1.5
    assert quantile("max_seconds", 1.5, Figure(10**6, 10**6), K) == WITHHELD


def test_small_rows_are_pooled_until_they_are_not_small() -> None:
    def named(*sizes: int) -> list[Named]:
        return [Named((str(size),), Figure(size, size)) for size in sizes]

    def pooled(*sizes: int) -> list[tuple[Cell, int]]:
        return [(row.names[0], row.count.whole) for row in pool(named(*sizes), ("other",), K)]

    assert pooled(50, 30) == [("50", 50), ("30", 30)]
    assert pooled(50, 30, 4, 3) == [("50", 50), ("other", 37)]
    assert pooled(50, 30, 9, 8) == [("50", 50), ("30", 30), ("other", 17)]
    assert pooled(4, 3) == []


def test_a_group_under_k_is_left_out(lives: Lives, catalogue: Catalogue) -> None:
    for server, count in (("many", 20), ("few", 10)):
        for _ in range(count):
            lives.add(requested(), answered(Outcome.ACCEPTED, PERSON), server_name=server)
    result = Publication(catalogue, lives.connection, {"by": ["server"]}, K).ask("completion")
    assert [(row["server"], row["put"]) for row in rows(result)] == [("many", 20)]
    assert "1 groups left out" in result.head["suppressed"]


def test_k_counts_subjects_where_all_are_known(lives: Lives, catalogue: Catalogue) -> None:
    """Thirty questions to three people are three, not thirty."""
    for number in range(60):
        subject = Keyed("0" * 12, bytes([number % 3 if number < 30 else number]) * 32)
        outcome = Outcome.DECLINED if number < 30 else Outcome.ACCEPTED
        lives.add(requested(subject_ref=subject), answered(outcome))
    publication = Publication(catalogue, lives.connection, {}, K)
    [row] = rows(publication.ask("completion"))
    assert publication.unit == "distinct subjects"
    assert row["accepted"] == 30
    assert isinstance(row["declined"], str)
    assert isinstance(row["put"], str)


def test_the_head_says_who_it_is_for(lives: Lives, catalogue: Catalogue) -> None:
    lives.add(requested(), answered(Outcome.DECLINED))
    publication = Publication(catalogue, lives.connection, {}, K)
    for name in catalogue.questions:
        head = publication.ask(name).head
        assert head["profile"] == "auditor"
        assert f"fewer than {K} elicitations" in head["suppressed"]
        assert "whole days" in head["guarantee"]
    operator = catalogue.run(lives.connection, "completion")
    assert operator.head["profile"] == "operator"
    assert replace(operator, head={}).rows == operator.rows
