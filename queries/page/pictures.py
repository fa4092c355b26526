"""Pictures: bars as SVG to stand inside a page, in the page's own colours."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from elicitation_receipts.queries.chart import Bar

# Matplotlib wants colours by number. These stand for the page's, which change with light and dark.
_TEXT: Final = "#010101"
_BAR: Final = "#020202"
_COLOURS: Final = {_TEXT: "currentColor", _BAR: "var(--bar)"}

_ID: Final = re.compile(r'(\bid="|url\(#|href="#)')
_STYLE: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",  # text stays text
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _TEXT,
    "ytick.color": _TEXT,
    "ytick.left": False,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.spines.bottom": False,
}


def picture(name: str, bars: Sequence[Bar]) -> str:
    """An ``<svg>`` element. ``name``: unique in its page; every id in it begins with it."""
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(6.4, 0.5 + 0.28 * len(bars)), layout="constrained")
        axes = figure.subplots()
        drawn = axes.barh(range(len(bars)), [bar.value for bar in bars], color=_BAR, height=0.7)
        axes.bar_label(drawn, [bar.text for bar in bars], padding=4, parse_math=False)
        axes.set_yticks(range(len(bars)), [bar.label for bar in bars], parse_math=False)
        axes.invert_yaxis()
        axes.xaxis.set_visible(False)
        axes.margins(x=0.15)
        buffer = io.StringIO()
        nothing: dict[str, str | None] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    for number, colour in _COLOURS.items():
        svg = svg.replace(number, colour)
    return _ID.sub(rf"\g<1>{name}-", svg)
