"""What client and server say about themselves. Claims, not identity.

Up to 2025-11-25 said once, in ``initialize``; from 2026-07-28 in the ``_meta`` of
every request and result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from elicitation_receipts.producers.wire.message import as_object
from elicitation_receipts.schemas.receipt import Keyed
from elicitation_receipts.schemas.vocabulary import Mode

_META: Final = "io.modelcontextprotocol/"
#: The first revision without sessions and server requests.
MODERN: Final = "2026-07-28"


@dataclass(frozen=True, slots=True)
class Peers:
    """Names, versions and revision as sent; None where not seen.

    ``capabilities`` is the client's whole capability object, None before one was seen.
    """

    server_name: str | None = None
    server_version: str | None = None
    client_name: str | None = None
    client_version: str | None = None
    revision: str | None = None
    capabilities: dict[str, Any] | None = None
    #: Of a client whose declaration only an earlier watcher saw: what its receipts say of it.
    kept_modes: tuple[Mode, ...] | None = None
    kept_digest: Keyed | None = None

    @property
    def declared_modes(self) -> tuple[Mode, ...] | None:
        """Declared elicitation modes: an empty object means form only. None: not seen."""
        if self.capabilities is None:
            return self.kept_modes
        elicitation = self.capabilities.get("elicitation")
        if not isinstance(elicitation, dict):
            return ()
        if "form" not in elicitation and "url" not in elicitation:
            return (Mode.FORM,)
        return tuple(mode for mode in (Mode.FORM, Mode.URL) if mode.value in elicitation)

    def declares(self, mode: Mode) -> bool:
        """False only where the client's declaration was seen and lacks ``mode``."""
        return self.declared_modes is None or mode in self.declared_modes

    @property
    def is_modern(self) -> bool:
        return self.revision is not None and self.revision >= MODERN

    def with_initialize(self, params: dict[str, Any]) -> Peers:
        """After the client's ``initialize`` request."""
        client = as_object(params.get("clientInfo"))
        return replace(
            self,
            client_name=_text(client.get("name")),
            client_version=_text(client.get("version")),
            revision=_text(params.get("protocolVersion")),
            capabilities=as_object(params.get("capabilities")),
        )

    def with_initialize_result(self, result: dict[str, Any]) -> Peers:
        """After the server's answer: it names the revision that is spoken."""
        server = as_object(result.get("serverInfo"))
        return replace(
            self,
            server_name=_text(server.get("name")),
            server_version=_text(server.get("version")),
            revision=_text(result.get("protocolVersion")) or self.revision,
        )

    def with_request_meta(self, params: dict[str, Any]) -> Peers:
        """After a request that declares itself (2026-07-28, request ``_meta``)."""
        meta = as_object(params.get("_meta"))
        revision = _text(meta.get(_META + "protocolVersion"))
        if revision is None:
            return self
        client = as_object(meta.get(_META + "clientInfo"))
        declared = replace(
            self,
            client_name=_text(client.get("name")),
            client_version=_text(client.get("version")),
            revision=revision,
            capabilities=as_object(meta.get(_META + "clientCapabilities")),
        )
        return self if declared == self else declared  # said again with every request

    def with_result_meta(self, result: dict[str, Any]) -> Peers:
        """After a result that names its server (2026-07-28, result ``_meta``)."""
        server = as_object(as_object(result.get("_meta")).get(_META + "serverInfo"))
        if not server:
            return self
        return replace(
            self,
            server_name=_text(server.get("name")),
            server_version=_text(server.get("version")),
        )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
