"""The catalogue: heads of the SQL files, and what a run refuses."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lives import Lives, answered, requested

from elicitation_receipts.queries.catalogue import MOST_NAMES, OTHER, Catalogue, Question, parse
from elicitation_receipts.queries.parameter import DIMENSIONS, Kind
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.vocabulary import Carrier, Mode, Outcome

HEAD = """\
-- title: A title
-- answers: What it says,
--   in two lines.
-- parameter: since time When: from
--   then on.
-- parameter: server names Whose.
--
-- A remark, which is no entry: no.
SELECT 1
"""


QUESTIONS = [
    "abandonment",
    "capabilities",
    "completion",
    "declines",
    "delivery",
    "findings",
    "open",
    "outcomes",
    "policy",
    "repeats",
    "resume",
    "sessions",
    "urls",
    "validation",
]
#: Set by programs alone.
OURS = {"kept"}


def test_the_questions_are_there(catalogue: Catalogue) -> None:
    assert list(catalogue.questions) == QUESTIONS


def test_a_head_is_read_entry_by_entry() -> None:
    question = parse("name", HEAD)
    assert (question.name, question.title) == ("name", "A title")
    assert question.answers == "What it says, in two lines."
    since, server = question.parameters
    assert (since.name, since.kind, since.help) == ("since", Kind.TIME, "When: from then on.")
    assert server.name == "server"
    assert question.sql == HEAD


@pytest.mark.parametrize(
    "spoilt",
    [
        HEAD.replace("-- title: A title\n", ""),
        HEAD.replace("-- answers:", "-- answer:"),
        HEAD.replace("-- parameter: server", "-- paramter: server"),
        HEAD.replace("-- parameter: server names", "-- parameter: server"),
        HEAD.replace("-- title: A title\n", "-- answers: first\n-- title: then\n"),
        "SELECT 1",
        "",
    ],
)
def test_a_head_that_is_not_as_it_must_be_is_refused(spoilt: str) -> None:
    with pytest.raises(ValueError, match=r"name\.sql|declaration"):
        parse("name", spoilt)


@pytest.fixture(params=QUESTIONS)
def question(request: pytest.FixtureRequest, catalogue: Catalogue) -> Question:
    return catalogue.questions[request.param]


def test_each_head_is_complete(question: Question) -> None:
    assert len(question.title) > 10
    assert len(question.answers) > 80
    helps = {parameter.name: parameter.help for parameter in question.parameters}
    assert all(len(text) > 15 and text.endswith(".") for text in helps.values())
    if not question.picks:
        assert list(helps) == ["since", "until", "include_replay"]
        return
    assert all(dimension in helps["by"] for dimension in DIMENSIONS)
    names = ["by", "since", "until", *DIMENSIONS, "include_replay", "all_vantages"]
    own = {"open": ["as_of"]}.get(question.name, [])
    assert list(helps) == [*names, *own]
    assert all(mode.value in helps["mode"] for mode in Mode)
    assert all(carrier.value in helps["carrier"] for carrier in Carrier)


def test_the_variables_read_are_the_parameters_declared(question: Question) -> None:
    picked = (Path(__file__).parents[2] / "queries" / "picked.sql").read_text(encoding="utf-8")
    code = re.sub(r"--.*", "", (picked if question.picks else "") + question.sql)
    read = set(re.findall(r"(?:getvariable|passes)\('(\w+)'", code))
    assert read - OURS == {parameter.name for parameter in question.parameters}


def test_each_head_describes_every_figure(
    question: Question, lives: Lives, catalogue: Catalogue
) -> None:
    """A column that needs no words is named in `answers` or is an outcome's name."""
    result = catalogue.run(lives.connection, question.name)
    plain = {outcome.value for outcome in Outcome} | {"put", "rounds", "interval", "round"}
    for column in result.columns:
        word = column.removesuffix("_seconds")
        assert word in plain or word in question.answers or word[0] == "p" or word == "max", column


def test_a_run_refuses_what_it_does_not_know(lives: Lives, catalogue: Catalogue) -> None:
    with pytest.raises(UsageError, match="unknown_parameter: completion takes no sever"):
        catalogue.run(lives.connection, "completion", {"sever": ["x"]})
    with pytest.raises(UsageError, match="unknown_dimension"):
        catalogue.run(lives.connection, "completion", {"by": ["put"]})
    day = datetime(2026, 11, 1, tzinfo=UTC)
    with pytest.raises(UsageError, match="bad_time"):
        catalogue.run(lives.connection, "completion", {"since": day, "until": day})


def test_rates_and_quantiles_are_numbers_or_null(lives: Lives, catalogue: Catalogue) -> None:
    lives.add(requested(), answered(Outcome.MALFORMED))
    for name in catalogue.questions:
        for row in catalogue.run(lives.connection, name).rows:
            assert all(cell is None or cell == cell for cell in row), "NaN never appears"


def test_ten_thousand_tools_make_a_bounded_table(catalogue: Catalogue) -> None:
    """Those with the most questions stand for themselves, the others are one row together."""
    lives = Lives.in_memory()
    with lives.connection:
        lives.connection.execute("DROP VIEW elicitations")
        lives.add(requested(), answered(Outcome.ACCEPTED))
        lives.connection.execute(
            """
            CREATE VIEW elicitations AS
            SELECT uuid() AS elicitation_id, 'tool_' || (range % 10000) AS tool,
                'default' AS tenant,
                'accepted' AS state, 'person_claimed' AS answered_by, true AS put, 1 AS rounds,
                'form' AS mode, TIMESTAMP '2026-11-01' AS put_at, DATE '2026-11-01' AS day,
                NULL AS carrier, NULL AS server_name, NULL AS client_name, NULL AS flow,
                NULL AS policy_version, NULL AS vantage, NULL AS fidelity,
                NULL::BLOB AS session_ref_value, NULL AS session_ref_key_id, NULL AS decided_by
            FROM range(10500)
            """
        )
        result = catalogue.run(lives.connection, "completion", {"by": ["tool"]})
    rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    assert len(rows) == MOST_NAMES + 1
    [other] = [row for row in rows if row["tool"] == OTHER]
    assert other["put"] == 10_500 - sum(row["put"] for row in rows if row["tool"] != OTHER)
    assert all(row["put"] == 2 for row in rows if row["tool"] in ("tool_0", "tool_499"))
