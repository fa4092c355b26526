"""Turns what was on the wire into what may stand in a receipt. The only place that does.

An allow-list: a name passes if it is a safe identifier, else a keyed reference
stands in; content becomes a keyed digest; a URL becomes its origin. Everything
else has no way in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any
from uuid import UUID

from elicitation_receipts.producers.wire.peers import Peers
from elicitation_receipts.producers.wire.question import Question
from elicitation_receipts.schemas import digest, identifiers
from elicitation_receipts.schemas.keys import TenantKeys
from elicitation_receipts.schemas.receipt import (
    MAX_LISTED,
    FailedField,
    Keyed,
    Payload,
    Receipt,
    Reference,
    Validation,
)
from elicitation_receipts.schemas.vocabulary import (
    ORIGINATING_METHODS,
    PROTOCOL_REVISIONS,
    Keyword,
    Presentation,
    ReferenceKind,
)


class Redacted(str):
    """Text taken from a receipt: redacted before, it stands in the next one as it is."""

    __slots__ = ()


@dataclass
class Redactor:
    """Redacts for one tenant and stream.

    ``stream_id`` goes into every payload digest, so that none can be moved to another
    stream. ``random`` gives bytes for ids and nonces; only a deterministic replay passes
    anything but the operating system's.
    """

    tenant: str
    stream_id: UUID
    keys: TenantKeys
    random: Callable[[int], bytes] = os.urandom

    def new_id(self) -> UUID:
        """A random UUID (RFC 9562, version 4)."""
        return UUID(bytes=self.random(16), version=4)

    def identifier(self, text: str | None, label: str) -> str | None:
        """A name from the wire, or a keyed reference to it."""
        if text is None or identifiers.is_identifier(text):
            return text
        return self._reference_text(label, text)

    def _reference_text(self, label: str, text: str) -> str:
        if isinstance(text, Redacted):
            return text
        return digest.reference_text(self.keys.reference, label, text)

    def version(self, text: str | None, label: str) -> str | None:
        if text is not None and identifiers.is_version(text):
            return text
        return self.identifier(text, label)

    def peers(self, peers: Peers) -> dict[str, Any]:
        """The receipt's fields about client, server and what was declared."""
        revision = peers.revision
        if revision is not None and revision not in PROTOCOL_REVISIONS:
            revision = self._reference_text("protocol_version", revision)
        return {
            "server_name": self.identifier(peers.server_name, "server_name"),
            "server_version": self.version(peers.server_version, "server_version"),
            "client_name": self.identifier(peers.client_name, "client_name"),
            "client_version": self.version(peers.client_version, "client_version"),
            "protocol_version": revision,
            "declared_modes": peers.declared_modes,
            "capability_digest": self._capabilities(peers),
        }

    def _capabilities(self, peers: Peers) -> Keyed | None:
        if peers.capabilities is None:
            return peers.kept_digest
        return digest.keyed(self.keys.reference, "capabilities", peers.capabilities)

    def operation(self, method: str | None, name: str | None) -> dict[str, Any]:
        """The receipt's fields about the originating request. ``method`` None: it was not seen.

        A resource's URI is an address, path and all: never itself.
        """
        if method is not None and method not in ORIGINATING_METHODS:
            method = self._reference_text("operation_method", method)
        if name is None:
            tool = None
        elif method == "resources/read":
            tool = self._reference_text("resource", name)
        else:
            tool = self.identifier(name, "tool")
        return {"operation_method": method, "tool": tool}

    def question(self, question: Question) -> Keyed:
        """Equal for equal questions of the tenant."""
        if question.presentation is Presentation.URL:
            origin = None if question.url is None else self.url_origin(question.url)
            asked: dict[str, Any] | None = None
        else:
            origin = None
            schema = question.schema or {}
            asked = {name: schema[name] for name in ("properties", "required") if name in schema}
        return digest.question_digest(
            self.keys.question, question.mode, question.message, asked, origin
        )

    def payload(self, receipt_id: UUID, content: object) -> Payload:
        """Different for equal contents: each receipt has its own nonce."""
        return digest.payload_digest(
            self.keys.payload, self.tenant, self.stream_id, receipt_id, self.random(16), content
        )

    def reference(self, kind: ReferenceKind, text: str) -> Reference:
        return digest.reference(self.keys.reference, kind, text)

    def session(self, text: str) -> Keyed:
        found = self.reference(ReferenceKind.SESSION_ID, text)
        return Keyed(found.key_id, found.value)

    def subject(self, text: str) -> Keyed:
        """Whom a server has authenticated. Raises :class:`DigestError` for what is no Unicode."""
        return digest.keyed(self.keys.reference, "subject", text)

    def url_origin(self, url: str) -> str:
        """Scheme, host and port of an address, or less."""
        return identifiers.origin_of(
            url, lambda text: digest.reference_text(self.keys.reference, "host", text)
        )

    def validation(
        self,
        question: Question,
        answered: int = 0,
        failed: tuple[tuple[str | None, Keyword], ...] = (),
        *,
        ordinals: bool = False,
    ) -> Validation | None:
        """Counts and keywords; None where the question has no form, or none that is known.

        ``ordinals``: no property by its name, however safe.
        """
        if question.presentation is Presentation.URL or not question.is_known:
            return None
        properties = question.properties
        places = {name: place for place, name in enumerate(properties)}
        return Validation(
            requested=len(properties),
            required=len(question.required),
            answered=answered,
            failed=tuple(
                FailedField(_field(name, places, ordinals=ordinals), keyword)
                for name, keyword in failed[:MAX_LISTED]
            ),
            failed_more=max(0, len(failed) - MAX_LISTED),
        )


def _field(name: str | None, places: dict[str, int], *, ordinals: bool) -> str | None:
    """A property by its name where that is safe and wanted, else by its place in the schema.

    A name nobody asked for came with the answer: it is never repeated.
    """
    if name is None or name not in places:
        return None
    return name if identifiers.is_identifier(name) and not ordinals else f"[{places[name]}]"


def count_dropped(receipt: Receipt) -> int:
    """How many fields of ``receipt`` are a reference or an ordinal in place of a name."""
    strings = (getattr(receipt, field.name) for field in fields(receipt))
    dropped = sum(isinstance(text, str) and "#" in text for text in strings)
    failed = receipt.validation.failed if receipt.validation else ()
    return dropped + sum(item.field is not None and item.field.startswith("[") for item in failed)
