"""`receipts export`, `receipts report all`, `show` and `query` from the command line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest
from lives import Lives, answered, requested, resumed

from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.schemas.vocabulary import Outcome

Receipts = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def landed(home: Path) -> Path:
    """A home where thirty questions were accepted and two declined."""
    home.mkdir(mode=0o700)
    with Warehouse(home / "warehouse.duckdb").open() as database:
        lives = Lives(database)
        for outcome in [Outcome.ACCEPTED] * 30 + [Outcome.DECLINED] * 2:
            lives.add(requested(), answered(outcome), resumed())
    return home


@pytest.mark.slow
def test_all_reports_are_for_an_auditor_unless_said_otherwise(
    landed: Path, receipts: Receipts
) -> None:
    published = json.loads(receipts("report", "all", "--format", "json").stdout)
    assert list(published) == list(Catalogue().questions)
    assert {report["profile"] for report in published.values()} == {"auditor"}
    [row] = published["completion"]["rows"]
    assert (row["put"], row["accepted"], row["declined"]) == ("31-40", 30, "<11")
    profile = ("--profile", "operator")
    full = json.loads(receipts("report", "all", "--format", "json", *profile).stdout)
    assert full["completion"]["rows"][0]["put"] == 32


def test_one_report_is_for_the_operator_unless_a_setting_says_otherwise(
    landed: Path, receipts: Receipts
) -> None:
    def declined() -> object:
        done = receipts("report", "declines", "--format", "json")
        return json.loads(done.stdout)["rows"][0]["declined"]

    assert declined() == 2
    (landed / "receipts.toml").write_text('profile = "auditor"\nsuppress_below = 5\n')
    assert declined() == "<5"


@pytest.mark.slow
def test_a_page_is_written_whole(landed: Path, receipts: Receipts) -> None:
    file = landed.parent / "report.html"
    options = ("--format", "html", "--lang", "es", "--output", str(file))
    done = receipts("report", "all", *options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = file.read_text(encoding="utf-8")
    assert text.startswith('<!doctype html>\n<html lang="es">')
    assert text.rstrip().endswith("</html>")


def test_charts_stand_below_the_table(landed: Path, receipts: Receipts) -> None:
    plain = receipts("report", "completion").stdout
    done = receipts("report", "completion", "--chart")
    assert done.stdout.startswith(plain)
    assert "━" in done.stdout.removeprefix(plain)


@pytest.mark.parametrize("standard", ["iso27560", "kantara"])
def test_consent_records_go_out(standard: str, landed: Path, receipts: Receipts) -> None:
    document = json.loads(receipts("export", "--standard", standard).stdout)
    assert document["profile"] == "auditor"
    assert len(document["records"]) == 32
    assert document["left_out"]


@pytest.mark.slow
def test_parquet_goes_out_by_day(landed: Path, receipts: Receipts) -> None:
    folder = landed.parent / "out"
    options = ("export", "--format", "parquet", "--output", str(folder))
    done = receipts(*options)
    assert (done.returncode, done.stderr) == (0, "")
    table = pyarrow.parquet.read_table(folder / "declines" / "day=2026-11-01" / "data.parquet")
    assert table.to_pylist()[0]["declined"] == "<11"
    assert table.schema.metadata[b"profile"] == b"auditor"
    done = receipts(*options)
    assert (done.returncode, done.stderr.split(":")[1]) == (2, " output_exists")

    everything = landed.parent / "everything"
    receipts(*options[:-1], str(everything), "--profile", "operator")
    rows = pyarrow.parquet.read_table(everything / "elicitations").to_pylist()
    assert len(rows) == 32


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "export_of_what"),
        (["--standard", "kantara", "--format", "parquet"], "export_of_what"),
        (["--format", "parquet"], "parquet_needs_output"),
        (["--standard", "kantara", "--since", "soon"], "bad_time"),
    ],
)
def test_an_export_of_nothing_is_refused_by_name(
    options: list[str], reason: str, landed: Path, receipts: Receipts
) -> None:
    done = receipts("export", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"receipts: {reason}: ")


def test_a_query_leads_to_a_life(landed: Path, receipts: Receipts) -> None:
    file = landed.parent / "declined.sql"
    file.write_text("SELECT elicitation_id FROM elicitations WHERE state = 'declined' LIMIT 1")
    asked = json.loads(receipts("query", str(file), "--format", "json").stdout)
    [row] = asked["rows"]
    told = json.loads(receipts("show", row["elicitation_id"][:13], "--format", "json").stdout)
    assert [each["event"] for each in told["rows"]] == ["requested", "answered", "resumed"]
    done = receipts("query", str(landed.parent / "none.sql"))
    assert done.stderr.startswith("receipts: query_unreadable: ")
