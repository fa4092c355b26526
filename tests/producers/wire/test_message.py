"""Reading frames: what a plain JSON parser forgets, and what it chokes on."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.producers.wire.message import (
    ABSENT,
    MAX_DEPTH,
    id_key,
    is_too_deep,
    parse,
    repeats,
    repeats_anywhere,
    walk,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_one_message() -> None:
    frame = parse(b'{"jsonrpc":"2.0","id":7,"method":"ping"}\r\n')
    (message,) = frame.messages
    assert frame.is_json
    assert (message.id, message.method, message.in_batch) == (7, "ping", False)


def test_an_array_of_messages() -> None:
    frame = parse(b'[{"id":1,"method":"a"}, 5, {"id":2,"result":{}}]')
    assert [message.id for message in frame.messages] == [1, 2]
    assert all(message.in_batch for message in frame.messages)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"hello",
        b"5",
        b'"text"',
        b"null",
        b'{"id":1',
        b'{"id":1}{"id":2}',
        b'{"id":NaN}',
        b'{"id":-Infinity}',
        b'{"id":"\xff"}',
        b'\xef\xbb\xbf{"id":1}',
        '{"id":1}'.encode("utf-16"),
        b"[" * 5_000,
        b"[" * 5_000 + b"]" * 5_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"id":' + b"9" * 10_000 + b"}",
    ],
    ids=lambda raw: repr(raw[:16]),
)
def test_what_is_no_message(raw: bytes) -> None:
    frame = parse(raw)
    assert not frame.is_json
    assert frame.messages == ()


@given(st.binary())
def test_any_bytes_are_read(raw: bytes) -> None:
    frame = parse(raw)
    assert frame.is_json or frame.messages == ()


@given(JSON)
def test_any_json_is_read_as_it_is(value: object) -> None:
    frame = parse(json.dumps(value).encode())
    expected = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
    assert [m.members for m in frame.messages] == [m for m in expected if isinstance(m, dict)]


@pytest.mark.parametrize(
    ("raw", "usable"),
    [
        (b'{"id":7}', True),
        (b'{"id":"7"}', True),
        (b'{"id":""}', True),
        (b'{"id":-1}', True),
        (b'{"id":null}', False),
        (b'{"id":7.0}', False),
        (b'{"id":true}', False),
        (b'{"id":[7]}', False),
        (b"{}", False),
    ],
)
def test_a_usable_id_is_a_string_or_an_integer(raw: bytes, usable: bool) -> None:
    assert parse(raw).messages[0].has_usable_id is usable


def test_no_id_is_not_null() -> None:
    assert parse(b"{}").messages[0].id is ABSENT
    assert parse(b'{"id":null}').messages[0].id is None


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"id":1,"result":{}}', True),
        (b'{"id":1,"error":{}}', True),
        (b'{"error":{}}', True),
        (b'{"id":1}', True),
        (b'{"id":1,"method":"ping"}', False),
        (b'{"id":1,"method":"ping","result":{}}', False),
        (b'{"method":"ping"}', False),
        (b"{}", False),
    ],
)
def test_what_is_a_response(raw: bytes, expected: bool) -> None:
    assert parse(raw).messages[0].is_response is expected


@pytest.mark.parametrize("error", [None, 5, {}, {"code": "1"}, {"code": True}, {"code": 1.0}])
def test_an_error_without_a_code(error: object) -> None:
    assert parse(json.dumps({"id": 1, "error": error}).encode()).messages[0].error_code is None


def test_ids_differ_by_type_as_well() -> None:
    ids = [1, "1", 1.0, True, None, ABSENT]
    assert len({id_key(value) for value in ids}) == len(ids)
    assert id_key([1]) == id_key([2])  # no id at all, but a key that can be looked up


def test_a_name_that_stands_twice_is_remembered() -> None:
    (message,) = parse(b'{"id":1,"id":2,"params":{"a":1,"a":2,"b":3}}').messages
    assert message.id == 2
    assert repeats(message.members)
    assert repeats(message.members, "id")
    assert not repeats(message.members, "method")
    assert repeats(message.params, "a")
    assert not repeats(message.params, "b")
    assert not repeats({"a": 1})


def test_a_name_that_stands_twice_is_found_at_any_depth() -> None:
    (message,) = parse(b'{"params":[{"deep":{"a":1,"a":1}}]}').messages
    assert repeats_anywhere(message.members)
    assert not repeats(message.members)
    assert not repeats_anywhere(parse(b'{"params":{"a":{"a":1}}}').messages[0].members)


def test_very_many_names_that_stand_twice() -> None:
    members = ",".join(f'"name{n % 50_000}":{n}' for n in range(100_000))
    (message,) = parse(f"{{{members}}}".encode()).messages
    assert len(message.members) == 50_000
    assert repeats(message.members, "name49999")


def nested(depth: int) -> object:
    value: object = "leaf"
    for _ in range(depth - 1):
        value = [value]
    return value


def test_how_deep_is_too_deep() -> None:
    assert not is_too_deep(nested(MAX_DEPTH))
    assert is_too_deep(nested(MAX_DEPTH + 1))
    assert is_too_deep({"a": nested(MAX_DEPTH)})


@given(JSON)
def test_walking_meets_everything_once(value: object) -> None:
    def count(part: object) -> int:
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        return 1 + sum(map(count, inner))

    assert len(list(walk(value))) == count(value)
