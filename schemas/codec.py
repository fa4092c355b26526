"""Receipts as bytes: Avro single-object encoding, one schema file a version.

A message is the marker ``C3 01``, the schema's 8-byte little-endian CRC-64-AVRO
fingerprint, and the datum (Avro 1.12 specification, "Single-object encoding" and
"Schema fingerprints"). One receipt has exactly one encoding: what decodes, encodes to
the same bytes again, which is why a leaf hash over them proves the receipt.

fastavro by itself ignores trailing bytes and accepts non-canonical integers and array
blocks, and its writer drops unknown fields. Here each of them is an error with its own
name: what was read is written again, and must be the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from io import BytesIO
from typing import Any, Final

import fastavro
from fastavro.read import SchemaResolutionError
from fastavro.schema import SchemaParseException, to_parsing_canonical_form
from fastavro.schema import fingerprint as avro_fingerprint

from elicitation_receipts.schemas.binary import Write, compile_writer
from elicitation_receipts.schemas.datum import CLASSES, compile_schema
from elicitation_receipts.schemas.encoder_source import UNFIT, compile_encoder
from elicitation_receipts.schemas.errors import CodecError, SchemaError
from elicitation_receipts.schemas.receipt import Receipt

#: No message is this long: 64 KiB.
MESSAGE_LIMIT: Final = 64 * 1024

#: What every message begins with; the fingerprint of its schema follows.
SINGLE_OBJECT: Final = b"\xc3\x01"
_HEADER_SIZE: Final = 10  # marker and fingerprint
_SCHEMA_FILE: Final = re.compile(r"receipt_v([1-9][0-9]*)\.avsc")


@dataclass(frozen=True, slots=True)
class Schema:
    """One version of the contract: its file's text, how to read (fastavro) and write it."""

    version: int
    text: str = field(repr=False)
    fingerprint: bytes
    parsed: Any = field(repr=False)
    write: Write = field(repr=False)

    @classmethod
    def parse(cls, version: int, text: str) -> Schema:
        """Raises :class:`SchemaError` where the text is no Avro schema."""
        try:
            schema = json.loads(text)
            canonical_form = to_parsing_canonical_form(schema)
            return cls(
                version=version,
                text=text,
                fingerprint=bytes.fromhex(avro_fingerprint(canonical_form, "CRC-64-AVRO")),
                # Numbers stay numbers: fastavro would turn times into datetimes.
                # The canonical form, and with it the fingerprint, has no logical types.
                parsed=fastavro.parse_schema(_without_logical_types(schema)),
                write=compile_writer(schema),
            )
        except (ValueError, TypeError, LookupError, AttributeError, SchemaParseException) as error:
            raise SchemaError(
                "schema_corrupt",
                f"schema file receipt_v{version}.avsc is no Avro schema; install the package again",
            ) from error


