"""JSON with comments: read as the standard library reads JSON, each node where it stands."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonc_texts import VALUES, value_of, written

from elicitation_receipts.jsonc import Array, parse
from elicitation_receipts.schemas.errors import ConfigError


@given(st.data(), VALUES)
def test_reads_what_was_written_however_it_was_written(data: st.DataObject, value: Any) -> None:
    text = data.draw(written(value))
    assert value_of(text, parse(text)) == value


def refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


@given(VALUES, st.data())
def test_takes_what_the_standard_library_takes_and_nothing_else(
    value: Any, data: st.DataObject
) -> None:
    text = json.dumps(value)
    at = data.draw(st.integers(0, len(text)))
    inserted = data.draw(st.sampled_from(list('[]{}:,"\\ \n0-.e1tx')) | st.just(""))
    text = text[:at] + inserted + text[at + data.draw(st.integers(0, 1)) :]
    assume(not re.search(r",\s*[\]}]", text))  # taken by us alone
    try:
        expected = json.loads(text, parse_constant=refuse)
    except ValueError:
        with pytest.raises(ConfigError):
            parse(text)
    else:
        assert value_of(text, parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("{\n  'a': 1}", 2, 3),
        ("{a: 1}", 1, 2),
        ("[1,,2]", 1, 4),
        ("[,]", 1, 2),
        ("{} {}", 1, 4),
        ("{} /* open", 1, 4),
        ('{"a": "line\nbreak"}', 1, 7),
        ('["\\q"]', 1, 2),
        ("[01]", 1, 3),
        ("[NaN]", 1, 2),
        ("[" * 100_000, 1, 101),
    ],
)
def test_says_where_it_is_no_json_and_not_what_stands_there(
    text: str, line: int, column: int
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert caught.value.reason == "config_not_json"
    assert f"line {line}, column {column}: no JSON" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "filled"), [("[1, 2]", "[1, 2"), ("[1 , ]", "[1 ,"), ("[ ]", "["), ("[]", "[")]
)
def test_a_list_knows_where_its_items_end(text: str, filled: str) -> None:
    node = parse(text)
    assert isinstance(node, Array)
    assert text[: node.filled_end] == filled
