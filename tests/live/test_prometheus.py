"""A real Prometheus scrapes us: its queries give the reports' numbers, and our rules hold."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"
PATIENCE = 90.0

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def prometheus() -> None:
    """Skips without Debian's `prometheus`; fails where `RECEIPTS_REQUIRE_PROMETHEUS=1`."""
    if shutil.which("prometheus") and shutil.which("promtool"):
        return
    if os.environ.get("RECEIPTS_REQUIRE_PROMETHEUS") == "1":
        pytest.fail("prometheus and promtool are not on the PATH")
    pytest.skip("prometheus and promtool are not on the PATH")


def promtool(*arguments: str | Path) -> None:
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_valid_and_do_what_they_say() -> None:
    folder = DEPLOY / "prometheus"
    promtool("check", "config", folder / "prometheus.yml")
    promtool("check", "rules", folder / "rules.yml")
    promtool("test", "rules", folder / "rules_test.yml")


@contextmanager
def process(*command: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        command, env=os.environ | variables, stderr=subprocess.PIPE, text=True
    )
    assert started.stderr is not None
    try:
        yield started
    finally:
        started.terminate()
        started.wait(30)
        started.stderr.close()


def receipts(home: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "elicitation_receipts", *arguments],
        env=os.environ | {"RECEIPTS_HOME": str(home)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def query(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Callable[[str], Any]]]:
    """The home of a demo, and a function that asks the Prometheus that scrapes it."""
    home = tmp_path_factory.mktemp("prometheus") / "home"
    receipts(home, "--home", str(home), "demo")
    command = [sys.executable, "-m", "elicitation_receipts", "metrics", "--listen", "127.0.0.1:0"]
    with process(*command, RECEIPTS_HOME=str(home)) as exporter:
        assert exporter.stderr is not None
        target = exporter.stderr.readline().split("//")[-1].split("/")[0]
        config = home.parent / "prometheus.yml"
        text = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
        text = text.replace("127.0.0.1:9464", target).replace("30s", "1s")
        config.write_text(text.replace("rules.yml", str(DEPLOY / "prometheus" / "rules.yml")))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        storage = home.parent / "data"
        options = [f"--config.file={config}", f"--storage.tsdb.path={storage}"]
        with process("prometheus", *options, f"--web.listen-address={address}"):
            ask = asking(address)
            wait_until(lambda: ask("elicitation_receipts_put_total"))
            yield home, ask


def asking(address: str) -> Callable[[str], Any]:
    def ask(expression: str) -> Any:
        encoded = urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(
                f"http://{address}/api/v1/query?{encoded}", timeout=10
            ) as response:
                return json.load(response)["data"]["result"]
        except urllib.error.HTTPError as error:
            pytest.fail(f"{expression}: {error.read().decode()}")
        except OSError:
            return []  # it is starting

    return ask


def wait_until(is_there: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_there():
        assert time.monotonic() < deadline, "nothing was scraped"
        time.sleep(0.5)


def by_label(result: Any, label: str) -> dict[str, float]:
    return {series["metric"].get(label, ""): float(series["value"][1]) for series in result}


def test_its_numbers_are_the_reports(query: tuple[Path, Callable[[str], Any]]) -> None:
    home, ask = query
    report = receipts(home, "report", "completion", "--by", "carrier", "--format", "json")
    rows = json.loads(report)["rows"]
    assert rows
    put = by_label(ask("sum by (carrier) (elicitation_receipts_put_total)"), "carrier")
    assert put == {row["carrier"]: row["put"] for row in rows}
    for standing in ("accepted", "completed", "automatic", "declined", "cancelled", "invalid"):
        found = by_label(
            ask(f'sum by (carrier) (elicitation_receipts_questions{{standing="{standing}"}})'),
            "carrier",
        )
        expected = {row["carrier"]: row[standing] for row in rows if row[standing]}
        assert found == expected, standing
    waits = json.loads(receipts(home, "report", "resume", "--format", "json"))["rows"]
    for row in waits:
        if row["interval"] in ("human_wait", "ceremony", "time_to_resume") and row["count"]:
            selector = f'elicitation_receipts_wait_seconds_count{{interval="{row["interval"]}"}}'
            [series] = ask(f"sum({selector})")
            assert float(series["value"][1]) == row["count"]


def test_every_expression_of_the_dashboard_is_one(
    query: tuple[Path, Callable[[str], Any]],
) -> None:
    """Prometheus answers each, its variables filled in as Grafana does."""
    _, ask = query
    dashboard = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(expressions) > 10
    for expression in expressions:
        for variable, value in (
            ("$__range", "1h"),
            ("$server", ".*"),
            ("$client", ".*"),
            ("$mode", ".*"),
        ):
            expression = expression.replace(variable, value)
        assert isinstance(ask(expression), list), expression
        assert "$" not in expression
