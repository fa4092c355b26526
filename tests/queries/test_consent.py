"""Consent records: what may be called consent, what may not, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest
from lives import (
    AUTOMATIC,
    PERSON,
    UNKNOWN,
    Lives,
    Step,
    answered,
    completed,
    ended,
    requested,
)

from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.queries.consent import LEFT_OUT, Standard, records
from elicitation_receipts.schemas.receipt import Keyed
from elicitation_receipts.schemas.vocabulary import DecidedBy, Mode, Outcome

APPLIES = {"purpose": "shipping", "notice": "notice-7"}
SUBJECT = Keyed("a" * 12, b"s" * 32)


def states(lives: Lives, catalogue: Catalogue, *steps: Step, **origin: Any) -> list[str]:
    lives.add(*steps, **origin)
    [record] = found(lives, catalogue)
    return [event["event_type"].removeprefix("dpv:Consent") for event in record["events"]]


def found(
    lives: Lives,
    catalogue: Catalogue,
    standard: Standard = Standard.ISO27560,
    *,
    with_subject: bool = False,
) -> list[dict[str, Any]]:
    made = records(catalogue, lives.connection, standard, {}, with_subject=with_subject)
    return list(made)


@pytest.mark.parametrize(
    ("outcome", "by", "fields", "state"),
    [
        (Outcome.ACCEPTED, PERSON, APPLIES, "Given"),
        (Outcome.ACCEPTED, PERSON, {"purpose": "shipping"}, "Unknown"),
        (Outcome.ACCEPTED, PERSON, {"notice": "notice-7"}, "Unknown"),
        (Outcome.ACCEPTED, PERSON, {}, "Unknown"),
        (Outcome.ACCEPTED, AUTOMATIC, APPLIES, "Unknown"),
        (Outcome.ACCEPTED, UNKNOWN, APPLIES, "Unknown"),
        (Outcome.INVALID, PERSON, APPLIES, "Unknown"),
        (Outcome.CONSENTED, PERSON, APPLIES, "Unknown"),
        (Outcome.DECLINED, PERSON, {}, "Refused"),
        (Outcome.CANCELLED, PERSON, {}, "Refused"),
        (Outcome.DECLINED, AUTOMATIC, APPLIES, "Unknown"),
    ],
)
def test_what_an_answer_is(
    outcome: Outcome,
    by: DecidedBy,
    fields: dict[str, str],
    state: str,
    lives: Lives,
    catalogue: Catalogue,
) -> None:
    steps = [requested(**fields), answered(outcome, by)]
    assert states(lives, catalogue, *steps) == ["Requested", state]


def test_a_url_is_consented_to_when_it_is_completed(lives: Lives, catalogue: Catalogue) -> None:
    steps = [requested(**APPLIES), answered(Outcome.CONSENTED), completed()]
    shown = states(lives, catalogue, *steps, mode=Mode.URL)
    assert shown == ["Requested", "Unknown", "Given"]


def test_an_automatic_consent_is_not_healed_by_a_completion(
    lives: Lives, catalogue: Catalogue
) -> None:
    steps = [requested(**APPLIES), answered(Outcome.CONSENTED, AUTOMATIC), completed()]
    assert states(lives, catalogue, *steps, mode=Mode.URL)[-1] == "Unknown"


def test_an_expiry_is_an_event_too(lives: Lives, catalogue: Catalogue) -> None:
    shown = states(lives, catalogue, requested(), ended(Outcome.EXPIRED))
    assert shown == ["Requested", "Expired"]


@pytest.mark.parametrize("standard", Standard)
def test_what_is_not_known_is_left_out_and_listed(
    standard: Standard, lives: Lives, catalogue: Catalogue
) -> None:
    lives.add(requested(**APPLIES), answered(Outcome.ACCEPTED))
    [record] = found(lives, catalogue, standard)
    assert None not in record.values()
    assert not record.keys() & set(LEFT_OUT[standard])
    assert "language" in LEFT_OUT[standard]


def test_a_kantara_receipt_for_each_answer(lives: Lives, catalogue: Catalogue) -> None:
    lives.add(requested(**APPLIES), answered(Outcome.ACCEPTED), tool="order")
    lives.add(requested(), answered(Outcome.DECLINED))
    given, refused = sorted(
        found(lives, catalogue, Standard.KANTARA), key=lambda one: one["x-consentState"]
    )
    assert given["version"] == "KI-CR-v1.1.0"
    assert given["services"][0]["purposes"] == [{"purpose": "shipping", "consentType": "EXPLICIT"}]
    assert refused["x-consentState"] == "ConsentRefused"
    assert "services" not in refused


def test_a_subject_is_named_only_when_asked_for(lives: Lives, catalogue: Catalogue) -> None:
    lives.add(requested(subject_ref=SUBJECT), answered(Outcome.ACCEPTED))
    [without], [with_] = (found(lives, catalogue, with_subject=it) for it in (False, True))
    assert "pii_principal_id" not in without
    assert with_["pii_principal_id"] == f"{SUBJECT.key_id}.{SUBJECT.value.hex()}"
