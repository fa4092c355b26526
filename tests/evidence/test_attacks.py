"""What somebody who has the files can try, and what `receipts verify` says to it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import pytest
from attacks import ATTACKS, options
from scene import Scene

from elicitation_receipts.consumers.rows import columns
from elicitation_receipts.evidence.report import Finding, Findings
from elicitation_receipts.evidence.store import read_folder
from elicitation_receipts.evidence.verify import Question, verify
from elicitation_receipts.evidence_sources import TableReceipts


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A scene nobody has touched: for copies."""
    return Scene.build(tmp_path_factory.mktemp("scene"))


@pytest.fixture
def scene(whole: Scene, tmp_path: Path) -> Scene:
    """A scene of the test's own."""
    return whole.copy(tmp_path / "scene")


def test_what_nobody_touched_holds(whole: Scene) -> None:
    for source in ([], [str(whole.bundle)], [str(whole.database_file)]):
        verified = whole.verify(
            *source, "--keys", str(whole.pins), "--against", str(whole.earlier), "--as-of", "1h"
        )
        assert set(verified.verdicts.values()) == {"holds"}
        assert (verified.code, verified.found) == (0, set())


def test_without_options_three_questions_stay_open(whole: Scene) -> None:
    verified = whole.verify()
    assert verified.code == 0
    unchecked = {check for check, verdict in verified.verdicts.items() if verdict == "not checked"}
    assert unchecked == {"authenticity", "freshness", "continuity"}


@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_is_seen_and_named(name: str, scene: Scene) -> None:
    attack = ATTACKS[name]
    source = attack.make(scene)
    verified = scene.verify(*source, *options(attack, scene))
    assert verified.classes == attack.classes
    assert verified.code == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_without_its_check_the_attack_would_succeed(name: str, scene: Scene) -> None:
    """Nothing else would have told: with the finding left out, no question fails."""
    attack = ATTACKS[name]
    source = attack.make(scene)
    add = Findings.add

    def leave_out(findings: Findings, finding: Finding) -> None:
        if finding.kind not in attack.classes:
            add(findings, finding)

    with (
        patch.object(Findings, "add", leave_out),
        patch("elicitation_receipts.verify.refused", _unrefused),
    ):
        verified = scene.verify(*source, *options(attack, scene))
    assert "fails" not in verified.verdicts.values()
    assert verified.code != 1


@pytest.fixture(scope="module")
def database(whole: Scene) -> Iterator[Any]:
    """The landed rows, in memory; each test puts back what it changed."""
    with duckdb.connect(":memory:") as database:
        database.execute(f"ATTACH '{whole.database_file}' AS home (READ_ONLY)")
        database.execute("CREATE TABLE untouched AS FROM home.receipts")
        database.execute("DETACH home")
        database.execute("CREATE TABLE receipts AS FROM untouched")
        yield database


class TestEveryField:
    """One field of one landed row, whichever the schema has."""

    @pytest.mark.parametrize("change", ["another", pytest.param("absent", marks=pytest.mark.slow)])
    @pytest.mark.parametrize("column", [*columns(), "leaf_hash", "fingerprint"])
    def test_a_change_is_seen(
        self, column: str, change: str, whole: Scene, database: duckdb.DuckDBPyConnection
    ) -> None:
        [(stream,)] = database.execute(
            "SELECT stream_id FROM receipts WHERE act_target = 'target' AND tenant = 'default'"
        ).fetchall()
        kinds = dict(
            database.execute(
                "SELECT column_name, data_type FROM information_schema.columns"
                " WHERE table_name = 'receipts'"
            ).fetchall()
        )
        database.execute(
            f"UPDATE receipts SET {column} = {_other(column, kinds[column], change)}"
            " WHERE stream_id = ? AND sequence = 1",
            [stream],
        )
        question = Question(evidence=read_folder(whole.evidence))
        report = verify(TableReceipts(database), question)
        database.execute("CREATE OR REPLACE TABLE receipts AS FROM untouched")
        assert report.exit_code == 1
        if column in ("stream_id", "sequence"):
            return  # it stands somewhere else now: that place and the one it left are named
        found = {(each.stream_id, each.sequence) for each in report.findings}
        assert found == {(stream, 1)}
        assert {each.kind for each in report.findings} <= {
            "altered",
            "out_of_vocabulary",
            "wrong_type",
            "unknown_fingerprint",
            "broken_link",
        }


def test_an_older_state_looks_whole_without_options(scene: Scene) -> None:
    """The limit that the documentation names: nothing in the home is newer than it."""
    source = ATTACKS["fork"].make(scene)
    assert scene.verify(*source).code == 0


def test_nothing_to_verify_is_no_success(scene: Scene) -> None:
    source = ATTACKS["delete everything"].make(scene)
    verified = scene.verify(*source)
    assert verified.code == 4
    assert set(verified.verdicts.values()) == {"not checked"}


def test_files_may_be_renamed_and_moved(scene: Scene, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for number, path in enumerate(sorted(scene.evidence.rglob("*.note"))):
        shutil.move(path, elsewhere / f"{number}.note")
    shutil.move(scene.evidence / "keys/0001.vkey", elsewhere / "our.vkey")
    database = shutil.move(scene.database_file, tmp_path / "some.db")
    bundle = shutil.move(scene.bundle, tmp_path / "sent")
    spool = shutil.copy(scene.home / "spool.db", tmp_path / "some.sqlite")
    for source in (database, spool):
        verified = scene.verify(str(source), "--evidence", str(elsewhere))
        assert verified.code == 0, verified.rows
    assert scene.verify(str(bundle)).code == 0


def test_the_same_from_every_source(scene: Scene, tmp_path: Path) -> None:
    parquet = tmp_path / "receipts.parquet"
    with scene.database() as database:
        database.execute(f"COPY receipts TO '{parquet}' (FORMAT parquet)")
    dump = tmp_path / "dump"
    shutil.copy(Path(ATTACKS["append to a datum"].make(scene)[0]), tmp_path / "broken")
    from attacks import _in_dump

    shutil.copy(Path(_in_dump(lambda messages: messages[::-1] + messages)(scene)[0]), dump)
    verdicts = [
        scene.verify(str(source)).verdicts
        for source in (scene.database_file, scene.home / "spool.db", parquet, dump)
    ]
    assert all(each == verdicts[0] for each in verdicts)
    assert "fails" not in verdicts[0].values()


def _other(column: str, kind: str, change: str) -> str:
    """SQL for another value of a column, or none."""
    if change == "absent":
        return "NULL"
    if kind.endswith("[]"):
        return "[]"
    match kind:
        case "VARCHAR":
            return f"{column} || 'x'"
        case "BLOB":
            return f"unhex(substr(sha256(hex({column})), 1, 2 * octet_length({column})::INT))"
        case "UUID":
            return "'99999999-9999-4999-8999-999999999999'"
        case "TIMESTAMP":
            return f"{column} + INTERVAL 1 MICROSECOND"
    return f"{column} + 100"


def _unrefused(kind: str, detail: str) -> object:
    """A report as it would be if nobody had looked at how the archive is made."""
    from elicitation_receipts.evidence.report import Answer, Check, Report, Verdict

    answers = [Answer(check, Verdict.HOLDS, json.dumps([kind, detail])) for check in Check]
    return Report(answers, [], 0, [], frozenset())
