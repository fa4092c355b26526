"""JSON with comments, written in every way it can be: strategies for hypothesis."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import strategies as st

from elicitation_receipts.jsonc import Array, Node, Object, Text

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
BETWEEN = [
    " ",
    "\t",
    "\n",
    "\r\n",
    "\n    ",
    '// "x": [1], } \n',
    "//\r\n",
    "/* , ] } // */",
    "/**/",
]


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """A text that holds ``value``, with comments, blanks, escapes and trailing commas at will."""
    chance = Random(draw(st.integers(0, 2**32)))  # one draw: much faster than one a place

    def space() -> str:
        return "".join(chance.choices(BETWEEN, k=chance.randrange(3)))

    def comma_separated(items: list[str]) -> str:
        last = chance.choice(["", ","]) if items else ""
        return ",".join(space() + item + space() for item in items) + last + space()

    def write(one: Any) -> str:
        if isinstance(one, list):
            return "[" + comma_separated([write(item) for item in one]) + "]"
        if isinstance(one, dict):
            members = [write(key) + space() + ":" + space() + write(one[key]) for key in one]
            return "{" + comma_separated(members) + "}"
        return json.dumps(one, ensure_ascii=chance.random() < 0.5)

    return chance.choice(["", "\ufeff"]) + space() + write(value) + space()


def value_of(text: str, node: Node) -> Any:
    """What a node of ``text`` says, as the standard library would load it."""
    if isinstance(node, Text):
        return node.value
    if isinstance(node, Array):
        return [value_of(text, item) for item in node.items]
    if isinstance(node, Object):
        return {name.value: value_of(text, value) for name, value in node.members}
    return json.loads(text[node.start : node.end])
