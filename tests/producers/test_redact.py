"""The only way from the wire into a receipt: what passes, and what stands in for the rest."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from conversation import KEYS, form_params, url_params
from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.producers.redact import Redactor, count_dropped
from elicitation_receipts.producers.wire.peers import Peers
from elicitation_receipts.producers.wire.question import Question, read_question
from elicitation_receipts.schemas.identifiers import CONSTRAINTS, is_reference
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.receipt import FailedField, Receipt, Validation
from elicitation_receipts.schemas.vocabulary import Event, Keyword, Mode, ReferenceKind

SECRET = "4711 hunter2"


def redactor(**changes: Any) -> Redactor:
    return Redactor(**{"tenant": "default", "stream_id": UUID(int=1), "keys": KEYS, **changes})


def asked(params: object) -> Question:
    return read_question(params, "2025-11-25")


# Names


@pytest.mark.parametrize("name", ["deploy", "my.tool/v2", "a:b-c_d"])
def test_a_safe_name_passes(name: str) -> None:
    assert redactor().identifier(name, "tool") == name


@pytest.mark.parametrize("name", [SECRET, "", "Ada Lovelace", "user-198004128765", "Zoë", "a" * 65])
def test_for_any_other_name_a_keyed_reference_stands_in(name: str) -> None:
    reference = redactor().identifier(name, "tool")
    assert reference is not None
    assert is_reference(reference)
    assert reference == redactor().identifier(name, "tool")
    assert reference != redactor().identifier(name, "client_name")
    other = redactor(keys=replace(KEYS, reference=Key(b"x" * 32)))
    assert reference != other.identifier(name, "tool")


def test_nothing_stays_nothing() -> None:
    assert redactor().identifier(None, "tool") is None
    assert redactor().version(None, "client_version") is None


@pytest.mark.parametrize("version", ["1.2.3", "v2", "2.0.0-rc.1", "nightly"])
def test_a_version_passes(version: str) -> None:
    assert redactor().version(version, "client_version") == version


@pytest.mark.parametrize("version", [SECRET, "1980-04-12", "1.123456789"])
def test_what_is_no_version_does_not(version: str) -> None:
    found = redactor().version(version, "client_version")
    assert found is not None
    assert is_reference(found)


@given(st.text())
def test_whatever_a_name_becomes_is_allowed_in_a_receipt(text: str) -> None:
    found = redactor().identifier(text, "tool")
    assert found is not None
    assert CONSTRAINTS["identifier"](found)
    found = redactor().version(text, "client_version")
    assert found is not None
    assert CONSTRAINTS["version"](found)


# Peers and operations


def test_peers_that_were_not_seen_say_nothing() -> None:
    assert set(redactor().peers(Peers()).values()) == {None}


def test_capabilities_are_modes_and_a_digest() -> None:
    peers = Peers(capabilities={"elicitation": {"url": {}}, "note": SECRET})
    fields = redactor().peers(peers)
    assert fields["declared_modes"] == (Mode.URL,)
    assert fields["capability_digest"].key_id == KEYS.reference.id
    assert SECRET not in repr(fields)


def test_an_operation_is_method_and_tool() -> None:
    assert redactor().operation("tools/call", "deploy") == {
        "operation_method": "tools/call",
        "tool": "deploy",
    }
    assert redactor().operation("prompts/get", None) == {
        "operation_method": "prompts/get",
        "tool": None,
    }


@pytest.mark.parametrize("uri", ["file:///home/ada/diary.txt", "notes", "mem://a"])
def test_the_address_of_a_resource_is_never_itself(uri: str) -> None:
    tool = redactor().operation("resources/read", uri)["tool"]
    assert is_reference(tool)


def test_a_method_nobody_asks_in_is_a_reference() -> None:
    assert is_reference(redactor().operation("x/secret", "deploy")["operation_method"])


# Questions and answers


def test_the_digest_of_a_question_does_not_depend_on_the_stream_or_the_nonce() -> None:
    question = asked(form_params())
    one = redactor().question(question)
    two = redactor(stream_id=uuid4(), random=os.urandom).question(question)
    assert one == two
    assert one.key_id == KEYS.question.id


def test_the_digest_of_an_answer_is_bound_to_receipt_stream_tenant_and_nonce() -> None:
    content = {"branch": "main"}
    fixed = {"random": bytes}
    base = redactor(**fixed).payload(UUID(int=5), content)
    assert base.key_id == KEYS.payload.id
    assert base == redactor(**fixed).payload(UUID(int=5), {"branch": "main"})
    assert base.value != redactor(**fixed).payload(UUID(int=6), content).value
    assert base.value != redactor(**fixed).payload(UUID(int=5), {"branch": "mane"}).value
    assert base.value != redactor(**fixed, tenant="other").payload(UUID(int=5), content).value
    assert (
        base.value != redactor(**fixed, stream_id=UUID(int=2)).payload(UUID(int=5), content).value
    )
    assert base.value != redactor(random=os.urandom).payload(UUID(int=5), content).value


def test_references_of_different_kinds_differ() -> None:
    values = {redactor().reference(kind, "7").value for kind in ReferenceKind}
    assert len(values) == len(ReferenceKind)


def test_an_address_becomes_its_origin() -> None:
    address = "https://ada:pw@pay.example:443/user/4711?token=secret#top"
    assert redactor().url_origin(address) == "https://pay.example"


# Validation


def test_a_form_is_counted() -> None:
    question = asked(form_params(properties={"a": {}, "b": {}}, required=["a", "zzz"]))
    assert redactor().validation(question) == Validation(requested=2, required=2, answered=0)


def test_an_address_has_no_form_to_count() -> None:
    assert redactor().validation(asked(url_params())) is None


def test_a_failed_field_is_its_safe_name_or_its_place_or_nothing() -> None:
    question = asked(form_params(properties={"safe": {}, SECRET: {}}))
    failed = tuple((name, Keyword.TYPE) for name in ("safe", SECRET, "unasked", None))
    validation = redactor().validation(question, 3, failed)
    assert validation is not None
    assert validation.failed == (
        FailedField("safe", Keyword.TYPE),
        FailedField("[1]", Keyword.TYPE),
        FailedField(None, Keyword.TYPE),
        FailedField(None, Keyword.TYPE),
    )


def test_what_was_left_out_is_counted() -> None:
    receipt = Receipt(
        receipt_id=uuid4(),
        stream_id=uuid4(),
        event=Event.ANSWERED,
        tenant="default",
        producer_name="tests",
        producer_version="1",
        occurred_at=0,
        client_name=redactor().identifier(SECRET, "client_name"),
        server_name="fine",
        url_origin=redactor().url_origin("https://user4711881.example/"),
        validation=Validation(1, 0, 1, (FailedField("[0]", Keyword.TYPE),)),
    )
    assert count_dropped(receipt) == 3


def test_ids_are_random_uuids() -> None:
    ids = {redactor().new_id() for _ in range(100)}
    assert len(ids) == 100
    assert {(number.version, number.variant) for number in ids} == {
        (4, "specified in RFC 4122"),
    }