class Codec:
    """Encodes under the newest of ``texts`` (schema texts by version), decodes under each.

    ``classes``: the Python class of each record and enum the newest schema names.
    """

    def __init__(self, texts: Mapping[int, str], classes: Mapping[str, type] = CLASSES) -> None:
        schemas = [Schema.parse(version, text) for version, text in sorted(texts.items())]
        if not schemas:
            raise SchemaError(
                "schema_corrupt", "no schema file is installed; install the package again"
            )
        self.schemas: Mapping[bytes, Schema] = {schema.fingerprint: schema for schema in schemas}
        if len(self.schemas) != len(schemas):
            raise SchemaError(
                "schema_corrupt",
                "two schema versions have one fingerprint; install the package again",
            )
        self.newest = schemas[-1]
        self._convert = compile_schema(json.loads(self.newest.text), classes)
        self._encode = compile_encoder(self.newest.text, classes)

    def encode(self, receipt: Receipt) -> bytes:
        """The one message of a receipt, under the newest schema.

        Raises :class:`CodecError`: ``wrong_type``, ``out_of_vocabulary``, ``out_of_bounds``.
        """
        if not isinstance(receipt, Receipt):
            self._convert.dump(receipt)  # says so
        return self.encode_at(receipt, receipt.sequence, receipt.previous_hash)

    def encode_at(self, receipt: Receipt, sequence: int, previous_hash: bytes) -> bytes:
        """The same of the receipt at that place in its stream."""
        try:
            datum = self._encode(receipt, sequence, previous_hash)
        except UNFIT:  # or not as usual: the converter says
            placed = replace(receipt, sequence=sequence, previous_hash=previous_hash)
            return self.encode_datum(self._convert.dump(placed))
        return SINGLE_OBJECT + self.newest.fingerprint + datum

    def encode_datum(self, datum: dict[str, Any]) -> bytes:
        """The same from an Avro datum. Raises also ``unknown_field``."""
        self._convert.check(datum)
        return self._write(datum, self.newest)

    def decode(self, message: bytes) -> Receipt:
        """The receipt in a message of any known version; a field it lacks has its default.

        Raises :class:`CodecError`: ``message_too_large``, ``not_single_object``,
        ``unknown_fingerprint``, ``truncated_datum``, ``trailing_bytes``,
        ``non_canonical_encoding``, ``wrong_type``, ``out_of_vocabulary``, ``out_of_bounds``.
        """
        writer = self.schema_of(message)
        datum = self._read(message, writer)
        if self._write(datum, writer) != message:
            raise CodecError(
                "non_canonical_encoding", "the message is not the one encoding of its receipt"
            )
        if writer is not self.newest:
            datum = self._read(message, writer, self.newest)
        self._convert.check(datum)
        receipt: Receipt = self._convert.load(datum)
        return receipt

    def schema_of(self, message: bytes) -> Schema:
        """The schema a message was written with, from its first ten bytes."""
        if len(message) >= MESSAGE_LIMIT:
            raise CodecError(
                "message_too_large", f"a message is shorter than {MESSAGE_LIMIT} bytes"
            )
        if len(message) < _HEADER_SIZE or not message.startswith(SINGLE_OBJECT):
            raise CodecError("not_single_object", "no Avro single-object message; check the source")
        fingerprint = message[len(SINGLE_OBJECT) : _HEADER_SIZE]
        if fingerprint not in self.schemas:
            raise CodecError(
                "unknown_fingerprint",
                f"no schema here is {fingerprint.hex()}; install the version that wrote it",
            )
        return self.schemas[fingerprint]

    def _read(self, message: bytes, writer: Schema, reader: Schema | None = None) -> Any:
        # fastavro fails in many ways where its input ends. One byte more tells them from
        # all other failures: who reads it was not content with the message.
        body = BytesIO(message + b"\x00")
        body.seek(_HEADER_SIZE)
        failure: Exception | None = None
        datum = None
        try:
            datum = fastavro.schemaless_reader(
                body, writer.parsed, reader.parsed if reader else None
            )
        except (EOFError, IndexError, UnicodeDecodeError, SchemaResolutionError) as error:
            failure = error
        if body.tell() > len(message):
            raise CodecError("truncated_datum", "the message ends within the receipt") from failure
        match failure:
            case IndexError():
                reason, what = "out_of_vocabulary", "a choice that its schema does not have"
            case UnicodeDecodeError():
                reason, what = "wrong_type", "a string that is no UTF-8"
            case SchemaResolutionError():
                reason, what = "schema_corrupt", f"what schema {self.newest.version} cannot read"
            case _ if body.tell() < len(message):
                reason, what = "trailing_bytes", "more than the receipt"
            case _:
                return datum
        raise CodecError(reason, f"the message holds {what}") from failure

    def _write(self, datum: dict[str, Any], schema: Schema) -> bytes:
        message = bytearray(SINGLE_OBJECT + schema.fingerprint)
        schema.write(datum, message)
        return bytes(message)


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            name: _without_logical_types(part)
            for name, part in schema.items()
            if name != "logicalType"
        }
    if isinstance(schema, list):
        return [_without_logical_types(part) for part in schema]
    return schema


def read_schema_texts(folder: Traversable) -> dict[int, str]:
    """The text of every ``receipt_v<version>.avsc`` in a folder, by version.

    Raises :class:`SchemaError` where a file cannot be read.
    """
    texts = {}
    try:
        for file in folder.iterdir():
            if match := _SCHEMA_FILE.fullmatch(file.name):
                texts[int(match[1])] = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SchemaError(
            "schema_corrupt", "a schema file cannot be read; install the package again"
        ) from error
    return texts


@cache
def installed() -> Codec:
    """The codec of the schema files this package brings."""
    return Codec(read_schema_texts(resources.files(__package__)))


def encode(receipt: Receipt) -> bytes:
    """See :meth:`Codec.encode`."""
    return installed().encode(receipt)


def encode_at(receipt: Receipt, sequence: int, previous_hash: bytes) -> bytes:
    """See :meth:`Codec.encode_at`."""
    return installed().encode_at(receipt, sequence, previous_hash)


def encode_datum(datum: dict[str, Any]) -> bytes:
    """See :meth:`Codec.encode_datum`."""
    return installed().encode_datum(datum)


def decode(message: bytes) -> Receipt:
    """See :meth:`Codec.decode`."""
    return installed().decode(message)


def version_of(message: bytes) -> int:
    """The schema version a message was written with; errors as :meth:`Codec.schema_of`."""
    return installed().schema_of(message).version


def schemas() -> Mapping[int, Schema]:
    """Every known schema, by version."""
    return {schema.version: schema for schema in installed().schemas.values()}


def fingerprint(version: int = 1) -> bytes:
    """The 8 bytes that name a schema version in a message."""
    return schemas()[version].fingerprint


def schema_text(version: int = 1) -> str:
    """A schema version as its file has it."""
    return schemas()[version].text
