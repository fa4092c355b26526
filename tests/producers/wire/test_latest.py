"""What a session remembers is bounded, and the latest stays."""

from __future__ import annotations

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.producers.wire.latest import Latest

STEPS = st.lists(st.tuples(st.sampled_from(["set", "default", "pop"]), st.integers(0, 9)))


@given(st.integers(1, 5), STEPS)
def test_it_holds_the_latest_however_it_is_filled(most: int, steps: list[tuple[str, int]]) -> None:
    latest: Latest[int, int] = Latest(most)
    expected: OrderedDict[int, int] = OrderedDict()
    for number, (step, key) in enumerate(steps):
        if step == "pop":
            assert latest.pop(key, None) == expected.pop(key, None)
            continue
        if step == "set":
            latest[key] = expected[key] = number
        else:
            assert latest.setdefault(key, number) == expected.setdefault(key, number)
        while len(expected) > most:
            del expected[next(iter(expected))]
        assert list(latest.items()) == list(expected.items())
