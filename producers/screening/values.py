"""Secrets known by their shape: what a default, an option, an example or a pattern gives away.

The shapes are those the issuers publish; card numbers are checked (ISO/IEC 7812-1, Luhn).
A long random text of no known shape is not judged: commit ids and UUIDs look the same.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from elicitation_receipts.producers.policy.words import DataClass
from elicitation_receipts.producers.screening.expression import (
    class_of,
    compiled,
    compiled_classes,
    encoded,
)

#: Beginnings that issuers give their secrets, with as much after them as makes one: a text
#: that says "starts with ghp_" asks for it as surely as an example shows it.
_SHAPES: Final = {
    DataClass.PRIVATE_KEY: (
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY",
        r"\bAGE-SECRET-KEY-1",
        r"\bid_(?:rsa|dsa|ecdsa|ed25519)\b",
    ),
    DataClass.API_KEY: (
        r"\b(?:AKIA|ASIA)(?:[0-9A-Z]{8,}|[.…\[*]|\b)",
        r"\b(?:sk|rk|pk)_(?:live|test)_",
        r"\bsk-(?:ant-|proj-|[A-Za-z0-9_-]{12,}|\.\.\.|…|[xX*]{2,}|\[)",
        r"\bAIza(?:[0-9A-Za-z_-]{10,}|[.…\[*]|\b)",
        r"\bSG\.[A-Za-z0-9_-]{10,}\.",
        r"\bkey-[0-9a-f]{32}\b",
        r"\b(?:AccountKey|SharedAccessKey)=",
    ),
    DataClass.TOKEN: (
        r"\b(?:ghp|gho|ghu|ghs|ghr)_",
        r"\bgithub_pat_",
        r"\bgl(?:pat|dt|rt)-",
        r"\bxox[abeprs]-",
        r"\bnpm_(?:[A-Za-z0-9]{10,}|\.\.\.|…|\[|[xX*]{2,})",
        r"\bhf_(?:[A-Za-z0-9]{10,}|\.\.\.|…|\[|[xX*]{2,})",
        r"\bdop_v1_",
        r"\bshp(?:at|ca|pa|ss)_",
        r"\bya29\.",
        r"\beyJ[A-Za-z0-9_-]{10,}\.",
        r"\bBearer [A-Za-z0-9._~+/-]{16,}",
    ),
    DataClass.GOVERNMENT_ID: (r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b",),
}
#: As many digits as a card has, in the groups it is printed in.
_CARD: Final = (
    r"\b[2-6][0-9]{3}(?:[ -]?[0-9]{4}){2}[ -]?[0-9]{1,7}\b"
    r"|\b3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5}\b"
)
#: A digit, as a `pattern` spells it.
_D: Final = r"(?:\\d|\[0-9\])"
#: How a `pattern` spells what it lets in, where that is no shape above.
_PATTERNS: Final = {
    DataClass.PAYMENT_CARD: (
        _D + r"\{(?:13|14|15|16)(?:,(?:16|19))?\}",
        rf"(?:{_D}\{{4\}}[^0-9a-zA-Z(]{{0,8}}){{4}}",
        _D + r"\{4\}[^{}]{0,8}\)?\{[34]\}",
    ),
    DataClass.GOVERNMENT_ID: (rf"{_D}\{{3\}}-?\??{_D}\{{2\}}-?\??{_D}\{{4\}}",),
    DataClass.RECOVERY_CODE: (r"\{(?:11|23)(?:,23)?\}",),
}


def shaped_like(text: str) -> set[DataClass]:
    """The classes of the secrets that stand in ``text`` by their shape, or are hinted at."""
    data = encoded(text)
    found = {class_of(match) for match in _shapes().finditer(data)}
    if any(_is_card(number.group().decode()) for number in _card().finditer(data)):
        found.add(DataClass.PAYMENT_CARD)
    return found


def let_in_by(pattern: str) -> set[DataClass]:
    """The classes of what a field's ``pattern`` is made for."""
    data = encoded(pattern)
    matches = (*_shapes().finditer(data), *_patterns().finditer(data))
    return {class_of(match) for match in matches}


def _is_card(number: str) -> bool:
    digits = [int(char) for char in number if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return 13 <= len(digits) <= 19 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


@cache
def _shapes() -> Any:
    return compiled_classes(_SHAPES)


@cache
def _patterns() -> Any:
    return compiled_classes(_PATTERNS)


@cache
def _card() -> Any:
    return compiled(_CARD)
