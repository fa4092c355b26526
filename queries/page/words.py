"""Words: what a page says beside its figures, by language."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources

from elicitation_receipts.queries.catalogue import Question


class Language(StrEnum):
    EN = "en"
    ES = "es"


@dataclass(frozen=True, slots=True)
class Words:
    """``page``: the page's own; ``questions``: title and explanation, where not the catalogue's."""

    language: Language
    page: dict[str, str]
    questions: dict[str, dict[str, str]]

    def title(self, question: Question) -> str:
        return self.questions.get(question.name, {}).get("title", question.title)

    def answers(self, question: Question) -> str:
        return self.questions.get(question.name, {}).get("answers", question.answers)


@cache
def words(language: Language) -> Words:
    """The words of a language, from the file of its name."""
    file = resources.files(__package__) / f"{language}.toml"
    read = tomllib.loads(file.read_text(encoding="utf-8"))
    return Words(language, read["page"], read.get("questions", {}))
