"""One receipt has one encoding; whatever else a message holds is refused by name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import make_dataclass, replace
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import fastavro
import pytest
from avro_schema import every_part, newest_schema
from golden import describe, examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from make_receipt import make_receipt, receipts

from elicitation_receipts.schemas import codec
from elicitation_receipts.schemas.codec import Codec, decode, encode, encode_datum
from elicitation_receipts.schemas.datum import CLASSES, LATEST_MICROS
from elicitation_receipts.schemas.errors import CodecError
from elicitation_receipts.schemas.receipt import (
    MAX_LISTED,
    FailedField,
    Finding,
    Keyed,
    Loss,
    Receipt,
    Reference,
    Validation,
)
from elicitation_receipts.schemas.vocabulary import (
    Event,
    FindingName,
    Gate,
    Keyword,
    LossReason,
    ReferenceKind,
    Severity,
    Vantage,
)

EXAMPLES = examples()
FULL = encode(EXAMPLES["answered"])
SMALL = encode(EXAMPLES["requested"])
HEADER = FULL[:10]
SEQUENCE = 10 + 16 + 16  # where the sequence stands: after the header and two ids
VERSIONS = sorted(Path(__file__).with_name("golden").glob("v*.json"))

Json = dict[str, Any]


def refusal(message: bytes) -> str:
    with pytest.raises(CodecError) as caught:
        decode(message)
    return caught.value.reason


def corrupt(*texts: str) -> str:
    with pytest.raises(CodecError) as caught:
        Codec(dict(enumerate(texts, start=1)))
    return caught.value.reason


def fastavro_schema() -> Any:
    """The newest schema as fastavro takes it, times as plain numbers."""
    schema = newest_schema()
    for part in every_part(schema):
        part.pop("logicalType", None)
    return fastavro.parse_schema(schema)


FASTAVRO = fastavro_schema()


def write_with_fastavro(datum: Json) -> bytes:
    body = BytesIO()
    fastavro.schemaless_writer(body, FASTAVRO, datum, strict=True)
    return HEADER + body.getvalue()


def datum_of(message: bytes) -> Json:
    datum: Any = fastavro.schemaless_reader(BytesIO(message[10:]), FASTAVRO, None)
    assert isinstance(datum, dict)
    return datum


class TestRoundTrip:
    @given(receipts())
    def test_what_was_encoded_is_decoded(self, receipt: Receipt) -> None:
        message = encode(receipt)
        assert decode(message) == receipt
        assert encode(decode(message)) == message

    @given(receipts())
    def test_another_implementation_writes_the_same_bytes(self, receipt: Receipt) -> None:
        message = encode(receipt)
        assert write_with_fastavro(datum_of(message)) == message

    def test_the_words_come_back_typed(self) -> None:
        receipt = decode(FULL)
        assert type(receipt.event) is Event
        assert type(receipt.findings[0].name) is FindingName

    def test_a_message_is_a_single_object(self) -> None:
        canonical_form = fastavro.schema.to_parsing_canonical_form(newest_schema())
        assert FULL[:2] == b"\xc3\x01"
        assert FULL[2:10] == codec.fingerprint() == crc_64_avro(canonical_form.encode())

    def test_the_largest_receipt_fits(self) -> None:
        longest = "ab." * 21 + "a"
        receipt = replace(
            EXAMPLES["answered"],
            findings=(Finding(FindingName.MISSING_DESCRIPTION, Severity.ERROR, Gate.UX),)
            * MAX_LISTED,
            validation=Validation(
                2**31 - 1, 0, 0, (FailedField(longest, Keyword.OTHER),) * MAX_LISTED, 0
            ),
            correlation_refs=(Reference(ReferenceKind.TASK_ID, "0" * 12, bytes(32)),) * MAX_LISTED,
        )
        assert len(encode(receipt)) < codec.MESSAGE_LIMIT // 4
        assert decode(encode(receipt)) == receipt


def crc_64_avro(text: bytes) -> bytes:
    """CRC-64-AVRO bit by bit, as the specification defines it; little-endian."""
    empty = 0xC15D213AA4D7A795
    register = empty
    for byte in text:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (empty if register & 1 else 0)
    return register.to_bytes(8, "little")


class TestHostileBytes:
    @given(st.binary(max_size=300))
    def test_any_bytes_are_a_receipt_or_a_named_error(self, message: bytes) -> None:
        decodes_exactly_or_not_at_all(message)

    @given(st.binary(max_size=600))
    def test_any_datum_is_a_receipt_or_a_named_error(self, datum: bytes) -> None:
        decodes_exactly_or_not_at_all(HEADER + datum)

    @given(st.integers(10, len(FULL)), st.integers(10, len(FULL)), st.binary(max_size=40))
    def test_any_splice_is_a_receipt_or_a_named_error(
        self, left: int, right: int, between: bytes
    ) -> None:
        decodes_exactly_or_not_at_all(FULL[:left] + between + FULL[right:])

    @pytest.mark.parametrize("message", [SMALL, FULL], ids=["small", "full"])
    def test_a_changed_byte_is_another_receipt_or_a_named_error(self, message: bytes) -> None:
        for place in range(len(message)):
            for flip in (0x01, 0x02, 0x80, 0xFF):
                changed = bytearray(message)
                changed[place] ^= flip
                decodes_exactly_or_not_at_all(bytes(changed))

    @pytest.mark.slow
    def test_every_change_of_a_byte(self) -> None:
        for place in range(len(SMALL)):
            for value in range(256):
                decodes_exactly_or_not_at_all(SMALL[:place] + bytes([value]) + SMALL[place + 1 :])

    @pytest.mark.parametrize("name", EXAMPLES)
    def test_a_message_that_ends_early(self, name: str) -> None:
        message = encode(EXAMPLES[name])
        for size in range(len(message)):
            expected = "not_single_object" if size < len(HEADER) else "truncated_datum"
            assert refusal(message[:size]) == expected

    @given(st.binary(min_size=1, max_size=20))
    def test_a_message_that_goes_on(self, more: bytes) -> None:
        assert refusal(FULL + more) == "trailing_bytes"

    @pytest.mark.parametrize("marker", [b"\xc3\x02", b"\xc3\x00", b"\x00\x01", b"Ob"])
    def test_another_marker(self, marker: bytes) -> None:
        assert refusal(marker + FULL[2:]) == "not_single_object"

    def test_an_unknown_fingerprint(self) -> None:
        assert refusal(FULL[:2] + b"\x00" * 8 + FULL[10:]) == "unknown_fingerprint"

    def test_a_message_too_large(self) -> None:
        assert refusal(FULL + bytes(codec.MESSAGE_LIMIT)) == "message_too_large"
        assert refusal(bytes(codec.MESSAGE_LIMIT)) == "message_too_large"

    def test_a_padded_number(self) -> None:
        assert SMALL[SEQUENCE] == 0
        padded = SMALL[:SEQUENCE] + b"\x80\x00" + SMALL[SEQUENCE + 1 :]
        assert refusal(padded) == "non_canonical_encoding"

    def test_a_number_beyond_64_bits(self) -> None:
        endless = SMALL[:SEQUENCE] + b"\xff" * 30 + b"\x01" + SMALL[SEQUENCE + 1 :]
        assert refusal(endless) in {"non_canonical_encoding", "wrong_type", "out_of_bounds"}

    @pytest.mark.parametrize(
        "blocks",
        [
            "02 {0} 02 {1} 00",  # two blocks of one
            "03 {size} {0}{1} 00",  # a negative count and the block's size
            "8400 {0}{1} 00",  # a padded count
            "04 {0}{1} 8000",  # a padded end
        ],
    )
    def test_a_list_in_other_blocks(self, blocks: str) -> None:
        one, two = "000004", "020002"
        message = encode(
            make_receipt(
                findings=(
                    Finding(FindingName.SECRET_FIELD, Severity.INFO, Gate.RECOVERY),
                    Finding(FindingName.DATA_CLASS_PROHIBITED, Severity.INFO, Gate.PROTOCOL),
                )
            )
        ).hex()
        usual = f"04{one}{two}00"
        assert message.count(usual) == 1
        other = blocks.format(one, two, size="0c").replace(" ", "")
        changed = bytes.fromhex(message.replace(usual, other))
        assert refusal(changed) == "non_canonical_encoding"

    @pytest.mark.parametrize("length", [2**62, 2**63 - 1, -1, -8, -(2**63)])
    def test_a_string_that_promises_too_much(self, length: int) -> None:
        changed = SMALL.replace(b"\x0edefault", varint(length) + b"default")
        assert refusal(changed) in {"truncated_datum", "non_canonical_encoding"}

    def test_a_list_that_promises_too_much(self) -> None:
        # Of the findings, of which the small receipt has none; zeroes are findings, too.
        other = write_with_fastavro(datum_of(SMALL) | {"findings": [UNKNOWN_FINDING] * 2})
        place = next(i for i in range(len(SMALL)) if other[i] != SMALL[i])
        assert other[place : place + 1] == varint(2)
        many = SMALL[:place] + varint(2**62) + bytes(60_000)
        assert refusal(many) == "truncated_datum"

    def test_a_word_past_the_end_of_its_list(self) -> None:
        place = SEQUENCE + 1 + 32  # the event
        assert SMALL[place] == 0
        for number in (0x7E, 0x3C):
            changed = SMALL[:place] + bytes([number]) + SMALL[place + 1 :]
            assert refusal(changed) == "out_of_vocabulary"

    def test_the_word_for_foreign_readers_is_refused(self) -> None:
        message = write_with_fastavro(datum_of(SMALL) | {"event": "unrecognized"})
        assert refusal(message) == "out_of_vocabulary"

    def test_a_string_that_is_no_utf_8(self) -> None:
        assert refusal(SMALL.replace(b"default", b"def\xffult")) == "wrong_type"

    @pytest.mark.parametrize(
        ("field", "value", "reason"),
        [
            ("tool", "what is your name", "out_of_vocabulary"),
            ("tool", "a" * 20_000, "out_of_vocabulary"),
            ("server_name", "card-4111111111111111", "out_of_vocabulary"),
            ("server_version", "1980-04-12", "out_of_vocabulary"),
            ("protocol_version", "1980-04-12", "out_of_vocabulary"),
            ("operation_method", "tools/list", "out_of_vocabulary"),
            ("tenant", "../other", "out_of_vocabulary"),
            ("url_origin", "https://a.example/path", "out_of_vocabulary"),
            ("sequence", -1, "out_of_bounds"),
            ("since_previous_us", -1, "out_of_bounds"),
            ("round", -1, "out_of_bounds"),
            ("occurred_at", LATEST_MICROS + 1, "out_of_bounds"),
            ("declared_modes", ["form"] * (MAX_LISTED + 1), "out_of_bounds"),
        ],
    )
    def test_what_only_this_codec_refuses(self, field: str, value: Any, reason: str) -> None:
        datum = datum_of(SMALL) | {field: value}
        assert refusal(write_with_fastavro(datum)) == reason
        with pytest.raises(CodecError) as caught:
            encode_datum(datum)
        assert caught.value.reason == reason
        assert field in str(caught.value)
        assert str(value) not in str(caught.value)


UNKNOWN_FINDING = {"name": "secret_field", "severity": "info", "gate": "hard"}


def varint(number: int) -> bytes:
    """A number as Avro writes it, by the other implementation."""
    body = BytesIO()
    fastavro.schemaless_writer(body, {"type": "long"}, number)
    return body.getvalue()


def decodes_exactly_or_not_at_all(message: bytes) -> None:
    try:
        receipt = decode(message)
    except CodecError:
        return
    assert encode(receipt) == message


class TestEncode:
    @pytest.mark.parametrize(
        ("overrides", "reason"),
        [
            ({"receipt_id": "11111111-1111-4111-8111-111111111111"}, "wrong_type"),
            ({"stream_id": None}, "wrong_type"),
            ({"sequence": True}, "wrong_type"),
            ({"sequence": 1.0}, "wrong_type"),
            ({"sequence": "1"}, "wrong_type"),
            ({"sequence": None}, "wrong_type"),
            ({"sequence": 2**63}, "out_of_bounds"),
            ({"round": 2**31}, "out_of_bounds"),
            ({"attempt": -1}, "out_of_bounds"),
            ({"expires_at": LATEST_MICROS + 1}, "out_of_bounds"),
            ({"previous_hash": bytes(31)}, "wrong_type"),
            ({"previous_hash": bytearray(32)}, "wrong_type"),
            ({"span_id": bytes(16)}, "wrong_type"),
            ({"event": None}, "wrong_type"),
            ({"event": 3}, "wrong_type"),
            ({"event": "answer"}, "out_of_vocabulary"),
            ({"event": "unrecognized"}, "out_of_vocabulary"),
            ({"vantage": Event.REQUESTED}, "out_of_vocabulary"),
            ({"vantage": [Vantage.HTTP]}, "wrong_type"),
            ({"tenant": None}, "wrong_type"),
            ({"tenant": b"default"}, "wrong_type"),
            ({"tool": "rm -rf"}, "out_of_vocabulary"),
            ({"producer_version": "today"}, None),
            ({"findings": [UNKNOWN_FINDING]}, "wrong_type"),
            ({"findings": (UNKNOWN_FINDING,)}, "wrong_type"),
            ({"findings": None}, "wrong_type"),
            ({"findings": (None,)}, "wrong_type"),
            ({"declared_modes": ("tel",)}, "out_of_vocabulary"),
            ({"session_ref": ("0" * 12, bytes(32))}, "wrong_type"),
            ({"session_ref": Keyed("0" * 11, bytes(32))}, "out_of_vocabulary"),
            ({"loss": Loss(-1, 0, LossReason.CRASHED)}, "out_of_bounds"),
            (
                {"validation": Validation(1, 1, 1, (FailedField("x y", Keyword.TYPE),))},
                "out_of_vocabulary",
            ),
            (
                {"validation": Validation(1, 1, 1, (FailedField("a", Keyword.TYPE),) * 65)},
                "out_of_bounds",
            ),
            (
                {"findings": (Finding(FindingName.URL_SCHEME, Severity.INFO, Gate.UX),) * 65},
                "out_of_bounds",
            ),
            (
                {"correlation_refs": (Reference(ReferenceKind.TASK_ID, "0" * 12, bytes(32)),) * 65},
                "out_of_bounds",
            ),
        ],
        ids=str,
    )
    def test_a_receipt_that_has_no_encoding(
        self, overrides: dict[str, Any], reason: str | None
    ) -> None:
        receipt = make_receipt(**overrides)
        if reason is None:
            assert decode(encode(receipt)) == receipt
            return
        with pytest.raises(CodecError) as caught:
            encode(receipt)
        assert caught.value.reason == reason
        assert f"receipt.{next(iter(overrides))}" in str(caught.value)

    def test_what_is_no_receipt(self) -> None:
        with pytest.raises(CodecError) as caught:
            encode("a receipt")  # type: ignore[arg-type]
        assert caught.value.reason == "wrong_type"

    @pytest.mark.parametrize(
        "extend",
        [
            lambda datum: datum | {"answer": "blue"},
            lambda datum: datum | {"session_ref": datum["session_ref"] | {"answer": "blue"}},
            lambda datum: datum | {"findings": [UNKNOWN_FINDING | {"answer": "blue"}]},
        ],
    )
    def test_an_unknown_field_is_refused_by_name(self, extend: Any) -> None:
        with pytest.raises(CodecError) as caught:
            encode_datum(extend(datum_of(FULL)))
        assert caught.value.reason == "unknown_field"
        assert "answer" in str(caught.value)
        assert "blue" not in str(caught.value)

    def test_the_name_of_an_unknown_field_may_itself_be_a_value(self) -> None:
        with pytest.raises(CodecError) as caught:
            encode_datum(datum_of(FULL) | {"my name is Ann": 1})
        assert caught.value.reason == "unknown_field"
        assert "Ann" not in str(caught.value)

    @given(st.sampled_from(sorted(datum_of(FULL))))
    def test_a_missing_field_is_refused_by_name(self, name: str) -> None:
        datum = datum_of(FULL)
        del datum[name]
        with pytest.raises(CodecError) as caught:
            encode_datum(datum)
        assert caught.value.reason == "wrong_type"
        assert name in str(caught.value)

    @given(receipts(), st.text(min_size=1))
    def test_free_text_has_no_way_in(self, receipt: Receipt, text: str) -> None:
        marked = f"{text} {text}"  # no constraint allows a space
        for name, value in datum_of(encode(receipt)).items():
            if isinstance(value, str):
                changed: dict[str, Any] = {name: marked}
                with pytest.raises(CodecError):
                    encode(replace(receipt, **changed))


class TestVersions:
    def test_every_version_has_its_golden_messages(self) -> None:
        assert [int(path.stem[1:]) for path in VERSIONS] == sorted(codec.schemas())

    @pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
    def test_golden_messages_say_what_they_said(self, path: Path) -> None:
        version = int(path.stem[1:])
        for name, golden in json.loads(path.read_text()).items():
            message = bytes.fromhex(golden["message"])
            assert codec.version_of(message) == version
            assert message[2:10] == codec.fingerprint(version), "the schema file has changed"
            now = describe(decode(message))
            assert {field: now[field] for field in golden["receipt"]} == golden["receipt"], name

    def test_a_newer_schema_reads_the_golden_messages(self) -> None:
        newer = newer_codec()
        for golden in json.loads(VERSIONS[0].read_text()).values():
            message = bytes.fromhex(golden["message"])
            receipt = newer.decode(message)
            assert newer.schema_of(message).version == 1
            now = describe(receipt)
            assert now.pop("channel") is None
            assert now == golden["receipt"]
            again = newer.encode(receipt)
            assert newer.schema_of(again).version == 2
            assert newer.decode(again) == receipt

    def test_an_older_reader_waits_for_the_newer_schema(self) -> None:
        newer = newer_codec()
        receipt: Any = newer.decode(SMALL)
        message = newer.encode(replace(receipt, vantage="email", channel=3))
        assert newer.decode(message) == replace(receipt, vantage="email", channel=3)
        assert refusal(message) == "unknown_fingerprint"

    @pytest.mark.parametrize(
        "change",
        [
            lambda message: message + b"\x00",
            lambda message: message[:-1],
            lambda message: message[:SEQUENCE] + b"\x80\x00" + message[SEQUENCE + 1 :],
        ],
    )
    def test_an_older_message_is_held_to_its_own_schema(self, change: Any) -> None:
        with pytest.raises(CodecError):
            newer_codec().decode(change(SMALL))

    def test_a_foreign_reader_with_an_older_schema_sees_the_default(self) -> None:
        newer = newer_codec()
        receipt: Any = newer.decode(SMALL)
        message = newer.encode(replace(receipt, vantage="email"))
        writer = newer.schema_of(message)
        seen: Any = fastavro.schemaless_reader(BytesIO(message[10:]), writer.parsed, FASTAVRO)
        assert seen["vantage"] == "unrecognized"

    def test_the_fingerprint_changes_with_the_content_only(self) -> None:
        schema = newest_schema()
        schema["doc"] = "Said otherwise."
        schema["fields"][0]["doc"] = "Also."
        assert Codec({1: json.dumps(schema)}).newest.fingerprint == codec.fingerprint()
        schema["fields"][2]["name"] = "place"
        with pytest.raises(CodecError):
            Codec({1: json.dumps(schema)})

    def test_the_text_is_the_files(self) -> None:
        file = Path(codec.__file__).with_name("receipt_v1.avsc")
        assert codec.schema_text(1) == file.read_text(encoding="utf-8")


class WiderVantage(StrEnum):
    """Today's words and one more."""

    STDIO = "stdio"
    HTTP = "http"
    ASGI = "asgi"
    STREAM = "stream"
    REPLAY = "replay"
    SERVER = "server"
    EMAIL = "email"


