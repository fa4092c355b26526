"""`receipts demo`: the whole path in a home of its own, with and without Kafka."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from elicitation_receipts.consumers.warehouse import Warehouse
from elicitation_receipts.demo.scenes import COUNT, play
from elicitation_receipts.leaks import LeakSearch
from elicitation_receipts.queries.catalogue import Catalogue, Cell
from elicitation_receipts.schemas.errors import ReceiptsError

Ended = subprocess.CompletedProcess[str]
QUESTIONS = ("completion", "declines", "validation", "resume")

#: What each era comes to; one question more was put where the server could not know better.
ENDED = {
    "accepted": 2,
    "completed": 1,
    "automatic": 1,
    "declined": 1,
    "cancelled": 1,
    "unsupported": 1,
    "abandoned": 1,
    "unproven": 1,
}


@dataclass(frozen=True)
class Demo:
    """A demo that has ended, and where it put things."""

    ended: Ended
    home: Path
    own_home: Path

    def report(self, question: str, *by: str) -> list[dict[str, Cell]]:
        with Warehouse(self.home / "warehouse.duckdb").read() as database:
            result = Catalogue().run(database, question, {"by": list(by)})
        return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


def command(*arguments: str, **variables: str) -> Ended:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RECEIPTS_", "OTEL_"))
    }
    return subprocess.run(
        [sys.executable, "-m", "elicitation_receipts.main", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env=environment | variables,
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """As a newcomer runs it who has receipts of their own."""
    folder = tmp_path_factory.mktemp("demo")
    own_home = folder / "own"
    ended = command("demo", XDG_DATA_HOME=str(folder / "data"), RECEIPTS_HOME=str(own_home))
    [home] = (folder / "data" / "elicitation-receipts-demo").iterdir()
    return Demo(ended, home, own_home)


@pytest.mark.slow
def test_it_plays_lands_reports_and_finds_no_leak(demo: Demo) -> None:
    assert demo.ended.stderr == ""
    assert demo.ended.returncode == 0
    said = demo.ended.stdout
    assert len(re.findall(rf"^ *\d+ of {COUNT}  MCP ", said, re.MULTILINE)) == COUNT
    assert re.search(r"^landed \d+ receipts from the spool$", said, re.MULTILINE)
    assert re.findall(r"\(receipts report (\w+)", said) == list(QUESTIONS)
    assert str(demo.home) in said
    last = said.splitlines()[-1]
    found = re.fullmatch(
        r"searched (\d+) files, (\d+) bytes, (\d+) values in 5 encodings: nothing found", last
    )
    assert found
    files, size, values = map(int, found.groups())
    assert files >= 5
    assert size >= (demo.home / "warehouse.duckdb").stat().st_size
    assert values >= 30


@pytest.mark.slow
def test_every_question_came_to_the_end_it_was_meant_to(demo: Demo) -> None:
    rows = {row.pop("carrier"): row for row in demo.report("completion", "carrier")}
    assert set(rows) == {"server_request", "multi_round_trip"}
    for row in rows.values():
        assert {name: row[name] for name in ENDED} == ENDED
        others = row.keys() - ENDED.keys() - {"put", "rounds", "completion_rate"}
        assert {row[name] for name in others} == {0}
    assert (rows["server_request"]["put"], rows["multi_round_trip"]["put"]) == (9, 8)


@pytest.mark.slow
def test_it_stays_out_of_the_users_own_home(demo: Demo) -> None:
    assert not demo.own_home.exists()


@pytest.mark.slow
def test_a_home_with_receipts_in_it_is_refused(demo: Demo) -> None:
    before = (demo.home / "warehouse.duckdb").read_bytes()
    ended = command("--home", str(demo.home), "demo")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.startswith("receipts: demo_home_taken: ")
    assert (demo.home / "warehouse.duckdb").read_bytes() == before


@pytest.mark.slow
@pytest.mark.kafka
def test_through_kafka_the_answers_are_the_same(demo: Demo, kafka: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    ended = command("--home", str(home), "demo", "--kafka", kafka)
    assert (ended.returncode, ended.stderr) == (0, "")
    shipped = re.search(
        r"^shipped (\d+) receipts to Kafka, landed \1 from there$", ended.stdout, re.MULTILINE
    )
    assert shipped
    assert f" and {shipped[1]} Kafka records, " in ended.stdout.splitlines()[-1]
    through_kafka = Demo(ended, home, home)
    for question in QUESTIONS:
        by = ("carrier", "mode", "tool", "server", "client", "policy_version")
        answer = counts(through_kafka.report(question, *by))
        assert answer
        assert answer == counts(demo.report(question, *by))


def counts(rows: list[dict[str, Cell]]) -> list[dict[str, Cell]]:
    """Without the seconds: no two persons are equally fast."""
    return [{name: row[name] for name in row if not name.endswith("_seconds")} for row in rows]


@pytest.mark.slow
def test_a_broker_that_does_not_answer_is_told_before_anything_is_played(tmp_path: Path) -> None:
    ended = command("--home", str(tmp_path / "home"), "demo", RECEIPTS_KAFKA="127.0.0.1:1")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.startswith("receipts: broker_unavailable: ")


def test_without_the_extra_it_says_what_to_install(
    receipts: Callable[..., Ended], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp_types", None)  # as Python marks what is not there
    ended = receipts("--home", str(home), "demo")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr == (
        "receipts: demo_extra_missing: the demo needs the MCP SDK: "
        "pip install 'elicitation-receipts[demo]'\n"
    )
    assert not home.exists()


@pytest.mark.parametrize("server", [["false"], ["no-such-command"]])
def test_a_server_that_does_not_speak_is_a_named_error(tmp_path: Path, server: list[str]) -> None:
    log = tmp_path / "log"
    with (
        log.open("w") as stream,
        pytest.raises(ReceiptsError, match=r"^demo_interrupted: ") as error,
    ):
        play(server, stream, lambda _era, _scene: None)
    assert str(log) in str(error.value)


@pytest.mark.slow
def test_what_a_careless_watcher_keeps_is_found(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    server = f"{sys.executable} -m elicitation_receipts.demo.server"
    with (tmp_path / "log").open("w") as log:
        said = play(
            ["sh", "-c", f"tee {kept}/$$.in | {server} | tee {kept}/$$.out"],
            log,
            lambda _era, _scene: None,
        )
    for texts, ending in ((said.typed, ".in"), (said.read, ".out")):
        for text in texts:
            search = LeakSearch([text])
            search.folder(kept)
            assert [place for place in search.places if place.endswith(ending)]
