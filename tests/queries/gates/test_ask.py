"""What a combination has shown, asked of a database of hand-made lives."""

from __future__ import annotations

from typing import Any

import pytest
from lives import (
    AUTOMATIC,
    DAY,
    POLICY,
    START,
    Lives,
    answered,
    completed,
    ended,
    refused,
    requested,
    resumed,
)

from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.queries.gates.ask import ask
from elicitation_receipts.queries.gates.judge import Shown
from elicitation_receipts.schemas.errors import NotEnoughError
from elicitation_receipts.schemas.receipt import Finding, Keyed
from elicitation_receipts.schemas.vocabulary import (
    FindingName,
    Gate,
    Mode,
    Outcome,
    Presentation,
    Severity,
)

ORIGIN: dict[str, Any] = {
    "server_name": "files",
    "server_version": "2.0",
    "client_name": "editor",
    "client_version": "7",
    "flow": "sign-up",
    "protocol_version": "2025-11-25",
    "capability_digest": Keyed("0" * 12, b"\xab" * 32),
    "policy_digest": b"\xcd" * 32,
    "environment": "production",
}
SECRET = Finding(FindingName.SECRET_FIELD, Severity.ERROR, Gate.HARD)


def shown(lives: Lives, **values: Any) -> list[Shown]:
    return ask(Catalogue(), lives.connection, values)


def test_a_combination_is_everything_a_verdict_depends_on(lives: Lives) -> None:
    lives.add(requested(), answered(Outcome.ACCEPTED), **ORIGIN)
    [only] = shown(lives)
    assert only.combination.changed_since(only.combination) == []
    assert only.combination.capability == "ab" * 6
    assert only.combination.policy == "cd" * 6
    assert only.combination.server_version == "2.0"
    assert only.combination.environment == "production"


@pytest.mark.parametrize(
    ("field", "value", "member"),
    [
        ("server_name", "mail", "server"),
        ("server_version", "2.1", "server_version"),
        ("client_name", "shell", "client"),
        ("client_version", "8", "client_version"),
        ("flow", "billing", "flow"),
        ("protocol_version", "2026-07-28", "protocol_version"),
        ("capability_digest", Keyed("0" * 12, bytes(32)), "capability"),
        ("policy_digest", bytes(32), "policy"),
        ("environment", "staging", "environment"),
    ],
)
def test_the_latest_comes_first_and_says_what_changed(
    field: str, value: Any, member: str, lives: Lives
) -> None:
    lives.add(requested(), answered(Outcome.ACCEPTED), at=START + DAY, **ORIGIN | {field: value})
    lives.add(requested(), answered(Outcome.ACCEPTED), **ORIGIN)
    latest, before = shown(lives)
    assert latest.combination.changed_since(before.combination) == [member]
    assert (latest.numbers["put"], before.numbers["put"]) == (1, 1)


def test_each_number_counts_what_it_says(lives: Lives) -> None:
    lives.add(requested(), answered(Outcome.ACCEPTED), resumed(), **ORIGIN)
    lives.add(requested(), answered(Outcome.DECLINED), **ORIGIN)
    lives.add(requested(), answered(Outcome.CANCELLED), **ORIGIN)
    lives.add(requested(), ended(Outcome.EXPIRED), **ORIGIN)
    lives.add(requested(), refused(Outcome.BLOCKED, POLICY), **ORIGIN)
    url: dict[str, Any] = {"mode": Mode.URL, "presentation": Presentation.URL}
    lives.add(requested(), answered(Outcome.CONSENTED), completed(), **ORIGIN, **url)
    lives.add(requested(), answered(Outcome.CONSENTED, AUTOMATIC, after=1), **ORIGIN, **url)
    [only] = shown(lives)
    assert only.numbers == {
        "put": 6,
        "answered": 4,
        "refused": 2,
        "resumed": 1,
        "urls_completed": 1,
        "interrupted": 2,
        "automatic_navigations": 1,
    }


def test_findings_come_with_receipts_that_show_them(lives: Lives) -> None:
    for _ in range(7):
        lives.add(requested(findings=(SECRET,)), answered(Outcome.ACCEPTED), **ORIGIN)
    [only] = shown(lives)
    [found] = only.findings
    assert (found.gate, found.name, found.severity, found.count) == (
        "hard",
        "secret_field",
        "error",
        7,
    )
    query = "SELECT receipt_id::VARCHAR FROM receipts WHERE len(findings) > 0"
    ids = {row[0] for row in lives.connection.execute(query).fetchall()}
    assert len(found.receipts) == 5
    assert set(found.receipts) < ids


def test_filters_choose_the_combination(lives: Lives) -> None:
    lives.add(requested(), answered(Outcome.ACCEPTED), at=START + DAY, **ORIGIN)
    lives.add(requested(), answered(Outcome.ACCEPTED), **ORIGIN | {"flow": "billing"})
    [only] = shown(lives, flow=["billing"])
    assert only.combination.flow == "billing"


def test_nothing_to_judge(lives: Lives) -> None:
    with pytest.raises(NotEnoughError, match="nothing_to_judge"):
        shown(lives)