def newer_codec() -> Codec:
    """A codec that knows one version more: a field with a default and another word."""
    schema = newest_schema()
    vantage = next(part for part in every_part(schema) if part.get("name") == "Vantage")
    vantage["symbols"].insert(-1, "email")
    schema["fields"].append({"name": "channel", "type": ["null", "long"], "default": None})
    receipt = make_dataclass(
        "NewerReceipt",
        [("channel", int | None, None)],
        bases=(Receipt,),
        frozen=True,
        slots=True,
        kw_only=True,
    )
    classes = {**CLASSES, "Receipt": receipt, "Vantage": WiderVantage}
    return Codec({1: codec.schema_text(1), 2: json.dumps(schema)}, classes)


class TestSchemaFiles:
    TEXT: ClassVar[str] = codec.schema_text()

    DAMAGES: ClassVar[dict[str, str]] = {
        "empty": "",
        "no JSON": "{",
        "null": "null",
        "a list": "[]",
        "a number": "3",
        "a word": '"long"',
        "half a record": '{"type": "record"}',
        "an enum": '{"type": "enum", "name": "Event", "symbols": ["a"]}',
        "cut": TEXT[: len(TEXT) // 2],
        "a float": TEXT.replace('"long"', '"double"', 1),
        "a string": TEXT.replace('"long"', '"string"', 1),
        "no Avro type": TEXT.replace('"long"', '"lung"', 1),
        "another rule": TEXT.replace('"identifier"', '"anything"', 1),
        "no rule": TEXT.replace('"constraint": "tenant"', '"constraint": null'),
        "a word less": TEXT.replace('"requested",', "", 1),
        "another word": TEXT.replace('"requested"', '"asked"', 1),
        "another field": TEXT.replace('"name": "sequence"', '"name": "place"', 1),
        "another record": TEXT.replace('"name": "Finding"', '"name": "Discovery"', 1),
        "no size": TEXT.replace('"size": 16', '"size": "16"', 1),
        "no symbols": TEXT.replace('"symbols"', '"words"', 1),
    }

    @pytest.mark.parametrize("damage", DAMAGES)
    def test_a_damaged_or_changed_file_is_refused(self, damage: str) -> None:
        assert self.DAMAGES[damage] != self.TEXT
        assert corrupt(self.DAMAGES[damage]) == "schema_corrupt"

    def test_an_older_file_is_read_as_strictly(self) -> None:
        assert corrupt("{", self.TEXT) == "schema_corrupt"
        assert corrupt(self.TEXT.replace('"long"', '"double"', 1), self.TEXT) == "schema_corrupt"

    def test_two_versions_with_one_fingerprint(self) -> None:
        assert corrupt(self.TEXT, self.TEXT) == "schema_corrupt"

    def test_a_newest_version_that_cannot_read_the_older(self) -> None:
        schema = json.loads(self.TEXT)
        tenant = next(part for part in schema["fields"] if part["name"] == "tenant")
        tenant["type"] = "long"
        with pytest.raises(CodecError) as caught:
            Codec({1: self.TEXT, 2: json.dumps(schema)}).decode(SMALL)
        assert caught.value.reason == "schema_corrupt"

    def test_no_file_at_all(self) -> None:
        assert corrupt() == "schema_corrupt"

    def test_versions_are_found_by_file_name(self, tmp_path: Path) -> None:
        for name in ("receipt_v1.avsc", "receipt_v12.avsc", "receipt_v0.avsc", "receipt_v1.txt"):
            (tmp_path / name).write_text(name)
        assert codec.read_schema_texts(tmp_path) == {1: "receipt_v1.avsc", 12: "receipt_v12.avsc"}

    def test_a_file_that_cannot_be_read(self, tmp_path: Path) -> None:
        (tmp_path / "receipt_v1.avsc").write_bytes(b"\xff")
        with pytest.raises(CodecError) as caught:
            codec.read_schema_texts(tmp_path)
        assert caught.value.reason == "schema_corrupt"


def every_size() -> Iterator[int]:
    for power in range(64):
        yield from (2**power - 1, 2**power)


@given(st.sampled_from(sorted({size for size in every_size() if size < 2**63})))
@example(2**63 - 1)
@settings(max_examples=200)
def test_every_size_of_number(number: int) -> None:
    receipt = make_receipt(sequence=number)
    assert decode(encode(receipt)).sequence == number
    assert write_with_fastavro(datum_of(encode(receipt))) == encode(receipt)
