"""Ship and land over TLS with a login, by the settings alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command import run_here
from sample import PRODUCER, receipt
from secure_broker import MECHANISMS, PASSWORD, USER, SecureBroker

from elicitation_receipts.schemas.spool import Spool

pytestmark = [pytest.mark.slow, pytest.mark.kafka]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, kafka: str) -> Iterator[SecureBroker]:
    """Where `kafka` can be had, so can this one; without, the test is skipped as others are."""
    broker = SecureBroker(tmp_path_factory.mktemp("secure"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    with Spool.open(path) as spool:
        stream = spool.stream_for("default", PRODUCER)
        spool.append([receipt(stream) for _ in range(20)])
    return path


@pytest.fixture
def login(broker: SecureBroker, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in {
        "": broker.secure_address,
        "_SECURITY_PROTOCOL": "SASL_SSL",
        "_SASL_PLAIN_USERNAME": USER,
        "_SASL_PLAIN_PASSWORD": PASSWORD,
        "_SSL_CAFILE": str(broker.certificate),
    }.items():
        monkeypatch.setenv(f"RECEIPTS_KAFKA{name}", value)
    return monkeypatch


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_with_a_login(home: Path, login: pytest.MonkeyPatch, mechanism: str) -> None:
    login.setenv("RECEIPTS_KAFKA_SASL_MECHANISM", mechanism)
    login.setenv("RECEIPTS_KAFKA_TOPIC", f"receipts-{mechanism}")
    assert run_here(home, "ship", "--create-topic").out == "shipped 21\n"
    assert run_here(home, "land").out == "landed 21, duplicates 0, rejected 0, breaks 0\n"

    login.setenv("RECEIPTS_KAFKA_SASL_PLAIN_PASSWORD", "not-sesame-4712")
    with Spool.open(home) as spool:
        spool.append([receipt(spool.stream_for("default", PRODUCER))])
    for command in ("ship", "land"):
        ended = run_here(home, command)
        assert ended.code == 3
        assert ended.err.startswith("receipts: broker_refused: ")
        assert "4712" not in ended.err


def test_a_broker_that_is_not_trusted_gets_nothing(home: Path, login: pytest.MonkeyPatch) -> None:
    login.setenv("RECEIPTS_KAFKA_SASL_MECHANISM", "PLAIN")
    login.delenv("RECEIPTS_KAFKA_SSL_CAFILE")
    ended = run_here(home, "ship", "--timeout", "1")
    assert ended.code == 3
    assert ended.err.startswith("receipts: broker_untrusted: ")

    with Spool.open(home) as spool:
        assert len(spool.unshipped(100)) == 21
