"""Settings: one declaration, four places a value can come from, one order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.settings import Settings, declarations, load

SECRET = "hunter2-hunter2"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "receipts.toml"


def test_without_anything_the_defaults_count(file: Path) -> None:
    loaded = load(file, {}, {})
    assert loaded.settings == Settings()
    assert set(loaded.sources.values()) == {"default"}


@given(option=st.booleans(), variable=st.booleans(), in_file=st.booleans())
def test_option_before_variable_before_file_before_default(
    option: bool, variable: bool, in_file: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("home") / "receipts.toml"
    if in_file:
        file.write_text('tenant = "of-file"\n')
    loaded = load(
        file,
        {"tenant": "of-option" if option else None},
        {"RECEIPTS_TENANT": "of-variable"} if variable else {},
    )
    expected = [
        name
        for name, is_given in (("option", option), ("variable", variable), ("file", in_file))
        if is_given
    ]
    assert loaded.settings.tenant == (f"of-{expected[0]}" if expected else "default")


def test_each_kind_is_read_from_a_variable_and_from_the_file(file: Path) -> None:
    expected = Settings(automatic_below_ms=400, block_timeout=2.5, when_full="block", flow="signup")
    file.write_text(
        'automatic_below_ms = 400\nblock_timeout = 2.5\nwhen_full = "block"\nflow = "signup"'
    )
    assert load(file, {}, {}).settings == expected
    file.write_text("block_timeout = 2")
    assert load(file, {}, {}).settings.block_timeout == 2.0
    file.unlink()
    environ = {
        "RECEIPTS_AUTOMATIC_BELOW_MS": "400",
        "RECEIPTS_BLOCK_TIMEOUT": "2.5",
        "RECEIPTS_WHEN_FULL": "block",
        "RECEIPTS_FLOW": "signup",
    }
    assert load(file, {}, environ).settings == expected


def test_an_empty_variable_is_none(file: Path) -> None:
    assert load(file, {}, {"RECEIPTS_KAFKA": ""}).settings.kafka is None


def test_an_unknown_key_names_file_key_and_its_neighbour(file: Path) -> None:
    file.write_text('tennant = "x"')
    with pytest.raises(UsageError) as caught:
        load(file, {}, {})
    assert str(caught.value) == (
        f"setting_unknown: {file} has an unknown key 'tennant'; did you mean tenant?"
    )
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("line", "takes"),
    [
        (
            "automatic_below_ms = '400'",
            "automatic_below_ms in {} must be a whole number: 0 or more",
        ),
        ("automatic_below_ms = true", "automatic_below_ms in {} must be a whole number: 0 or more"),
        ("automatic_below_ms = -1", "automatic_below_ms in {} must be a whole number: 0 or more"),
        ("block_timeout = nan", "block_timeout in {} must be a number: 0 or more"),
        ("when_full = 'explode'", "when_full in {} must be one of drop, block, buffer"),
        ("kafka = 9092", "kafka in {} must be text"),
        ("kafka = ['a', 'b']", "kafka in {} must be text"),
    ],
)
def test_a_wrong_value_names_file_key_and_what_it_takes(file: Path, line: str, takes: str) -> None:
    file.write_text(line)
    with pytest.raises(UsageError) as caught:
        load(file, {}, {})
    assert str(caught.value) == "setting_invalid: " + takes.format(file)


@pytest.mark.parametrize("name", ["tenant", "environment", "flow"])
@pytest.mark.parametrize("value", ["with space", "-x", "a" * 65, "é", "x\n"])
def test_a_name_that_no_receipt_may_hold_is_refused_and_not_repeated(
    file: Path, name: str, value: str
) -> None:
    with pytest.raises(UsageError, match=f"RECEIPTS_{name.upper()} must be") as caught:
        load(file, {}, {f"RECEIPTS_{name.upper()}": value})
    assert value not in str(caught.value)
    with pytest.raises(UsageError, match=f"--{name} must be"):
        load(file, {name: value}, {})


@pytest.mark.parametrize(
    "text", [f"kafka_sasl_plain_password = '{SECRET}", f"'{SECRET}' '{SECRET}'", f"{SECRET}"]
)
def test_a_file_that_is_no_toml_is_named_and_not_quoted(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(UsageError, match=r"^settings_unreadable: ") as caught:
        load(file, {}, {})
    assert str(file) in str(caught.value)
    assert SECRET not in str(caught.value)


def test_bytes_that_are_no_text_are_a_named_error(file: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"^settings_unreadable: "):
        load(file, {}, {})


def test_kafka_options_pass_through_by_the_clients_own_names(file: Path) -> None:
    environ = {
        "RECEIPTS_KAFKA": "127.0.0.1:9092",
        "RECEIPTS_KAFKA_TOPIC": "other",
        "RECEIPTS_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "RECEIPTS_KAFKA_SASL_PLAIN_PASSWORD": SECRET,
    }
    settings = load(file, {}, environ).settings.kafka_settings()
    assert (settings.address, settings.topic) == ("127.0.0.1:9092", "other")
    assert settings.options == {"security_protocol": "SASL_SSL", "sasl_plain_password": SECRET}


def test_without_an_address_there_is_no_kafka(file: Path) -> None:
    with pytest.raises(UsageError, match=r"^kafka_not_set: "):
        load(file, {}, {}).settings.kafka_settings()


def test_the_client_knows_every_option_passed_through() -> None:
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

    passed = {
        name.removeprefix("kafka_")
        for name, declared in declarations().items()
        if declared.kafka_option
    }
    for client in (KafkaProducer, KafkaConsumer, KafkaAdminClient):
        assert passed <= set(client.DEFAULT_CONFIG)


def test_whatever_holds_a_password_is_secret() -> None:
    assert {name for name, declared in declarations().items() if declared.secret} == {
        name for name in declarations() if "password" in name
    }


def test_every_default_is_a_value_the_setting_takes() -> None:
    for declared in declarations().values():
        if declared.default is not None:
            assert declared.parse(declared.default, "", from_text=False) == declared.default
