"""Consent records: what was asked and answered, in the terms of two standards.

``iso27560``: ISO/IEC TS 27560:2023 in the vocabulary of the W3C Data Privacy Vocabulary, one record
an elicitation with its events. ``kantara``: Consent Receipt v1.1.0, one receipt an answer.

**An accept is not consent by itself.** It is ``ConsentGiven`` only where a person is claimed to
have given it, the answer was valid, and policy says which purpose and which notice apply; of a URL
not before it was completed. Every other accept is ``ConsentUnknown``. What a receipt cannot know is
left out, and ``LEFT_OUT`` says so in every document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from itertools import groupby
from typing import Any, Final

import duckdb

from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.queries.parameter import Value

Record = dict[str, Any]


class Standard(StrEnum):
    ISO27560 = "iso27560"
    KANTARA = "kantara"


SCHEMA_VERSION: Final = {
    Standard.ISO27560: "ISO/IEC TS 27560:2023",
    Standard.KANTARA: "KI-CR-v1.1.0",
}
#: What the standards want and no receipt knows: it is the business of whoever runs the server.
LEFT_OUT: Final = {
    Standard.ISO27560: [
        "language",
        "jurisdiction",
        "pii_information",
        "storage_locations",
        "recipient_third_parties",
        "withdrawal_method",
        "address and contact of parties",
    ],
    Standard.KANTARA: [
        "jurisdiction",
        "language",
        "publicKey",
        "policyUrl",
        "sensitive",
        "spiCat",
        "piiCategory",
        "purposeCategory",
        "primaryPurpose",
        "thirdPartyDisclosure",
        "thirdPartyName",
        "address, email and phone of piiControllers",
    ],
}

_EVENTS: Final = """
    SELECT receipts.*, picked.answered_by
    FROM picked
    JOIN receipts ON receipts.elicitation_id = picked.elicitation_id
    WHERE event IN ('requested', 'answered', 'completed', 'expired')
    ORDER BY picked.put_at, receipts.elicitation_id, receipts.stream_id, receipts.sequence
"""
_REFUSED: Final = ("declined", "cancelled")


def records(
    catalogue: Catalogue,
    connection: duckdb.DuckDBPyConnection,
    standard: Standard,
    values: Mapping[str, Value],
    *,
    with_subject: bool,
) -> Iterator[Record]:
    """The records, oldest question first. ``with_subject``: with the subject's keyed reference."""
    catalogue.pick(connection, "completion", values)
    answer = connection.execute(_EVENTS)
    names = [column[0] for column in answer.description]
    for _, life in groupby(_rows(answer, names), key=lambda row: row["elicitation_id"]):
        events = list(_carrying(life))
        if not with_subject:
            events = [{**event, "subject_ref_value": None} for event in events]
        if standard is Standard.ISO27560:
            yield _record(events)
        else:
            yield from _receipts(events)


def state(event: Mapping[str, Any]) -> str:
    """The consent event of DPV that a receipt's event is."""
    if event["event"] == "requested":
        return "ConsentRequested"
    if event["event"] == "expired":
        return "ConsentExpired"
    by = event["answered_by"] if event["event"] == "completed" else event["decided_by"]
    if by != "person_claimed":
        return "ConsentUnknown"
    if event["outcome"] in _REFUSED:
        return "ConsentRefused"
    given = event["outcome"] in ("accepted", "completed")
    applies = event["purpose"] is not None and event["notice"] is not None
    return "ConsentGiven" if given and applies else "ConsentUnknown"


def _carrying(life: Iterable[Record]) -> Iterator[Record]:
    """Purpose and notice hold from the receipt that names them on."""
    held: Record = {}
    for event in life:
        named = {name: event[name] for name in ("purpose", "notice") if event[name] is not None}
        held |= named
        yield event | held


def _rows(answer: duckdb.DuckDBPyConnection, names: list[str]) -> Iterator[Record]:
    while rows := answer.fetchmany(10_000):
        for row in rows:
            yield dict(zip(names, row, strict=True))


def _record(events: list[Record]) -> Record:
    first = events[0]
    return _known(
        schema_version=SCHEMA_VERSION[Standard.ISO27560],
        record_id=str(first["elicitation_id"]),
        pii_principal_id=_subject(events),
        privacy_notice=_latest(events, "notice"),
        purpose=_latest(events, "purpose"),
        collection_method=_method(events),
        pii_controllers=_controllers(first, "party_id"),
        retention_period=_latest(events, "retention_class"),
        policy=_policy(events),
        events=[
            _known(
                receipt_id=str(event["receipt_id"]),
                event_time=_time(event["occurred_at"]).isoformat(),
                event_type=f"dpv:{state(event)}",
                event_state=event["outcome"],
                decided_by=event["decided_by"],
            )
            for event in events
        ],
    )


def _receipts(events: list[Record]) -> Iterator[Record]:
    for event in events:
        if event["event"] == "requested":
            continue
        purpose = event["purpose"]
        stated = _known(
            purpose=purpose,
            consentType="EXPLICIT" if state(event) == "ConsentGiven" else None,
            termination=event["retention_class"],
        )
        yield _known(
            version=SCHEMA_VERSION[Standard.KANTARA],
            consentReceiptID=str(event["receipt_id"]),
            consentTimestamp=int(_time(event["occurred_at"]).timestamp()),
            collectionMethod=_method(events),
            piiPrincipalId=_subject(events),
            piiControllers=_controllers(event, "piiController"),
            services=[_known(service=event["tool"], purposes=[stated])] if stated else None,
            # Version 1.1 has no word for an answer that is no consent.
            **{"x-consentState": state(event), "x-policy": _policy(events)},
        )


def _known(**fields: Any) -> Record:
    """The fields that are known."""
    return {name: value for name, value in fields.items() if value not in (None, [], {})}


def _latest(events: list[Record], name: str) -> Any:
    return next((event[name] for event in reversed(events) if event[name] is not None), None)


def _subject(events: list[Record]) -> str | None:
    value = _latest(events, "subject_ref_value")
    return None if value is None else f"{_latest(events, 'subject_ref_key_id')}.{value.hex()}"


def _method(events: list[Record]) -> str:
    words = (_latest(events, "mode"), _latest(events, "carrier"))
    return " by ".join(str(word) for word in words if word)


def _controllers(event: Mapping[str, Any], name: str) -> list[Record]:
    """The server, which gives itself this name: nobody has vouched for it."""
    if event["server_name"] is None:
        return []
    return [{name: event["server_name"], "x-identity": event["identity"]}]


def _policy(events: list[Record]) -> Record:
    digest = _latest(events, "policy_digest")
    return _known(
        id=_latest(events, "policy_id"),
        version=_latest(events, "policy_version"),
        digest=digest.hex() if digest else None,
    )


def _time(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)
