"""The address of a URL question, and addresses in the texts of a form."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache
from itertools import islice
from typing import Any, Final
from urllib.parse import unquote, unquote_plus

from elicitation_receipts.producers.screening.expression import compiled, encoded
from elicitation_receipts.producers.screening.host import host_findings
from elicitation_receipts.producers.screening.lexicon import asked_for
from elicitation_receipts.producers.screening.normalise import plain
from elicitation_receipts.producers.screening.values import shaped_like
from elicitation_receipts.schemas.address import DEFAULT_PORTS, Address, read_address
from elicitation_receipts.schemas.identifiers import origin_of
from elicitation_receipts.schemas.vocabulary import FindingName

#: Parameters beside those that `words.toml` knows by which an address lets its bearer in.
_BEARERS: Final = frozenset(
    plain(name)
    for name in (
        "sig",
        "signature",
        "X-Amz-Signature",
        "X-Amz-Security-Token",
        "X-Goog-Signature",
        "auth",
        "authorization",
        "key",
        "jsessionid",
        "phpsessid",
        "sessionid",
        "session_id",
        "assertion",
        "SAMLResponse",
        "id_token_hint",
        "magic",
    )
)
#: Parameters of one address that are looked at.
_MAX_PARAMETERS: Final = 256
#: Nothing that is asked for over a URL has a longer one (browsers stop at less).
_MAX_URL: Final = 64 * 1024

#: What no valid address holds (WHATWG URL, validation errors), and programs read differently.
_NO_URL: Final = re.compile(r"[\x00-\x20\x7f\\]")

_IN_TEXT: Final = (
    r"(?i)\b(?:https?|ftp|wss?|file):/|\bwww\.[\pL\pN]|\b(?:javascript|vbscript):\S|\bdata:[a-z]+/"
)
#: Words with dots between that are no part of a path or an address of mail. Possessive, and
#: begun once a run: linear time.
_DOT_WITHIN: Final = re.compile(r"\.\w")
_DOTTED: Final = re.compile(r"(?<![\w@./\\-])([\w-]++(?:\.[\w-]++)++)(/\S)?")


def address_findings(url: str, allowed_origins: Collection[str]) -> Iterator[FindingName]:
    """What is wrong with the address a question sends a person to.

    ``allowed_origins``: as :func:`origin_of` writes them; empty: all are.
    """
    if len(url) > _MAX_URL:
        yield FindingName.OVERSIZED_MESSAGE
        return
    if _NO_URL.search(url):
        yield FindingName.MALFORMED_MESSAGE  # and read here as a browser reads it
    address = read_address(url)
    if address is None or address.scheme not in DEFAULT_PORTS:
        yield FindingName.URL_SCHEME
        return
    if address.port is None:
        yield FindingName.MALFORMED_MESSAGE
        return
    if address.scheme != "https":
        yield FindingName.URL_NOT_HTTPS
    if address.userinfo is not None:
        yield FindingName.URL_USERINFO
    yield from host_findings(address.host)
    if allowed_origins and origin_of(url, lambda _: "#") not in allowed_origins:
        yield FindingName.URL_ORIGIN_NOT_ALLOWED
    if _lets_in(address):
        yield FindingName.CREDENTIAL_IN_URL


def _lets_in(address: Address) -> bool:
    """Whether an address holds what it should be entered to show: a secret, or a way past one."""
    if address.userinfo is not None and ":" in address.userinfo.rstrip(":"):
        return True
    path, _, fragment = address.rest.partition("#")
    path, _, query = path.partition("?")
    if shaped_like(unquote(path)):
        return True
    parameters = [*query.split("&"), *fragment.lstrip("/?!").split("&"), *path.split(";")[1:]]
    for parameter in islice(parameters, _MAX_PARAMETERS):
        name, _, value = (unquote_plus(part) for part in parameter.partition("="))
        if value and (_is_bearer(name) or shaped_like(value)):
            return True
    return False


def _is_bearer(name: str) -> bool:
    return plain(name) in _BEARERS or any(found.is_secret for found in asked_for(name))


def holds_address(text: str) -> bool:
    """Whether a client may turn part of ``text`` into something to click on."""
    if "." not in text and ":" not in text and text.isascii():
        return False
    seen = unicodedata.normalize("NFKC", text)
    if _in_text().search(encoded(seen)):
        return True
    return _DOT_WITHIN.search(seen) is not None and any(
        _is_host(match[1].lower(), has_path=bool(match[2])) for match in _DOTTED.finditer(seen)
    )


def _is_host(host: str, *, has_path: bool) -> bool:
    labels = host.split(".")
    if not has_path and len(labels) < 3:
        return False  # report.md, setup.py
    suffixes = _public_suffixes()
    # com.example.app is written backwards: a name, not a place.
    return suffixes.privatesuffix(host) is not None and (
        has_path or suffixes.publicsuffix(labels[0]) is None
    )


@cache
def _in_text() -> Any:
    return compiled(_IN_TEXT)


@cache
def _public_suffixes() -> Any:
    from publicsuffixlist import PublicSuffixList  # reads its list, which few questions need

    return PublicSuffixList(accept_unknown=False)
