"""The floor below which screening must not fall, by the corpus of questions."""

from __future__ import annotations

import pytest
from questions_corpus import Example, read_corpus

from elicitation_receipts.producers.screening.screen import screen

SECRET, ORDINARY, HELD_OUT = (read_corpus(name) for name in ("secret", "ordinary", "held_out"))


def found(example: Example) -> set[str]:
    return {data_class.value for data_class in screen(example.params).asks_for}


def test_the_corpus_is_a_few_hundred_of_each_in_many_languages() -> None:
    for examples in (SECRET, ORDINARY):
        assert len(examples) > 200
        by_language = {one.language for one in examples}
        assert len(by_language) >= 12
        assert sum(one.language == "es" for one in examples) >= 40


@pytest.mark.parametrize("asks", sorted({one.asks for one in SECRET}))
def test_each_class_is_found(asks: str) -> None:
    missed = [one.place for one in SECRET if one.asks == asks and asks not in found(one)]
    assert missed == []


@pytest.mark.parametrize("asks", sorted({one.asks for one in SECRET}))
def test_each_class_is_seldom_named_for_another(asks: str) -> None:
    named = [one for one in (*SECRET, *ORDINARY) if asks in found(one)]
    assert sum(one.asks == asks for one in named) / len(named) >= 0.9


def test_an_ordinary_question_is_seldom_taken_for_another() -> None:
    wrong = [one.place for one in ORDINARY if found(one)]
    assert len(wrong) / len(ORDINARY) <= 0.01, wrong


def test_questions_the_rules_were_not_made_with() -> None:
    secret = [one for one in HELD_OUT if one.asks != "none"]
    ordinary = [one for one in HELD_OUT if one.asks == "none"]
    assert sum(bool(found(one)) for one in secret) / len(secret) >= 0.75
    assert sum(bool(found(one)) for one in ordinary) / len(ordinary) <= 0.08
