"""Digests: equal for equal content under one key, different in every other case."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from elicitation_receipts.schemas.digest import (
    DigestError,
    canonical,
    canonical_digest,
    keyed,
    payload_digest,
    question_digest,
    reference,
    reference_text,
)
from elicitation_receipts.schemas.identifiers import is_reference
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.vocabulary import Mode, ReferenceKind

KEY, OTHER_KEY = Key(b"\x01" * 32), Key(b"\x02" * 32)
STREAM = UUID(int=1)
RECEIPT = UUID(int=2)
NONCE = bytes(range(16))

words = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
content = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner) | st.dictionaries(words, inner),
    max_leaves=20,
)


def framed(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def by_hand(*parts: bytes) -> bytes:
    return hmac.new(KEY.secret, framed(*parts), hashlib.sha256).digest()


class TestExactBytes:
    """The documented bytes, put together without the code under test."""

    def test_payload(self) -> None:
        digest = payload_digest(KEY, "acme", STREAM, RECEIPT, NONCE, {"b": 1, "a": "é"})
        assert (digest.key_id, digest.nonce) == (KEY.id, NONCE)
        assert digest.value == by_hand(
            b"elicitation-receipts/v1/payload",
            b"acme",
            STREAM.bytes,
            RECEIPT.bytes,
            NONCE,
            '{"a":"é","b":1}'.encode(),
        )

    def test_question(self) -> None:
        schema: dict[str, Any] = {"required": [], "properties": {}}
        digest = question_digest(KEY, Mode.FORM, "Which branch?", schema, None)
        assert digest.key_id == KEY.id
        assert digest.value == by_hand(
            b"elicitation-receipts/v1/question",
            b'["form","Which branch?",{"properties":{},"required":[]},null]',
        )

    def test_reference(self) -> None:
        found = reference(KEY, ReferenceKind.TASK_ID, "é")
        assert (found.kind, found.key_id) == (ReferenceKind.TASK_ID, KEY.id)
        assert found.value == by_hand(
            b"elicitation-receipts/v1/reference", b"task_id", "é".encode()
        )

    def test_reference_text(self) -> None:
        expected = by_hand(b"elicitation-receipts/v1/text", b"tool", b"x y")[:12].hex()
        assert reference_text(KEY, "tool", "x y") == f"#{KEY.id}.{expected}"

    def test_keyed(self) -> None:
        assert keyed(KEY, "capabilities", {"form": {}}).value == by_hand(
            b"elicitation-receipts/v1/keyed", b"capabilities", b'{"form":{}}'
        )

    def test_public_digest(self) -> None:
        assert (
            canonical_digest({"b": [1.0], "a": None})
            == hashlib.sha256(b'{"a":null,"b":[1]}').digest()
        )


class TestCanonicalForm:
    def test_the_example_of_the_rfc(self) -> None:
        # RFC 8785 section 3.2.2 (input) and 3.2.4 (bytes of the result).
        source = r"""{
          "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
          "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
          "literals": [null, true, false]
        }"""
        assert canonical(json.loads(source)).decode() == (
            '{"literals":[null,true,false],'
            '"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        )

    def test_names_are_sorted_by_utf_16(self) -> None:
        # RFC 8785 section 3.2.3: U+1F600 (surrogates D83D DE00) stands before U+FB33.
        assert canonical({"\ufb33": 1, "\U0001f600": 2}).decode() == '{"\U0001f600":2,"\ufb33":1}'

    @pytest.mark.parametrize(
        ("number", "text"),
        [
            (2**53 - 1, "9007199254740991"),
            (2**53 + 1, "9007199254740992"),
            (-(2**53) - 1, "-9007199254740992"),
            (10**21, "1e+21"),
            (333333333333333333333, "333333333333333300000"),
            (-0.0, "0"),
            (1.0, "1"),
        ],
    )
    def test_numbers_are_doubles(self, number: float, text: str) -> None:
        assert canonical(number).decode() == text

    @given(content)
    def test_what_was_read_again_has_the_same_form(self, value: Any) -> None:
        try:
            form = canonical(value)
        except DigestError:
            assume(False)
        assert canonical(json.loads(form)) == form

    @pytest.mark.parametrize(
        "value",
        [
            math.nan,
            math.inf,
            10**400,
            {"a": [-math.inf]},
            "secret\ud800",
            {"secret\udc00": 1},
            {1: "secret"},
            {"a": b"secret"},
            pytest.param(object(), id="no JSON"),
        ],
        ids=repr,
    )
    def test_what_has_none_is_refused_without_being_repeated(self, value: Any) -> None:
        for digest in (
            lambda: canonical_digest(value),
            lambda: payload_digest(KEY, "a", STREAM, RECEIPT, NONCE, value),
            lambda: question_digest(KEY, Mode.FORM, "", {"properties": value}, None),
        ):
            with pytest.raises(DigestError) as refusal:
                digest()
            assert refusal.value.reason == "not_canonical"
            assert "secret" not in str(refusal.value)
            assert refusal.value.__cause__ is None
            assert refusal.value.__suppress_context__

    def test_bottomless_nesting_is_refused(self) -> None:
        value: list[Any] = []
        for _ in range(100_000):
            value = [value]
        with pytest.raises(DigestError):
            canonical(value)


class TestSeparation:
    @given(content, content)
    def test_payloads_are_equal_only_for_equal_content(self, left: Any, right: Any) -> None:
        try:
            equal = canonical(left) == canonical(right)
        except DigestError:
            assume(False)
        digests = [
            payload_digest(KEY, "a", STREAM, RECEIPT, NONCE, value) for value in (left, right)
        ]
        assert (digests[0] == digests[1]) == equal

    def test_everything_around_a_payload_counts(self) -> None:
        arguments: dict[str, list[Any]] = {
            "key": [KEY, OTHER_KEY],
            "tenant": ["a", "b"],
            "stream_id": [STREAM, UUID(int=3)],
            "receipt_id": [RECEIPT, UUID(int=4)],
            "nonce": [NONCE, bytes(16)],
            "content": [{"a": 1}, {"a": 2}],
        }
        usual = {name: values[0] for name, values in arguments.items()}
        values = [payload_digest(**usual).value] + [
            payload_digest(**(usual | {name: values[1]})).value
            for name, values in arguments.items()
        ]
        assert len(set(values)) == len(values)

    def test_everything_about_a_question_counts(self) -> None:
        questions: list[tuple[Mode, str | None, dict[str, Any] | None, str | None]] = [
            (Mode.FORM, "Which?", {"properties": {}}, None),
            (Mode.UNKNOWN, "Which?", {"properties": {}}, None),
            (Mode.FORM, "Which", {"properties": {}}, None),
            (Mode.FORM, None, {"properties": {}}, None),
            (Mode.FORM, "", {"properties": {}}, None),
            (Mode.FORM, "Which?", {"properties": {}, "required": []}, None),
            (Mode.FORM, "Which?", {}, None),
            (Mode.FORM, "Which?", None, None),
            (Mode.FORM, "Which?", None, "https://a.example"),
        ]
        digests = {question_digest(KEY, *question).value for question in questions}
        digests.add(question_digest(OTHER_KEY, *questions[0]).value)
        assert len(digests) == len(questions) + 1

    def test_a_reference_depends_on_kind_and_key(self) -> None:
        values = {reference(KEY, kind, "1").value for kind in ReferenceKind}
        values.add(reference(OTHER_KEY, ReferenceKind.TASK_ID, "1").value)
        assert len(values) == len(ReferenceKind) + 1

    @given(st.text(), st.text())
    def test_any_text_has_a_reference_of_its_own(self, left: str, right: str) -> None:
        texts = [reference_text(KEY, "tool", text) for text in (left, right)]
        assert all(map(is_reference, texts))
        assert (texts[0] == texts[1]) == (left == right)
        assert texts[0] != reference_text(KEY, "host", left)
        kinds = [reference(KEY, ReferenceKind.TASK_ID, text) for text in (left, right)]
        assert (kinds[0] == kinds[1]) == (left == right)
