"""Which words from the wire may stand in a receipt as they are, and what stands in for the rest.

A name, a version or an address comes from a program, but a program may put anything
into it: a token, a person's number, a whole answer. So a word passes only if it has the
shape of a name, has no six digits in a row, and no twenty characters that look random.
For every other word a keyed reference stands in (see ``digest.reference_text``).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

import idna

from elicitation_receipts.schemas.address import DEFAULT_PORTS, read_address
from elicitation_receipts.schemas.vocabulary import ORIGINATING_METHODS, PROTOCOL_REVISIONS

#: The name under which the stream of operators' acts stands where others have a tenant's.
OPERATORS: Final = "operators"

_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.:/-]{0,63}")
_VERSION: Final = re.compile(
    # The part behind the numbers starts with a letter: 1980-04-12 is no version.
    r"v?[0-9]+(?:\.[0-9]+)*(?:[-+.]?[A-Za-z][A-Za-z0-9]*(?:[-+.][A-Za-z0-9]+)*)?"
)
_VERSION_LENGTH: Final = 64
_REFERENCE: Final = re.compile(r"#[0-9a-f]{12}\.[0-9a-f]{24}")
_KEY_ID: Final = re.compile(r"[0-9a-f]{12}")
_TENANT: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_ORDINAL: Final = re.compile(r"\[(?:0|[1-9][0-9]{0,8})\]")
_SIX_DIGITS: Final = re.compile(r"[0-9]{6}")


def is_identifier(text: str) -> bool:
    """Whether ``text`` is safe as a name: ``[A-Za-z][A-Za-z0-9_.:/-]{0,63}`` and not suspect."""
    return _IDENTIFIER.fullmatch(text) is not None and not _is_suspect(text)


def is_version(text: str) -> bool:
    """Whether ``text`` is safe as a version: numbers, then perhaps a suffix (``1.2.0-rc.1``)."""
    return (
        len(text) <= _VERSION_LENGTH
        and _VERSION.fullmatch(text) is not None
        and not _is_suspect(text)
    )


def is_reference(text: str) -> bool:
    """Whether ``text`` is a keyed stand-in: ``#<key id>.<24 hexadecimal digits>``."""
    return _REFERENCE.fullmatch(text) is not None


def is_key_id(text: str) -> bool:
    """Whether ``text`` names a key: 12 hexadecimal digits."""
    return _KEY_ID.fullmatch(text) is not None


def is_tenant(text: str) -> bool:
    """Whether ``text`` names a tenant (and a folder): ``[a-z0-9][a-z0-9_.-]{0,63}``, no ``..``."""
    return _TENANT.fullmatch(text) is not None and ".." not in text


def is_field(text: str) -> bool:
    """Whether ``text`` names a property: safe as a name, or its place ``[n]`` in the schema."""
    return is_identifier(text) or _ORDINAL.fullmatch(text) is not None


# --- looks random ---------------------------------------------------------------------
#
# Names are made of words, and in words few letters follow another: 200 of the 676 pairs
# make up nine tenths of them. In random text two of three pairs are others. So within
# twenty characters (19 pairs) odd pairs are counted: two points for letters that seldom
# follow each other and for a digit beside anything, one for a capital after a small
# letter (in a name it starts a word, in a token it is chance), none beside - and _.
# Fourteen points, seven odd pairs of nineteen, look random. Measured: of random tokens of
# 24 characters (hexadecimal, base32, base62, base64url) fewer than one in a thousand
# passes; of 28,000 function names in well-known Python packages one in a hundred does not.

_OFTEN_AFTER: Final = {
    "a": "bcdgiklmnprstuy",
    "b": "aeilou",
    "c": "aehiklortu",
    "d": "adeiosu",
    "e": "acdefglmnprstvwxy",
    "f": "aeiloru",
    "g": "aehiors",
    "h": "aeio",
    "i": "abcdefglmnoprstvz",
    "j": "eo",
    "k": "e",
    "l": "adeilostuy",
    "m": "aeiopu",
    "n": "acdefgiostuv",
    "o": "bcdlmnoprstuvw",
    "p": "aeiloprsty",
    "q": "u",
    "r": "acdegilmnorstuy",
    "s": "acehilopstu",
    "t": "acehiloprstuy",
    "u": "beilmnprst",
    "v": "aei",
    "w": "aehio",
    "x": "t",
    "y": "p",
    "z": "e",
}
_ORDINARY_PAIRS: Final = frozenset(
    first + second for first, others in _OFTEN_AFTER.items() for second in others
)
_RUN: Final = re.compile(r"[A-Za-z0-9_-]{20,}")
_WINDOW: Final = 19  # pairs in twenty characters
_LOOKS_RANDOM: Final = 14


def _is_suspect(text: str) -> bool:
    return _SIX_DIGITS.search(text) is not None or any(map(_looks_random, _RUN.findall(text)))


