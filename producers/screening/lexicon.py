"""The word lists of ``words.toml``, compiled: which class of data a text asks a person for.

Everything is found by RE2, in time linear in the text. How the words are written is
explained in the file itself.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

import re2

from elicitation_receipts.producers.policy.words import DataClass
from elicitation_receipts.producers.screening.expression import (
    class_of,
    compiled,
    compiled_classes,
    encoded,
)
from elicitation_receipts.producers.screening.normalise import CLAUSE, plain, spread

#: A text of so many words names what is asked; a title does however it is worded.
LABEL_WORDS: Final = 5
TITLE_WORDS: Final = 12
#: How far around a word its clause is looked at, in bytes of UTF-8.
_BEFORE: Final = 90
_AFTER: Final = 60
_BAR: Final = CLAUSE.encode()
#: Scripts without spaces between words, or with prefixes before them.
_SPACELESS: Final = re.compile(
    "[\u0590-\u06ff\u0900-\u0fff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)


def asked_for(text: str, label_words: int = LABEL_WORDS) -> set[DataClass]:
    """The classes of data that ``text``, shown with a field, asks a person for.

    A text of up to ``label_words`` words names what is asked. A longer one also talks about
    it: there a class is asked for only where somebody is told to give it.
    """
    return _lexicon().asked_for(plain(text), label_words)


def mentions_any(texts: Iterable[str]) -> bool:
    """Whether any of ``texts`` has a word of any class, asked for or not: one quick look."""
    return _lexicon().mentions(plain("\n".join(map(spread, texts))))


@dataclass(frozen=True, slots=True)
class _Lexicon:
    whole: dict[str, DataClass]
    words: Any
    about_after: Any
    about_before: Any
    ask_before: Any
    ask_after: Any
    refuse_before: Any
    refuse_after: Any
    refuse_unless: Any

    def mentions(self, text: str) -> bool:
        lines = text.split(CLAUSE)
        return any(line in self.whole for line in lines) or bool(self.words.search(encoded(text)))

    def asked_for(self, text: str, label_words: int) -> set[DataClass]:
        found = set()
        data = encoded(text)
        is_label = len(text.replace(CLAUSE, " ").split()) <= label_words
        if is_label and text in self.whole:
            found.add(self.whole[text])
        at = 0
        while (match := self.words.search(data, at)) is not None:
            start, at = match.span()
            if data[at - 1 : at] == b" ":
                at -= 1  # it also begins the next word
            before = data[max(0, start - _BEFORE) : start].rpartition(_BAR)[2].removesuffix(b" ")
            after = data[at : at + _AFTER].partition(_BAR)[0]
            if self._counts(before, after, is_label=is_label):
                found.add(class_of(match))
        return found

    def _counts(self, before: bytes, after: bytes, *, is_label: bool) -> bool:
        """Whether the word between is asked for, and not only mentioned."""
        if self.about_before.search(before) or self.about_after.match(after):
            return False
        before += b" "
        refuses = self.refuse_before.search(before) and not self.refuse_unless.search(before)
        if refuses or self.refuse_after.search(after):
            return False
        return is_label or bool(self.ask_before.search(before) or self.ask_after.search(after))


@cache
def _lexicon() -> _Lexicon:
    source = resources.files(__package__).joinpath("words.toml").read_text("utf-8")
    lists = tomllib.loads(source)
    whole: dict[str, DataClass] = {}
    classes: dict[DataClass, list[str]] = {}
    for name, languages in lists["class"].items():
        whole |= {plain(word): DataClass(name) for word in _all(languages) if word[0] == "="}
        words = [word for word in _all(languages) if word[0] != "="]
        classes[DataClass(name)] = [_pattern(word) for word in words]
    about, ask, refuse = (
        {name: _all(languages) for name, languages in lists[group].items()}
        for group in ("about", "ask", "refuse")
    )
    of, link, article = (_chained(about[name]) for name in ("of", "link", "article"))
    return _Lexicon(
        whole=whole,
        words=compiled_classes(classes),
        about_after=compiled(f"s? ?(?:{_any(about['after'], left='')})"),
        about_before=compiled(f"(?:{of}(?: [^ |]+)?{link}|{_chained(about['before'])}){article}*$"),
        ask_before=compiled(_any(ask["before"])),
        ask_after=compiled(_any(ask["after"])),
        refuse_before=compiled(_any(refuse["before"])),
        refuse_after=compiled(_any(refuse["after"])),
        refuse_unless=compiled(_any(refuse["unless"])),
    )


def _all(languages: dict[str, list[str]]) -> list[str]:
    return [word for words in languages.values() for word in words]


def _any(words: Iterable[str], left: str = " ") -> str:
    return "|".join(_pattern(word, left) for word in words)


def _chained(words: Iterable[str]) -> str:
    """Any of these, where another word or the end of the text follows."""
    return f"(?:{'|'.join(' ' + _inner(word) for word in words)})"


def _pattern(word: str, left: str = " ") -> str:
    """The expression that finds a word of the file in the normal form of a text."""
    inner = _inner(word.strip("*"))
    is_open = _SPACELESS.search(word) is not None
    before = "" if is_open or word.startswith("*") else left
    return before + inner + ("" if is_open or word.endswith("*") else "s? ")


def _inner(word: str) -> str:
    # A star within stands for the rest of its word. Words may be written as one.
    parts = [plain(part).strip() for part in word.split("*")]
    return "[^ |]* ?".join(re2.escape(part).replace("\\ ", " ?") for part in parts)
