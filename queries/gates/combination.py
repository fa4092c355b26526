"""A combination: what a verdict belongs to, and to nothing else."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Combination:
    """Names and versions as the two call themselves; None: not known.

    ``capability``, ``policy``: first twelve hexadecimal digits of the digests of the capability
    manifest (keyed) and the policy. ``environment``: the id declared for browser container,
    identity provider, downstream OAuth and data classification.
    """

    server: str | None = None
    server_version: str | None = None
    client: str | None = None
    client_version: str | None = None
    flow: str | None = None
    protocol_version: str | None = None
    capability: str | None = None
    policy: str | None = None
    environment: str | None = None

    @property
    def known(self) -> dict[str, str]:
        """The members that are known, by name."""
        values = {member: getattr(self, member) for member in MEMBERS}
        return {member: value for member, value in values.items() if value is not None}

    def changed_since(self, other: Combination) -> list[str]:
        """The members in which the two differ."""
        return [member for member in MEMBERS if getattr(self, member) != getattr(other, member)]


MEMBERS = tuple(field.name for field in fields(Combination))