@lru_cache(maxsize=1024)  # the same few names come again and again
def _looks_random(run: str) -> bool:
    points = [_oddness(first, second) for first, second in pairwise(run)]
    return any(
        sum(points[start : start + _WINDOW]) >= _LOOKS_RANDOM
        for start in range(len(points) - _WINDOW + 1)
    )


def _oddness(first: str, second: str) -> int:
    if first in "-_" or second in "-_":
        return 0
    if first.islower() and second.isupper():
        return 1
    return 0 if (first + second).lower() in _ORDINARY_PAIRS else 2


# --- addresses ------------------------------------------------------------------------

#: Schemes that say by themselves what an address is; their addresses have no origin.
_OTHER_SCHEMES: Final = frozenset(
    {"about", "blob", "data", "file", "ftp", "javascript", "mailto", "tel", "vbscript", "ws", "wss"}
)
_NO_ORIGIN: Final = "other:"

_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_ORIGIN: Final = re.compile(r"(https?)://(.+?)(?::(0|[1-9][0-9]{0,4}))?")


def is_url_origin(text: str) -> bool:
    """Whether ``text`` is what :func:`origin_of` makes of an address."""
    if match := _ORIGIN.fullmatch(text):
        scheme, host, port = match.groups()
        return (is_reference(host) or _is_host(host)) and (
            port is None or (int(port) < 2**16 and int(port) != DEFAULT_PORTS[scheme])
        )
    return text == _NO_ORIGIN or (text.endswith(":") and text[:-1] in _OTHER_SCHEMES)


def origin_of(url: str, reference: Callable[[str], str]) -> str:
    """The origin of an address (RFC 6454): scheme, host and port, and nothing else of it.

    Read as a browser reads it (WHATWG URL): control characters stripped, backslashes
    taken for slashes, the host percent-decoded and in A-labels (IDNA 2008), the
    default port left out. A host that is not valid or looks like a secret becomes
    ``reference(host)``; an address that is neither http nor https is its scheme with a
    colon, where the scheme is well known, else ``other:``. Never raises.
    """
    address = read_address(url)
    if address is None:
        return _NO_ORIGIN
    scheme = address.scheme
    if scheme not in DEFAULT_PORTS:
        return f"{scheme}:" if scheme in _OTHER_SCHEMES else _NO_ORIGIN
    if address.port is None:
        return f"{scheme}://{reference(address.place.lower())}"
    name = _host_name(address.host) or reference(address.host.lower())
    suffix = "" if address.port in ("", str(DEFAULT_PORTS[scheme])) else f":{address.port}"
    return f"{scheme}://{name}{suffix}"


def _host_name(host: str) -> str | None:
    """A host in its one normal form, or None where it has none that is safe."""
    if host.startswith("["):
        return _ipv6(host)
    try:
        name = unquote(host, errors="strict").lower()
        if not name.isascii():
            name = idna.encode(name, uts46=True).decode("ascii")
    except (UnicodeError, ValueError):  # idna.IDNAError is a UnicodeError
        return None
    name = name.removesuffix(".")
    return name if _is_host(name) else None


def _ipv6(host: str) -> str | None:
    try:
        address = ipaddress.IPv6Address(host[1:-1])
    except ValueError:
        return None
    if not host.endswith("]") or address.scope_id is not None:
        return None
    if address.ipv4_mapped is not None:
        # Python 3.13 writes these in another way than 3.11 does.
        high, low = divmod(int(address.ipv4_mapped), 2**16)
        return f"[::ffff:{high:x}:{low:x}]"
    return f"[{address.compressed}]"


def _is_host(host: str) -> bool:
    if host.startswith("["):
        return _ipv6(host) == host
    if len(host) > 253:
        return False
    labels = host.split(".")
    if labels[-1].isdigit() or labels[-1].startswith("0x"):
        # Ends in a number: an IPv4 address in four plain numbers or nothing.
        try:
            return str(ipaddress.IPv4Address(host)) == host
        except ValueError:
            return False
    return all(_LABEL.fullmatch(label) and not _is_suspect(label) for label in labels)


# --- the rules by name ----------------------------------------------------------------

#: What a string of the Avro schema must satisfy, by the name its ``constraint`` gives.
CONSTRAINTS: Final[dict[str, Callable[[str], bool]]] = {
    "identifier": lambda text: is_identifier(text) or is_reference(text),
    "version": lambda text: is_version(text) or is_identifier(text) or is_reference(text),
    "protocol_version": lambda text: text in PROTOCOL_REVISIONS or is_reference(text),
    "method": lambda text: text in ORIGINATING_METHODS or is_reference(text),
    "tenant": is_tenant,
    "url_origin": is_url_origin,
    "field": is_field,
    "key_id": is_key_id,
}
