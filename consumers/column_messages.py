"""A batch of rows straight to their messages, column by column: the fast way of `row_message`.

What a column gives a message is a *piece*: bytes that are the same in every row, or a list with
those of each. A value is encoded once for all rows that hold it, but for the columns that differ
from row to row. Nothing is judged here: a row that holds what no receipt can gives bytes that are
no receipt's, and whoever compares them with the row's leaf hash asks `row_message` what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice, repeat
from typing import Any, Final

import numpy as np
import pyarrow as pa

from elicitation_receipts.consumers.column_values import bytes_of
from elicitation_receipts.schemas.binary import compile_writer
from elicitation_receipts.schemas.codec import SINGLE_OBJECT, installed
from elicitation_receipts.schemas.named_types import NamedTypes

Piece = bytes | list[bytes]
#: Takes its columns from the iterator; the pieces of so many rows.
_Pieces = Callable[[Iterator[pa.Array], int], list[Piece]]

_ABSENT: Final = b"\x00"
_PRESENT: Final = b"\x02"  # branch 1, zig-zag
_END: Final = b"\x00"  # of an array
_NOTHING: Final = b""  # for what has no encoding: no receipt has these bytes
#: A column with more different values in a row than this is encoded row by row.
_REPEATED: Final = 0.25
_LONGEST_NUMBER: Final = 10
_write_number: Final = compile_writer("long")


def messages_from_columns(
    columns: Sequence[pa.Array], fingerprint: bytes, before: bytes = b""
) -> list[bytes]:
    """The message of each row, ``before`` put in front of it.

    ``columns``: those of :func:`rows.columns` as DuckDB gives them to Arrow without loss;
    ``fingerprint``: of the schema that wrote all rows, 8 bytes.

    Raises ``KeyError`` for a schema that is not installed, and ``pa.ArrowException``,
    ``TypeError`` or ``AttributeError`` where a column has another type than landing gives it.
    """
    pieces = _receipts()[fingerprint](iter(columns), len(columns[0]))
    return _joined([before + SINGLE_OBJECT + fingerprint, *pieces], len(columns[0]))


@cache
def _receipts() -> dict[bytes, _Pieces]:
    """By the fingerprint of each installed schema."""
    return {
        fingerprint: _Compiler().place(json.loads(schema.text))
        for fingerprint, schema in installed().schemas.items()
    }


class _Compiler:
    """Turns a schema into functions, once. ``_named``: types an earlier field has defined."""

    def __init__(self) -> None:
        self._named = NamedTypes()

    def place(self, schema: Any) -> _Pieces:
        """What takes the columns of one place of the schema."""
        match self._named.resolve(schema):
            case ["null", inner]:
                return _optional(self.place(inner), self._width(inner))
            case {"type": "record", "fields": fields}:
                return _record([self.place(field["type"]) for field in fields])
            case {"type": "array", "items": items}:
                return _array(self.place(items), is_record=self._width(items) > 1)
            case {"type": "fixed"}:
                return lambda columns, _: [bytes_of(next(columns))]
            case {"type": "enum", "symbols": symbols}:
                words = {word: _number(place) for place, word in enumerate(symbols[:-1])}
                return _repeated(lambda word: words.get(word, _NOTHING))
            case {"type": "string"}:
                return _repeated(_text)
            case "int" | "long" | {"type": "long"}:
                return lambda columns, _: [_numbers(next(columns))]
        raise AssertionError("a type that a receipt does not have")

    def _width(self, schema: Any) -> int:
        """How many columns a place has."""
        match self._named.resolve(schema):
            case ["null", inner]:
                return self._width(inner)
            case {"type": "record", "fields": fields}:
                return sum(self._width(field["type"]) for field in fields)
        return 1


def _record(members: Sequence[_Pieces]) -> _Pieces:
    return lambda columns, size: [piece for member in members for piece in member(columns, size)]


def _optional(inner: _Pieces, width: int) -> _Pieces:
    def pieces(columns: Iterator[pa.Array], size: int) -> list[Piece]:
        taken = [next(columns) for _ in range(width)]
        # Every record has a field that is never null: all NULL means there was no record.
        there = np.zeros(size, np.bool_)
        for column in taken:
            there |= column.is_valid().to_numpy(zero_copy_only=False)
        count = int(there.sum())
        if count == size:
            return [_PRESENT, *inner(iter(taken), size)]
        if not count:
            return [_ABSENT]
        mask = pa.array(there)
        found = _joined([_PRESENT, *inner((each.filter(mask) for each in taken), count)], count)
        values = iter(found)
        return [[next(values) if one else _ABSENT for one in there.tolist()]]

    return pieces


def _array(item: _Pieces, *, is_record: bool) -> _Pieces:
    """One block, then the empty block that ends the array; an empty one is only that."""

    def pieces(columns: Iterator[pa.Array], _: int) -> list[Piece]:
        column = next(columns)
        listed = column.flatten()
        if not len(listed) and not column.null_count:
            return [_END]
        parts = iter(listed.flatten() if is_record else [listed])
        items = _joined(item(parts, len(listed)), len(listed))
        lengths = column.value_lengths().to_pylist()
        following = iter(items)
        return [
            [
                _number(length) + b"".join(islice(following, length)) + _END
                if length
                else _END
                if length == 0
                else _NOTHING  # NULL
                for length in lengths
            ]
        ]

    return pieces


def _repeated(encode: Callable[[Any], bytes]) -> _Pieces:
    def pieces(columns: Iterator[pa.Array], _: int) -> list[Piece]:
        return [_by_value(next(columns).dictionary_encode(), encode)]

    return pieces


def _by_value(column: pa.DictionaryArray, encode: Callable[[Any], bytes]) -> Piece:
    encoded = [encode(value) for value in column.dictionary.to_pylist()]
    if len(encoded) == 1 and not column.null_count:
        return encoded[0]
    places = column.indices.fill_null(len(encoded)).to_pylist()
    return list(map([*encoded, _NOTHING].__getitem__, places))


def _numbers(column: pa.Array) -> Piece:
    """Numbers, and times as the microseconds they are."""
    column = column.cast(pa.int64())
    counted = column.dictionary_encode()
    if column.null_count or len(counted.dictionary) <= _REPEATED * len(column):
        return _by_value(counted, _number)
    values = column.to_numpy()
    rest = (values.astype(np.uint64) << np.uint64(1)) ^ (values >> 63).astype(np.uint64)  # zig-zag
    digits = np.empty((len(values), _LONGEST_NUMBER), np.uint8)
    lengths = np.zeros(len(values), np.int64)
    for place in range(_LONGEST_NUMBER):
        lengths += (rest > 0) | (place == 0)
        digits[:, place] = rest & np.uint64(0x7F) | np.uint64(0x80)
        rest >>= np.uint64(7)
    digits[np.arange(len(values)), lengths - 1] &= 0x7F
    data, starts = digits.tobytes(), range(0, digits.size, _LONGEST_NUMBER)
    return [data[at : at + length] for at, length in zip(starts, lengths.tolist(), strict=True)]


@lru_cache(maxsize=1024)  # lengths and words come again, times do not
def _number(value: int) -> bytes:
    out = bytearray()
    _write_number(value, out)
    return bytes(out)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _number(len(encoded)) + encoded


def _joined(pieces: Iterable[Piece], size: int) -> list[bytes]:
    """The pieces of each row, one behind the other."""
    columns: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, bytes) and columns and isinstance(columns[-1], bytes):
            columns[-1] += piece
        else:
            columns.append(piece)
    if len(columns) == 1 and isinstance(columns[0], list):
        return columns[0]
    filled = [repeat(each, size) if isinstance(each, bytes) else each for each in columns]
    return list(map(b"".join, zip(*filled, strict=True)))
