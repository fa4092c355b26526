"""Normal form of a text, in which look-alikes, spacing and spelling tricks are equal.

``"Your API-Key:"``, ``"your_apiKey"`` and ``"уоur ＡＰＩ k-e-y"`` read the same to a person,
and so they must to a rule. The normal form is for comparing, never for showing.

Sources: Unicode Standard Annex 15 (NFKD); Unicode Technical Standard 39 §4
(confusables; the letters below are those of it that pass for Latin ones).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

#: Stands where a clause ends. It is surrounded by spaces, as every word is.
CLAUSE: Final = "|"

#: Letters that pass for a Latin one, after case folding. Those of Cyrillic are replaced in
#: Russian words as well, which does no harm: what they are compared with is, too.
_LOOK_ALIKES: Final = {
    "a": "аαɑ",
    "b": "вƅ",
    "c": "сϲᴄ",
    "d": "ԁđ",
    "e": "еҽℯ",
    "g": "ɡց",
    "h": "һհн",
    "i": "іıɩι",
    "j": "јϳ",
    "k": "кκ",
    "l": "łⅼӏ",
    "m": "мⅿ",
    "n": "ոռ",
    "o": "оοօøσ",
    "p": "рρ",
    "q": "ԛզ",
    "r": "гᴦ",
    "s": "ѕꜱ",
    "t": "тτ",
    "u": "υսᴜ",
    "v": "ѵνᴠ",
    "w": "ԝѡωա",
    "x": "хχ",
    "y": "уүγ",
    "z": "ᴢ",
}
_AS_LATIN: Final = str.maketrans(
    {letter: latin for latin, letters in _LOOK_ALIKES.items() for letter in letters}
)
#: Combining marks that only accent a letter, or that writers of Hebrew and Arabic leave out.
_MARKS: Final = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]")
#: Characters nobody sees (format characters, variation selectors) and the Arabic stretch.
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u0640\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
#: Where an identifier begins a word: ``apiKey``, ``APIKey``.
_HUMPS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: Punctuation that ends a clause wherever it stands, and what does before a space.
_BREAKS: Final = re.compile(r"[\n\r()\[\]{}。！？；।؟؛…]")
_STOPS: Final = (". ", "; ", "! ", "? ", " - ", " – ", " — ")
#: A word in which digits and signs stand for letters; possessive, so that time stays linear.
_LEET: Final = re.compile(r"\b(?:[a-z]++)?+(?:[013457$@]++[a-z]++)++[013457$@]*+")
_LEET_LETTERS: Final = str.maketrans("013457$@", "oieastsa")
_LEET_SIGNS: Final = re.compile(r"[0-9$@]")
_NUMBERED: Final = re.compile(r"(?<=[a-z])(?=\d)")
_NO_WORD: Final = re.compile(r"[^\w|]+|_+")
_ASCII_NO_WORD: Final = {
    code: CLAUSE if chr(code) in "\n\r()[]{}" else " "
    for code in range(128)
    if not chr(code).isalnum() and chr(code) != CLAUSE
}
#: A word spelt letter by letter has as many of them.
_SPELT_LETTERS: Final = 3
_SPELT: Final = re.compile(rf"(?: [^\W\d_]){{{_SPELT_LETTERS},}}(?= )")
#: Scripts of one character a sound or word are never written apart.
_SPELT_HAN: Final = re.compile(
    "(?<=[\u3040-\u30ff\u3400-\u9fff]) +(?=[\u3040-\u30ff\u3400-\u9fff])"
)


def plain(text: str) -> str:
    """The words of ``text`` in normal form, each with a space on either side."""
    text = spread(text)
    is_ascii = text.isascii()
    text = text.casefold() if is_ascii else _BREAKS.sub(CLAUSE, _folded(text))
    for stop in _STOPS:
        text = text.replace(stop, CLAUSE)
    if _LEET_SIGNS.search(text):
        text = _LEET.sub(lambda word: word[0].translate(_LEET_LETTERS), text)
        text = _NUMBERED.sub(" ", text)
    if is_ascii:
        text = text.translate(_ASCII_NO_WORD)
    else:
        text = _SPELT_HAN.sub("", _NO_WORD.sub(" ", text))
    words = text.replace(CLAUSE, f" {CLAUSE} ").split()
    text = f" {' '.join(words)} "
    if list(map(len, words)).count(1) < _SPELT_LETTERS:
        return text
    return _SPELT.sub(lambda letters: " " + letters[0].replace(" ", ""), text)


def spread(text: str) -> str:
    """``text``, with the words of an identifier apart: ``apiKey`` is ``api Key``."""
    return text if " " in text else _HUMPS.sub(" ", text)


def as_latin(text: str) -> str:
    """``text`` in lower case, with every letter that passes for a Latin one replaced by it."""
    return text.casefold().translate(_AS_LATIN)


def _folded(text: str) -> str:
    text = _MARKS.sub("", unicodedata.normalize("NFKD", _UNSEEN.sub("", text)))
    return unicodedata.normalize("NFC", as_latin(text))
