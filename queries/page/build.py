"""Build: the page from the reports that shall stand on it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from elicitation_receipts.queries.catalogue import Catalogue, Cell, Question, Result
from elicitation_receipts.queries.chart import bars
from elicitation_receipts.queries.page.pictures import picture
from elicitation_receipts.queries.page.words import Language, Words, words
from elicitation_receipts.queries.suppress import is_suppressed

_TEMPLATE: Final = resources.files(__package__) / "page.html.j2"
_TEXTS: Final = ("VARCHAR", "DATE")


def page(
    catalogue: Catalogue,
    reports: Mapping[str, Result],
    facts: Mapping[str, object],
    language: Language,
) -> str:
    """HTML of one page. ``facts``: ``policies``, ``broken``, ``rejected``, of the database.

    What comes from receipts is escaped by the template; no script is on the page, and its
    policy (CSP) lets it fetch nothing.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["cell"] = _cell
    said = words(language)
    first = next(iter(reports.values()))
    told = [_report(catalogue.questions[name], result, said) for name, result in reports.items()]
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        words=said,
        say=said.page,
        head={"guarantee": "", **first.head},
        withheld=(
            sum(report["withheld"] for report in told)
            if first.head["profile"] == "auditor"
            else None
        ),
        figures=sum(report["figures"] for report in told),
        reports=told,
        **facts,
    )


def _report(question: Question, result: Result, said: Words) -> dict[str, Any]:
    _, drawn = bars(result)
    figures = [
        is_suppressed(kind, cell)
        for row in result.rows
        for kind, cell in zip(result.types, row, strict=True)
        if kind not in _TEXTS
    ]
    return {
        "name": question.name,
        "title": said.title(question),
        "answers": said.answers(question),
        "withheld": sum(figures),
        "figures": len(figures),
        "columns": result.columns,
        "texts": [kind in _TEXTS for kind in result.types],
        "rows": result.rows,
        "upright": len(result.rows) == 1,
        # The markup is matplotlib's, which escapes the labels.
        "picture": Markup(picture(question.name, drawn)) if drawn else "",  # noqa: S704
    }


def _cell(value: Cell) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
