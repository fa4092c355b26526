"""The MCP conformance suite finds the same with and without us, and its questions are on record.

What it finds is compared check by check, with all details that it keeps of each.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import conformance_bridge
import conformance_client
import conformance_server
import pytest
from conformance import NEW, OLD, ConformanceError, Suite
from http_demo import proxy
from telling import tell

from elicitation_receipts.schemas.codec import decode
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event

pytestmark = pytest.mark.slow

#: The suite answers at once. On a busy machine at once may take its time.
AT_ONCE = ("--automatic-below-ms", "600000")
#: What the suite sends with each request stands for what a gateway says of who asks.
WHO_ASKS = ("--subject-header", "User-Agent")

#: What the suite types, none of it a member of a question's schema.
TYPED = (
    b"testuser",
    b"test@example.com",
    b"Jane Smith",
    b"Alice",
    b"Paris",
    b"Hello there!",
    b"test context",
)

ACCEPTED = "answered accepted automatic_suspected !implausible_latency"
DESCRIBED = ["requested open", ACCEPTED, "resumed success"]
ASKED = "requested open !missing_description"
ANSWERED = [ASKED, ACCEPTED, "resumed success"]
STRAY = "noted !unknown_response_key"
#: An answer without a state, of a client that does not say who it is.
UNCERTAIN = "answered ambiguous unknown"

#: Scenario: package, and the receipts it leaves.
SERVER_SCENARIOS = {
    "tools-call-elicitation": (OLD, DESCRIBED),
    "elicitation-sep1034-defaults": (OLD, ANSWERED),
    "elicitation-sep1330-enums": (OLD, ANSWERED),
    "input-required-result-basic-elicitation": (NEW, ANSWERED),
    "input-required-result-basic-sampling": (NEW, []),
    "input-required-result-basic-list-roots": (NEW, []),
    "input-required-result-request-state": (NEW, ANSWERED),
    "input-required-result-multiple-input-requests": (NEW, ANSWERED),
    "input-required-result-multi-round": (
        NEW,
        [ASKED, ACCEPTED, ASKED, ACCEPTED, "resumed success", "resumed success"],
    ),
    "input-required-result-missing-input-response": (NEW, [STRAY, ASKED]),
    "input-required-result-non-tool-request": (NEW, ANSWERED),
    "input-required-result-result-type": (NEW, [ASKED]),
    "input-required-result-unsupported-methods": (NEW, []),
    "input-required-result-tampered-state": (
        NEW,
        [
            ASKED,
            "answered accepted automatic_suspected !state_invented !implausible_latency",
            "resumed error",
        ],
    ),
    "input-required-result-capability-check": (NEW, []),
    "input-required-result-ignore-extra-params": (NEW, [STRAY]),
    "input-required-result-validate-input": (NEW, [STRAY, "noted !malformed_message", ASKED]),
}
CLIENT_SCENARIOS = {
    "elicitation-sep1034-client-defaults": (OLD, DESCRIBED),
    # Of its two questions one has no state: who answered it is not known to be who was asked.
    "sep-2322-client-request-state": (NEW, [*DESCRIBED, "requested open", UNCERTAIN]),
}


@pytest.fixture(scope="session")
def suite() -> Suite:
    try:
        return Suite.install()
    except ConformanceError as error:
        pytest.skip(f"no conformance suite: {error}")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving(conformance_server.__file__) as url:
        yield url


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """A script that serves until it is told to end; gives its address."""
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
            process.terminate()
            process.wait(20)
        finally:
            process.kill()


@pytest.mark.parametrize("scenario", SERVER_SCENARIOS)
def test_a_server_is_found_the_same_through_proxy_and_tap(
    suite: Suite, server: str, tap: Callable[..., list[str]], tmp_path: Path, scenario: str
) -> None:
    package, receipts = SERVER_SCENARIOS[scenario]
    direct = suite.server(package, scenario, server, tmp_path / "direct")
    assert {check["status"] for check in direct} == {"SUCCESS"}

    by_proxy = tmp_path / "by_proxy"
    with proxy(by_proxy, server, *AT_ONCE, *WHO_ASKS) as url:
        assert suite.server(package, scenario, url, tmp_path / "proxied") == direct
    assert tell(recorded(by_proxy)) == receipts

    by_tap = tmp_path / "by_tap"
    command = tap(by_tap, sys.executable, conformance_server.__file__, "stdio")
    command[command.index("--") : command.index("--")] = AT_ONCE
    with serving(conformance_bridge.__file__, *command) as url:
        assert suite.server(package, scenario, url, tmp_path / "tapped") == direct
    # Its connection has ended, and with it what was still open.
    ended = ["abandoned runtime !unanswered"] if ASKED in receipts[-1:] else []
    assert tell(recorded(by_tap)) == receipts + ended


@pytest.mark.parametrize("scenario", CLIENT_SCENARIOS)
def test_a_client_is_found_the_same_through_the_proxy(
    suite: Suite, tmp_path: Path, scenario: str
) -> None:
    package, receipts = CLIENT_SCENARIOS[scenario]
    client = [sys.executable, conformance_client.__file__]
    direct = suite.client(package, scenario, client, tmp_path / "direct")
    assert {check["status"] for check in direct} == {"SUCCESS"}
    home = tmp_path / "home"
    watched = suite.client(package, scenario, [*client, str(home)], tmp_path / "watched")
    assert watched == direct
    assert tell(recorded(home)) == receipts


def recorded(home: Path) -> list[Receipt]:
    """The receipts in a home, but for the stream's own events. No file holds what was typed."""
    for path in home.rglob("*"):
        if path.is_file():
            assert not [typed for typed in TYPED if typed in path.read_bytes()], path
    with Spool.open(home, create=False) as spool:
        receipts = [decode(stored.message) for stored in spool.read(0, 10_000)]
    return [
        receipt
        for receipt in receipts
        if receipt.event not in (Event.STREAM_OPENED, Event.POLICY_LOADED)
    ]
