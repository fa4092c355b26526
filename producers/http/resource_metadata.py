"""Protected-resource metadata: an OAuth client believes a server only under its own address.

Behind a proxy the resource is the proxy's address: the client compares it with the one it
connects to (RFC 9728 §3.3), and finds the metadata by the challenge (§5.1).
"""

from __future__ import annotations

import json
import re
from typing import Any, Final
from urllib.parse import urlsplit

_WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
#: RFC 9110 §11.2: a parameter of a challenge, its value a quoted string or a token.
_RESOURCE_METADATA: Final = re.compile(r'(resource_metadata\s*=\s*"?)([^"\s,]+)', re.IGNORECASE)


def is_metadata(path: str) -> bool:
    """Whether protected-resource metadata stands under ``path`` (RFC 9728 §3)."""
    path = path.partition("?")[0]
    return path == _WELL_KNOWN or path.startswith(f"{_WELL_KNOWN}/")


def is_named_in(challenge: str) -> bool:
    """Whether a ``WWW-Authenticate`` field says where the metadata is."""
    return _RESOURCE_METADATA.search(challenge) is not None


def moved_challenge(challenge: str, origin: str) -> str:
    """The challenge with the metadata at ``origin`` (``https://host:port``)."""
    return _RESOURCE_METADATA.sub(lambda found: found[1] + _at(found[2], origin), challenge)


def moved(body: bytes, origin: str) -> bytes:
    """The metadata with its resource at ``origin``; what is no such metadata stays as it is."""
    try:
        metadata: Any = json.loads(body)
        resource = metadata["resource"]
        metadata["resource"] = _at(resource, origin)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return body
    return json.dumps(metadata).encode()


def _at(url: str, origin: str) -> str:
    parts = urlsplit(url)
    return origin + parts._replace(scheme="", netloc="").geturl()
