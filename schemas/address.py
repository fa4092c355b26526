"""The parts of an address, read as a browser reads it: what a person's click would open.

Source: WHATWG URL §4.4: control characters are stripped, backslashes are slashes in
``http`` and ``https``, what stands before the last ``@`` is user information.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

#: The schemes that have an origin a person can judge, and the ports they imply.
DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_PORT: Final = re.compile(r"0*([0-9]{1,5})")
_C0_AND_SPACE: Final = "".join(map(chr, range(0x21)))


@dataclass(frozen=True, slots=True)
class Address:
    """``scheme`` in lower case; of others than ``http`` and ``https`` all else is in ``rest``.

    ``userinfo``  None where there is no ``@``
    ``host``      as it stands: neither decoded nor checked
    ``port``      empty where there is none, None where it is not valid
    ``place``     host and port as they stand
    ``rest``      path, query and fragment
    """

    scheme: str
    userinfo: str | None
    host: str
    port: str | None
    place: str
    rest: str


def read_address(url: str) -> Address | None:
    """The parts of ``url``; None where it has no scheme. Never raises."""
    text = re.sub(r"[\t\n\r]", "", url.strip(_C0_AND_SPACE))
    match = _SCHEME.match(text)
    if match is None:
        return None
    scheme, rest = match[1].lower(), text[match.end() :]
    if scheme not in DEFAULT_PORTS:
        return Address(scheme, None, "", "", "", rest)
    rest = rest.lstrip("/\\")
    authority = re.split(r"[/\\?#]", rest, maxsplit=1)[0]
    userinfo, at, place = authority.rpartition("@")
    host, port = _split_port(place)
    return Address(scheme, userinfo if at else None, host, port, place, rest[len(authority) :])


def _split_port(place: str) -> tuple[str, str | None]:
    match = re.fullmatch(r"(\[.*\]|[^:]*)(?::(.*))?", place, re.DOTALL)
    if match is None:
        return place, None
    host, port = match[1], match[2] or ""
    digits = _PORT.fullmatch(port) if port.isascii() else None
    if port and (digits is None or int(digits[1]) >= 2**16):
        return host, None
    return host, str(int(digits[1])) if digits else ""
