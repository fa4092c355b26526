"""Makes of the receipt's schema the functions that read its columns from many messages at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from elicitation_receipts.consumers.decode.cursor import Cursor, Ints, Mask
from elicitation_receipts.consumers.decode.reader_source import Odd, Texts
from elicitation_receipts.schemas.datum import LARGEST, LONGEST_STRING
from elicitation_receipts.schemas.receipt import MAX_LISTED
from elicitation_receipts.schemas.vocabulary import UNRECOGNIZED

#: Reads one place of the schema in every message; the columns it gives, a row a message.
Reader = Callable[[Cursor], list[pa.Array]]

_WORD = pa.dictionary(pa.int32(), pa.string())


def compile_columns(schema_text: str) -> tuple[Reader, tuple[str, ...]]:
    """The reader of a whole datum of the schema, and the names of its columns."""
    reader, fields = _Compiler().place(json.loads(schema_text), "")
    return reader, tuple(field.name for field in fields)


class _Compiler:
    """Turns the schema into readers, once. ``_named``: types an earlier field has defined."""

    def __init__(self) -> None:
        self._named: dict[str, Any] = {}

    def place(self, schema: Any, name: str) -> tuple[Reader, list[pa.Field]]:
        """The reader of one place and the columns it gives."""
        match schema:
            case str() if schema in self._named:
                return self.place(self._named[schema], name)
            case {"name": str(type_name)}:
                self._named[type_name] = schema
        match schema:
            case ["null", inner]:
                reader, fields = self.place(inner, name)
                return _optional(reader, [field.type for field in fields]), fields
            case {"type": "record", "fields": list(parts)}:
                prefix = f"{name}_" if name else ""
                members = [self.place(part["type"], prefix + part["name"]) for part in parts]
                return (
                    _record([reader for reader, _ in members]),
                    [field for _, fields in members for field in fields],
                )
            case {"type": "array", "items": items}:
                reader, fields = self.place(items, "")
                item = pa.struct(fields) if fields[0].name else fields[0].type
                return _array(reader, item), [pa.field(name, pa.list_(_plain_type(item)))]
        reader, kind = self._single(schema)
        return reader, [pa.field(name, kind)]

    def _single(self, schema: Any) -> tuple[Reader, pa.DataType]:
        match schema:
            case "int" | "long":
                return _number(LARGEST[schema], pa.int64()), pa.int64()
            case {"type": "long", "logicalType": "timestamp-micros"}:
                kind = pa.timestamp("us")
                return _number(LARGEST["timestamp-micros"], kind), kind
            case {"type": "string", "constraint": str(rule)}:
                return _string(Texts(rule)), _WORD
            case {"type": "fixed", "name": str(name), "size": int(size)}:
                kind = pa.uuid() if name == "Uuid" else pa.binary(size)
                return _fixed(size, kind), kind
            case {"type": "enum", "symbols": list(symbols)}:
                return _enum([word for word in symbols if word != UNRECOGNIZED]), _WORD
        raise AssertionError("a type that a receipt does not have")


def _record(members: Sequence[Reader]) -> Reader:
    return lambda cursor: [column for member in members for column in member(cursor)]


def _optional(read_inner: Reader, kinds: Sequence[pa.DataType]) -> Reader:
    def read(cursor: Cursor) -> list[pa.Array]:
        branch = cursor.byte()
        there = branch == 2  # branch 1, zig-zag
        cursor.require(there | (branch == 0))
        chosen = np.flatnonzero(there)
        if len(chosen) == len(branch):
            return read_inner(cursor)
        if not len(chosen):
            return [pa.nulls(len(branch), kind) for kind in kinds]
        part = cursor.part(chosen)
        columns = read_inner(part)
        cursor.rejoin(part, chosen)
        # Row n of the whole is the so-manieth of those that are there, else absent.
        rows = pa.array(np.cumsum(there) - 1, mask=~there)
        return [column.take(rows) for column in columns]

    return read


def _array(read_item: Reader, item: pa.DataType) -> Reader:
    """One block, then the empty block that ends the array; an empty one is only that."""
    kind = _plain_type(item)

    def read(cursor: Cursor) -> list[pa.Array]:
        counts = cursor.number(MAX_LISTED)
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        owners: list[Ints] = []
        items: list[pa.Array] = []
        for turn in range(int(counts.max(initial=0))):  # the turn-th item of all that have one
            chosen = np.flatnonzero(counts > turn)
            part = cursor.part(chosen)
            columns = [_plainly(column) for column in read_item(part)]
            items.append(
                pa.StructArray.from_arrays(columns, fields=list(kind))
                if pa.types.is_struct(kind)
                else columns[0]
            )
            owners.append(chosen)
            cursor.rejoin(part, chosen)
        listed = pa.concat_arrays(items) if items else pa.nulls(0, kind)
        if len(items) > 1:
            listed = listed.take(pa.array(np.argsort(np.concatenate(owners), kind="stable")))
        _end_blocks(cursor, counts > 0)
        return [pa.ListArray.from_arrays(pa.array(offsets), listed)]

    return read


def _end_blocks(cursor: Cursor, listing: Mask) -> None:
    chosen = np.flatnonzero(listing)
    part = cursor.part(chosen)
    part.require(part.byte() == 0)
    cursor.rejoin(part, chosen)


def _number(largest: int, kind: pa.DataType) -> Reader:
    return lambda cursor: [pa.array(cursor.number(largest)).view(kind)]


def _fixed(size: int, kind: pa.DataType) -> Reader:
    storage = pa.binary(size)

    def read(cursor: Cursor) -> list[pa.Array]:
        value = cursor.fixed(size)
        column = pa.Array.from_buffers(storage, len(value), [None, pa.py_buffer(value)])
        if isinstance(kind, pa.BaseExtensionType):
            return [pa.ExtensionArray.from_storage(kind, column)]
        return [column]

    return read


def _enum(words: Sequence[str]) -> Reader:
    listed = pa.array(words, pa.string())

    def read(cursor: Cursor) -> list[pa.Array]:
        places = cursor.number(len(words) - 1).astype(np.int32)
        return [pa.DictionaryArray.from_arrays(pa.array(places), listed)]

    return read


def _string(texts: Texts) -> Reader:
    def read(cursor: Cursor) -> list[pa.Array]:
        lengths = cursor.number(4 * LONGEST_STRING)  # UTF-8: four bytes a character
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        data = cursor.runs(lengths)
        encoded = pa.Array.from_buffers(
            pa.binary(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        ).dictionary_encode()
        allowed = [_text(texts, text) for text in encoded.dictionary.to_pylist()]
        if None in allowed:
            known = np.array([text is not None for text in allowed])
            cursor.require(known[encoded.indices.to_numpy()])
        words = pa.array([text or "" for text in allowed], pa.string())
        return [pa.DictionaryArray.from_arrays(encoded.indices, words)]

    return read


def _text(texts: Texts, encoded: bytes) -> str | None:
    try:
        return texts[encoded]
    except (Odd, UnicodeDecodeError):
        return None


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The same without dictionaries: those of several arrays do not join."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(part.name, _plain_type(part.type)) for part in kind])
    return kind


def _plainly(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
