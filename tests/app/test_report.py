"""`receipts report`: the questions from the command line."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from lives import AUTOMATIC, DAY, START, Lives, answered, requested, resumed

from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.schemas.vocabulary import Keyword, Mode, Outcome, Vantage

Receipts = Callable[..., subprocess.CompletedProcess[str]]
QUESTIONS = list(Catalogue().questions)
#: Those of elicitations, which can be split and restricted.
SPLIT = [question.name for question in Catalogue().questions.values() if question.picks]


@pytest.fixture
def landed(home: Path) -> Path:
    """A home where three lives have landed."""
    home.mkdir(mode=0o700)
    with Warehouse(home / "warehouse.duckdb").open() as database:
        lives = Lives(database)
        lives.add(requested(), answered(Outcome.ACCEPTED), resumed(), server_name="a")
        lives.add(requested(), answered(Outcome.DECLINED, AUTOMATIC), at=START + DAY, tool="t")
        failed = [("email", Keyword.FORMAT)]
        lives.add(requested(), answered(Outcome.INVALID, failed=failed), mode=Mode.TASK_INPUT)
    return home


def rows_of(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return rows


def put(done: subprocess.CompletedProcess[str]) -> int:
    assert done.returncode == 0, done.stderr
    return sum(row["put"] for row in rows_of(done))


@pytest.mark.parametrize("question", SPLIT)
def test_every_format_says_the_same(question: str, landed: Path, receipts: Receipts) -> None:
    by = ("report", question, "--by", "server,mode", "--by", "day")
    if question == "open":
        by = (*by, "--as-of", "2026-11-30")
    document = json.loads(receipts(*by, "--format", "json").stdout)
    rows = document.pop("rows")
    head = [f"{name}: {value}" for name, value in document.items()]
    assert head[0] == "profile: operator"
    if question not in ("findings", "urls", "open"):  # there are none of these
        assert list(rows[0])[:3] == ["server", "mode", "day"]

    lines = receipts(*by, "--format", "csv").stdout.splitlines()
    assert [line.removeprefix("# ") for line in lines[: len(head)]] == head
    assert list(csv.DictReader(lines[len(head) :])) == [
        {name: "" if cell is None else str(cell) for name, cell in row.items()} for row in rows
    ]

    file = landed.parent / "report.parquet"
    done = receipts(*by, "--format", "parquet", "--output", str(file))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    in_parquet = pyarrow.parquet.read_table(file)
    assert [
        {name: cell.isoformat() if isinstance(cell, date) else cell for name, cell in row.items()}
        for row in in_parquet.to_pylist()
    ] == rows
    assert in_parquet.schema.metadata[b"profile"] == b"operator"

    table = receipts(*by).stdout
    assert [line.replace("as of:", "as_of:") for line in table.splitlines()[: len(head)]] == head
    assert all(row["day"] in table for row in rows)


def test_options_restrict(landed: Path, receipts: Receipts) -> None:
    def asked(*options: str) -> int:
        return put(receipts("report", "completion", "--format", "json", *options))

    assert asked() == 3
    assert asked("--server", "a") == 1
    assert asked("--server", "a", "--server", "files") == 3
    assert asked("--mode", "task_input") == 1
    assert asked("--carrier", "task") == 0
    assert asked("--day", "2026-11-02") == 1
    assert asked("--since", "2026-11-02T00:00Z") == 1
    assert asked("--until", "2026-11-02") == 2
    assert asked("--since", "1h") == 0
    assert asked("--tool", "t", "--server", "a") == 0
    assert asked("--server", "'; DROP TABLE receipts; --") == 0
    assert asked() == 3


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_output_goes_to_the_file(form: str, landed: Path, receipts: Receipts) -> None:
    shown = receipts("report", "declines", "--format", form).stdout
    file = landed.parent / "report"
    done = receipts("report", "declines", "--format", form, "--output", str(file))
    assert (done.returncode, done.stdout) == (0, "")
    assert file.read_text(encoding="utf-8") == shown


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--by", "colour"], "unknown_dimension"),
        (["--by", "put"], "unknown_dimension"),
        (["--mode", "Form"], "unknown_mode"),
        (["--carrier", "pigeon"], "unknown_carrier"),
        (["--since", "soon"], "bad_time"),
        (["--until", ""], "bad_time"),
        (["--day", "today"], "bad_time"),
        (["--since", "1h", "--until", "2h"], "bad_time"),
        (["--format", "parquet"], "parquet_needs_output"),
    ],
)
def test_bad_values_are_refused_by_name(
    options: list[str], reason: str, landed: Path, receipts: Receipts
) -> None:
    done = receipts("report", "completion", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"receipts: {reason}: ")
    assert done.stderr.count("\n") == 1


def test_an_unwritable_output_is_refused_by_name(landed: Path, receipts: Receipts) -> None:
    done = receipts("report", "completion", "--output", str(landed / "no" / "file"))
    assert (done.returncode, done.stderr.split(":")[1]) == (3, " output_unwritable")


def test_before_anything_landed_it_says_what_to_do(home: Path, receipts: Receipts) -> None:
    home.mkdir(mode=0o700)
    done = receipts("report", "completion")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("receipts: warehouse_missing: ")
    assert "`receipts land`" in done.stderr


@pytest.mark.parametrize("question", SPLIT)
def test_nothing_to_count_is_no_error(question: str, landed: Path, receipts: Receipts) -> None:
    options = ("report", question, "--server", "nobody")
    done = receipts(*options)
    assert done.returncode == 0
    assert done.stderr.startswith("hint: ")
    done = receipts(*options, "--format", "json")
    assert (done.returncode, rows_of(done), done.stderr) == (0, [], "")


def test_replays_alone_are_shown_and_it_is_said(home: Path, receipts: Receipts) -> None:
    home.mkdir(mode=0o700)
    with Warehouse(home / "warehouse.duckdb").open() as database:
        Lives(database).add(requested(), answered(Outcome.ACCEPTED), vantage=Vantage.REPLAY)
    done = receipts("report", "completion", "--format", "json")
    assert put(done) == 1
    assert done.stderr.startswith("note: ")
    assert receipts("report", "completion", "--include-replay").stderr == ""


def test_list_names_every_question(receipts: Receipts) -> None:
    done = receipts("report", "--list")
    assert done.returncode == 0
    for question in Catalogue().questions.values():
        assert f"{question.name}: {question.title}\n  {question.answers}\n" in done.stdout


def test_without_a_question_there_is_help(receipts: Receipts) -> None:
    done = receipts("report")
    assert all(question in done.stdout for question in QUESTIONS)


@pytest.mark.parametrize("question", QUESTIONS)
def test_help_explains_every_option(
    question: str, receipts: Receipts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    done = receipts("report", question, "--help")
    assert done.returncode == 0
    shown = " ".join(done.stdout.split())
    found = Catalogue().questions[question]
    assert found.title in shown
    for parameter in found.parameters:
        [line] = [line for line in done.stdout.splitlines() if f" {parameter.option} " in line]
        assert parameter.help in line
    for option in ("--format", "--output"):
        assert f" {option} " in shown


def test_a_report_waits_for_whoever_lands(landed: Path) -> None:
    """Another process holds the database for a moment; the report comes all the same."""
    code = (
        "import sys, time; from pathlib import Path\n"
        "from elicitation_receipts.consumers.warehouse import Warehouse\n"
        "with Warehouse(Path(sys.argv[1])).open(): print('open', flush=True); time.sleep(1)"
    )
    path = str(landed / "warehouse.duckdb")
    holder = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == "open\n"
        command = [sys.executable, "-m", "elicitation_receipts.main", "report", "completion"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
