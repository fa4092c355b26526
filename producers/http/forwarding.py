"""Forwarding: what a gateway may not pass on as it came, and whom it serves at all.

Sources: RFC 9110 §7.6.1 (fields of one connection), §7.6.3 (Via); MCP "Transports",
Streamable HTTP, security warning (DNS rebinding).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from elicitation_receipts.schemas.errors import ProxyError

Fields = Iterable[tuple[str, str]]

VIA: Final = "1.1 elicitation-receipts"

_OF_ONE_CONNECTION: Final = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding"),
        *("upgrade", "proxy-authenticate", "proxy-authorization"),
    }
)


def end_to_end(fields: Fields) -> Iterator[tuple[str, str]]:
    """The fields meant for the other end: those of this one connection are left out.

    Raises ``field_not_utf8``: such a value would lose bytes on its way.
    """
    fields = list(fields)
    named = {
        option.strip().lower()
        for name, value in fields
        if name.lower() == "connection"
        for option in value.split(",")
    }
    for name, value in fields:
        if name.lower() in _OF_ONE_CONNECTION | named:
            continue
        if not _is_text(value):
            raise ProxyError(
                "field_not_utf8", "a header's value is not UTF-8 and cannot be passed unchanged"
            )
        yield name, value


def check_addressee(host: str | None, origin: str | None, ours: Iterable[str]) -> None:
    """Refuse what a web page sends that has its own name resolved to our address.

    ``host``, ``origin``  the request's fields, None where it has none
    ``ours``              host names, in lower case, under which we are reached

    An address is nobody's name and cannot be rebound: as ``Host`` it will do. A page, though,
    may well come from one: as ``Origin`` only loopback will. Raises ``host_not_allowed``,
    ``origin_not_allowed``.
    """
    ours = {"localhost", *ours}
    called = _host_of(f"//{host}") if host is not None else None
    if called not in ours and not _is_address(called):
        raise ProxyError(
            "host_not_allowed",
            "the Host of this request is no name of this proxy; if clients know it by that"
            " name, give --public-url",
        )
    if origin is None:
        return
    page = _host_of(origin)
    if page not in ours and not _is_loopback(page):
        raise ProxyError(
            "origin_not_allowed",
            "this proxy serves no web page from another origin; if the page is yours,"
            " give --public-url",
        )


def check_target(target: str) -> None:
    """Refuse a request target that is no path: appended to our upstream, it may name another.

    Raises ``target_not_allowed``.
    """
    if not target.startswith("/"):
        raise ProxyError("target_not_allowed", "the target of a request must be a path")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens on ``host``."""
    return host == "localhost" or _is_loopback(host)


def _is_text(value: str) -> bool:
    """Whether all of it was UTF-8 (bytes that were not stand as lone surrogates, PEP 383)."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _is_address(host: str | None) -> bool:
    try:
        ip_address(host or "")
    except ValueError:
        return False
    return True


def _is_loopback(host: str | None) -> bool:
    return host is not None and _is_address(host) and ip_address(host).is_loopback
