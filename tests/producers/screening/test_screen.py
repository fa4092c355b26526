"""What a policy says about a question before a person sees it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from conversation import form_params, url_params
from hypothesis import given
from hypothesis import strategies as st
from policies import policy_with

from elicitation_receipts import screen
from elicitation_receipts.producers.policy import BUILT_IN, Policy
from elicitation_receipts.producers.policy.document import Weight
from elicitation_receipts.producers.policy.words import DataClass, Effect
from elicitation_receipts.producers.screening.screen import MAX_CHARACTERS, Context
from elicitation_receipts.schemas.vocabulary import Decision, FindingName, Mode


def field(**schema: Any) -> dict[str, Any]:
    """A form with one field."""
    return form_params(properties={"field": {"type": "string", "title": "Field", **schema}})


def names(params: dict[str, Any], policy: Policy = BUILT_IN) -> set[str]:
    return {name.value for name in screen(params, policy).findings}


def url(address: str) -> dict[str, Any]:
    return url_params(url=address)


# Decision


def test_nothing_to_object_to() -> None:
    screened = screen(form_params())
    assert screened.decision is Decision.ALLOW
    assert screened.findings == screened.blocking == ()


def test_a_secret_is_blocked_by_the_built_in_policy() -> None:
    screened = screen(field(title="API key"))
    assert screened.decision is Decision.BLOCK
    assert screened.blocking == (FindingName.SECRET_FIELD,)
    assert screened.asks_for == {DataClass.API_KEY}


def test_an_address_in_a_text_is_only_warned_of() -> None:
    assert screen(form_params("See https://a.example/")).decision is Decision.WARN


def test_the_effect_is_the_policys() -> None:
    lenient = replace(BUILT_IN, findings={FindingName.SECRET_FIELD: Weight(effect=Effect.OFF)})
    assert screen(field(title="API key"), lenient).decision is Decision.ALLOW
    strict = policy_with("url", in_text=Effect.BLOCK)
    assert screen(form_params("See https://a.example/"), strict).decision is Decision.BLOCK


def test_what_is_prohibited_is_the_policys() -> None:
    birthday = field(title="Date of birth")
    assert names(birthday) == set()
    stricter = replace(BUILT_IN, prohibited_classes=(DataClass.DATE_OF_BIRTH,))
    assert names(birthday, stricter) == {"data_class_prohibited"}
    assert names(field(title="API key"), stricter) == set()


def test_what_an_operation_declares_to_ask_for_counts_in_a_form_alone() -> None:
    rules = replace(BUILT_IN.defaults, data_classes=(DataClass.HEALTH,))
    policy = replace(BUILT_IN, defaults=rules, prohibited_classes=(DataClass.HEALTH,))
    assert names(form_params(), policy) == {"data_class_prohibited"}
    assert names(url("https://a.example/"), policy) == set()


def test_the_occasion_counts() -> None:
    rules = replace(BUILT_IN.defaults, modes=(Mode.FORM,))
    policy = replace(BUILT_IN, defaults=rules)
    assert names(url("https://a.example/"), policy) == {"mode_not_allowed"}
    as_task = screen(form_params(), policy, Context(mode=Mode.TASK_INPUT))
    assert as_task.findings == (FindingName.MODE_NOT_ALLOWED,)
    form_only = Context(declared=frozenset({Mode.FORM}))
    screened = screen(url("https://a.example/"), BUILT_IN, form_only)
    assert screened.blocking == (FindingName.MODE_NOT_DECLARED,)


# A form


@pytest.mark.parametrize(
    ("title", "asks_for"),
    [
        ("The API key of your account", DataClass.API_KEY),
        ("The one-time code we just sent you", DataClass.ONE_TIME_CODE),
        ("6-digit code from your authenticator app", DataClass.ONE_TIME_CODE),
        ("Your SSH private key (PEM)", DataClass.PRIVATE_KEY),
        ("Número de tu tarjeta de crédito", DataClass.PAYMENT_CARD),
        ("PIN of your card", DataClass.PIN),
    ],
)
def test_a_title_names_what_is_asked_however_it_is_worded(title: str, asks_for: DataClass) -> None:
    assert screen(field(title=title)).asks_for == {asks_for}


@pytest.mark.parametrize(
    "title", ["Token budget (max tokens)", "Password policy to apply", "Secret name in the vault"]
)
def test_a_title_about_secrets_asks_for_none(title: str) -> None:
    assert screen(field(title=title)).asks_for == set()


@pytest.mark.parametrize(
    ("schema", "asks"),
    [
        ({"title": "Password", "enum": ["yes", "no"]}, set()),
        ({"title": "Password", "type": "boolean"}, set()),
        ({"title": "Password", "type": "integer"}, set()),
        ({"title": "PIN", "type": "integer"}, {DataClass.PIN}),
        ({"title": "Password", "format": "date"}, set()),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Password"},
            {DataClass.PASSWORD},
        ),
        (
            {"type": "array", "items": {"type": "string"}, "title": "Recovery codes"},
            {DataClass.RECOVERY_CODE},
        ),
        ({"type": ["string", "null"], "title": "Password"}, {DataClass.PASSWORD}),
        ({"enum": ["AKIAIOSFODNN7EXAMPLE", "none"]}, {DataClass.API_KEY}),
        ({"default": "4111111111111111"}, {DataClass.PAYMENT_CARD}),
        ({"default": "4111111111111112"}, set()),
        ({"default": "9fceb02d0ae598e95dc970b74767f19372d61af8"}, set()),
    ],
)
def test_what_can_be_typed_into_a_field_counts(
    schema: dict[str, Any], asks: set[DataClass]
) -> None:
    assert screen(field(**schema)).asks_for == asks


@pytest.mark.parametrize(
    "text",
    [
        "See https://a.example/x",
        "See ＨＴＴＰＳ：//a.example",
        "javascript:alert(1)",
        "Go to login.a-bank.com and come back",
        "evil.com/login",
        "data:text/html,hello",
        "www.a.example",
    ],
)
def test_an_address_in_any_text(text: str) -> None:
    for params in (
        form_params(text),
        field(description=text),
        field(default=text),
        field(enum=[text]),
    ):
        assert "url_in_text" in names(params)


@pytest.mark.parametrize(
    "text",
    [
        "Edit README.md, setup.py or main.rs",
        "Version 1.2.3",
        "com.example.app",
        "Write to ada@mail.example.com",
        "e.g. this; i.e. that",
        "Ratio 3:1. At 10:30.",
        "Time: now",
        "node.js and asp.net",
    ],
)
def test_what_is_no_address(text: str) -> None:
    assert names(field(description=text)) == set()


def test_a_pattern_is_shown_to_nobody() -> None:
    assert names(field(pattern="^https://")) == set()


# An address


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://id.example/start?state=x&nonce=y&client_id=z&code_challenge=q", set()),
        ("https://id.example/?access_token=abc", {"credential_in_url"}),
        ("https://id.example/?api%5Fkey=abc", {"credential_in_url"}),
        ("https://id.example/?apiKey=abc", {"credential_in_url"}),
        ("https://id.example/#id_token=abc", {"credential_in_url"}),
        ("https://id.example/?x=ghp_16C7e42F292c6912E7710c838347Ae178B4a", {"credential_in_url"}),
        ("https://id.example/f?X-Amz-Signature=abc", {"credential_in_url"}),
        ("https://id.example/a;jsessionid=1", {"credential_in_url"}),
        ("https://id.example/?token=", set()),
        ("https://id.example/?token_type=x", set()),
        ("https://u:p@id.example/", {"url_userinfo", "credential_in_url"}),
        ("https://good.example\\@evil.example/", {"malformed_message"}),
        ("https://аpple.com/", {"url_punycode", "url_mixed_script"}),
        ("https://xn--80ak6aa92e.com/", {"url_punycode", "url_mixed_script"}),
        ("https://пример.рф/", {"url_punycode"}),
        ("https://例え.jp/", {"url_punycode"}),
        ("https://東京タワーapp.jp/", {"url_punycode"}),
        ("https://שלום.co.il/", {"url_punycode"}),
        ("https://exam\u200bple.com/", {"url_punycode", "url_mixed_script"}),
        ("https://moc.\u202eelpmaxe.com/", {"url_punycode", "url_mixed_script"}),
        ("https://2130706433/", {"url_ip_literal"}),
        ("https://0x7f.1/", {"url_ip_literal"}),
        ("https://[::1]/", {"url_ip_literal"}),
        ("https://127.1/", {"url_ip_literal"}),
        ("data:text/html,hi", {"url_scheme"}),
        ("https://", {"malformed_message"}),
        ("https://a.example:99999/", {"malformed_message"}),
        ("https://a.example/" + "x" * 70_000, {"oversized_message"}),
    ],
)
def test_an_address(address: str, expected: set[str]) -> None:
    assert names(url(address)) == expected


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("https://id.example/x", True),
        ("https://ID.example:443/", True),
        ("https://id.example:8443/", False),
        ("https://id.example.evil.example/", False),
        ("https://id.example@evil.example/", False),
        ("https://idexample/", False),
    ],
)
def test_the_origins_a_policy_allows(address: str, allowed: bool) -> None:
    policy = policy_with("url", allowed_origins=("https://id.example",))
    assert ("url_origin_not_allowed" not in names(url(address), policy)) is allowed


# Whatever is sent

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
MEMBERS = (
    "title",
    "description",
    "default",
    "enum",
    "pattern",
    "format",
    "type",
    "properties",
    "items",
    "anyOf",
    "oneOf",
    "x",
)


@given(JSON, st.dictionaries(st.sampled_from(MEMBERS), JSON), st.text())
def test_any_json_is_screened(message: object, schema: dict[str, Any], address: str) -> None:
    form = {"properties": {"a": schema, "b": message}, "title": message, **schema}
    for params in (
        {"message": message, "requestedSchema": form},
        {"mode": "url", "message": "m", "url": address},
        {"mode": "url", "message": "m", "url": "https://" + address},
    ):
        assert screen(params).decision in Decision


def test_half_a_surrogate_pair() -> None:
    params = json.loads(
        '{"message": "\\ud800", "requestedSchema": {"properties": {"\\udfff": {}}}}'
    )
    assert screen(params).decision in Decision
    assert screen({"mode": "url", "message": "", "url": "https://\ud800.example/?a=\udfff"})


def test_what_is_larger_than_is_read_is_blocked_by_name() -> None:
    screened = screen(field(description="x " * (MAX_CHARACTERS // 2 + 1)))
    assert screened.blocking == (FindingName.OVERSIZED_MESSAGE,)


def test_a_schema_nested_ten_thousand_deep_is_blocked_by_name() -> None:
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"properties": {"a": deep}}
    screened = screen({"message": "m", "requestedSchema": deep})
    assert screened.blocking == (FindingName.MALFORMED_MESSAGE,)


DISGUISES = (
    lambda word: word.upper(),
    lambda word: " ".join(word),
    lambda word: "-".join(word),
    lambda word: "\u200b".join(word),
    lambda word: word.translate(str.maketrans("aeocp", "аеоср")),
    lambda word: "".join(chr(ord(char) + 0xFEE0) for char in word),
    lambda word: word.translate(str.maketrans("aeos", "43o$")),
)


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("word", ["password", "passphrase", "authtoken"])
def test_a_word_in_disguise(word: str, disguise: Any) -> None:
    assert screen(field(title=disguise(word))).blocking == (FindingName.SECRET_FIELD,)
