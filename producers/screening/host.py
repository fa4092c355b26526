"""The host of an address: does it read as what it is?

Sources: IDNA 2008 (RFC 5890–5893) with the mapping of UTS 46; UTS 39 §5.2, "Highly
Restrictive": one script a label, or Latin with those of Chinese, Japanese or Korean.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final
from urllib.parse import unquote

import idna

from elicitation_receipts.producers.screening.normalise import as_latin
from elicitation_receipts.schemas.vocabulary import FindingName

#: Scripts that stand together in the names of one language.
_TOGETHER: Final = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)
#: Format characters and bidirectional controls have no place in a name (RFC 5892 §2.6). The
#: two joiners may stand between letters that join.
_HIDDEN: Final = ("Cf", "Cc", "Zl", "Zp")
_JOINERS: Final = "\u200c\u200d"


def host_findings(text: str) -> Iterator[FindingName]:
    """What is odd about a host as it stands in an address."""
    host = unquote(text).rstrip(".").lower()
    if not host or " " in host:
        yield FindingName.MALFORMED_MESSAGE
        return
    if _is_ip(host):
        yield FindingName.URL_IP_LITERAL
        return
    if host.isascii() and "xn--" not in host:
        return
    yield FindingName.URL_PUNYCODE
    labels = [_unicode(label) for label in host.replace("。", ".").split(".")]
    if any(_is_hidden(char) for char in host) or any(
        _is_mixed(label) or (not label.isascii() and labels[-1].isascii() and _passes(label))
        for label in labels
    ):
        yield FindingName.URL_MIXED_SCRIPT


def _is_ip(host: str) -> bool:
    """Whether a browser takes ``host`` for an address: ``2130706433`` is 127.0.0.1."""
    if host.startswith("["):
        return True
    last = host.rsplit(".", 1)[-1]
    try:
        return bool(ip_address(host))
    except ValueError:
        return last.isdigit() or (last.startswith("0x") and _is_hex(last[2:]))


def _is_hex(text: str) -> bool:
    return all(char in "0123456789abcdef" for char in text)


def _unicode(label: str) -> str:
    """A label as a person is shown it."""
    try:
        if label.startswith("xn--"):
            return idna.decode(label)
        return idna.uts46_remap(label, std3_rules=False) if not label.isascii() else label
    except (UnicodeError, ValueError):  # idna.IDNAError is a UnicodeError
        return label


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in _HIDDEN and char not in _JOINERS


def _is_mixed(label: str) -> bool:
    scripts = {_script(char) for char in label if char.isalpha()}
    return len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER)


def _passes(label: str) -> bool:
    """Whether a label without one Latin letter reads as Latin all the same."""
    return as_latin(label).isascii()


def _script(char: str) -> str:
    # Python has no script property; the names of letters begin with it.
    return unicodedata.name(char, "UNKNOWN").replace("-", " ").split(" ", 1)[0]
