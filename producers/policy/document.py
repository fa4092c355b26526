"""The policy as data: typed, frozen, and known by the digest of its canonical form.

Each class is one mapping of the policy file, each field one key of it; what a key means
stands here and in ``schemas/policy.schema.json``. A policy is complete: what its file
does not say was filled in from the policy it extends (see ``load``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from typing import Any, Final

import re2

from elicitation_receipts.producers.policy.plain import to_plain
from elicitation_receipts.producers.policy.words import (
    DataClass,
    Effect,
    Enforcement,
    FieldNames,
    Match,
    RequiredText,
)
from elicitation_receipts.schemas.digest import canonical, canonical_digest
from elicitation_receipts.schemas.vocabulary import (
    FindingName,
    Gate,
    Mode,
    Outcome,
    Proof,
    Severity,
)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a person may be asked within an operation.

    ``modes``            what may be used; empty: nobody is asked
    ``required_proof``   weakest proof that completes a URL question; None: any
    ``flow``             business flow; None: what the watcher's settings say
    ``fallback``         documented way to set things up where the mode is missing or the
                         question expired: an address or a place in the documentation
    ``purpose``, ``notice``, ``retention_class``  codes that stand in the receipt
    ``jurisdiction``     whose law applies, such as ``EU`` or ``US-CA``
    ``data_classes``     what the operation declares to ask for
    ``known_fields``     properties whose value the system of record has: to ask is needless
    ``consequential``    the operation has consequences: whoever approves it does so at a gate of
                         its own, not by a yes or no in a form
    """

    modes: tuple[Mode, ...]
    required_proof: Proof | None
    flow: str | None
    fallback: str | None
    purpose: str | None
    notice: str | None
    jurisdiction: str | None
    data_classes: tuple[DataClass, ...]
    known_fields: tuple[str, ...]
    consequential: bool
    retention_class: str | None

    def accepts(self, proof: Proof) -> bool:
        """Whether ``proof`` is at least as strong as required."""
        order = list(Proof)
        return self.required_proof is None or order.index(proof) >= order.index(self.required_proof)


@dataclass(frozen=True, kw_only=True)
class Operation(Rules):
    """The rules of the tools, prompts or resources whose name or URI matches the pattern.

    Exactly one of ``tool``, ``prompt`` and ``resource`` is given.
    """

    tool: str | None = None
    prompt: str | None = None
    resource: str | None = None
    match: Match = Match.GLOB

    def covers(self, method: str, name: str) -> bool:
        """Whether these are the rules of ``name`` in a request ``method``."""
        pattern = {
            "tools/call": self.tool,
            "prompts/get": self.prompt,
            "resources/read": self.resource,
        }.get(method)
        return pattern is not None and compiled(pattern, self.match).fullmatch(name) is not None


@dataclass(frozen=True, kw_only=True)
class FormLimits:
    """What a form may be. ``max_length``: of ``maxLength``; ``max_options``: of one field."""

    max_fields: int
    max_length: int
    max_options: int
    required_text: RequiredText


@dataclass(frozen=True, kw_only=True)
class UrlRules:
    """What the address of a URL question may be, and what an address in a form's text means.

    ``allowed_origins`` are scheme, host in A-labels and port (RFC 6454); without any, every
    origin is allowed. The others give each finding its effect: ``scheme`` is neither http nor
    https, ``credential`` a secret in the address, ``in_text`` an address in a form's text.
    """

    allowed_origins: tuple[str, ...]
    origin_not_allowed: Effect
    not_https: Effect
    scheme: Effect
    userinfo: Effect
    punycode: Effect
    mixed_script: Effect
    ip_literal: Effect
    credential: Effect
    in_text: Effect


@dataclass(frozen=True, kw_only=True)
class Ttl:
    """Seconds after which an unanswered question expires; None: its task's, or none."""

    question_s: int | None
    url_s: int | None
    task_s: int | None

    def of(self, mode: Mode) -> int | None:
        """The TTL of a question of this mode."""
        return {Mode.URL: self.url_s, Mode.TASK_INPUT: self.task_s}.get(mode, self.question_s)


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """Numbers by which traffic is judged.

    ``automatic_below_ms``  an answer sooner than this is not counted as a person's
    ``reask_loop_round``    round from which a question is a ``reask_loop``
    ``reask_window_s``      how long an equal question counts as asked again
    ``silence_s``           how long a question without a TTL waits where no connection says
                            that nothing more comes
    """

    automatic_below_ms: int
    reask_loop_round: int
    reask_window_s: int
    silence_s: int


@dataclass(frozen=True, kw_only=True)
class Resume:
    """``single_use``: the state a server gives for a retry may be used once (``state_reused``)."""

    single_use: bool


@dataclass(frozen=True, kw_only=True)
class Weight:
    """What a finding weighs; None: what the vocabulary says, and for ``effect`` warn."""

    severity: Severity | None = None
    gate: Gate | None = None
    effect: Effect | None = None


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A whole policy. ``receipt_fields``: by outcome, and under ``every`` for all of them."""

    id: str
    version: str
    effective: date
    enforcement: Enforcement
    field_names: FieldNames
    prohibited_classes: tuple[DataClass, ...]
    form: FormLimits
    url: UrlRules
    ttl: Ttl
    thresholds: Thresholds
    resume: Resume
    receipt_fields: Mapping[str, tuple[str, ...]]
    findings: Mapping[FindingName, Weight]
    defaults: Rules
    operations: tuple[Operation, ...]

    @property
    def document(self) -> dict[str, Any]:
        """The policy as plain JSON: reading it back gives an equal policy."""
        plain: dict[str, Any] = to_plain(self)
        return plain

    @cached_property
    def canonical(self) -> bytes:
        """The document in the canonical form of RFC 8785."""
        return canonical(self.document)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the canonical form: 32 bytes."""
        return canonical_digest(self.document)

    def rules_for(self, method: str | None, name: str | None) -> Rules:
        """The rules of an operation: those of the first pattern that covers it, or the defaults.

        ``method``: ``tools/call``, ``prompts/get`` or ``resources/read``; ``name``: of the
        tool or prompt, or the resource's URI. None where nobody knows.
        """
        if method is not None and name is not None:
            for operation in self.operations:
                if operation.covers(method, name):
                    return operation
        return self.defaults

    def severity_of(self, name: FindingName) -> Severity:
        """How much a finding weighs."""
        return self._weight(name).severity or name.default_severity

    def gate_of(self, name: FindingName) -> Gate:
        """Which promotion gate a finding belongs to."""
        return self._weight(name).gate or name.gate

    def effect_of(self, name: FindingName) -> Effect:
        """What a finding about a question means for it."""
        if name in URL_RULES:
            effect: Effect = getattr(self.url, URL_RULES[name])
            return effect
        if name is FindingName.STATE_REUSED and not self.resume.single_use:
            return Effect.OFF
        return self._weight(name).effect or Effect.WARN

    def required_fields(self, outcome: Outcome | None) -> tuple[str, ...]:
        """The receipt fields that must not be empty on a receipt with this outcome."""
        if outcome is None:
            return ()
        fields = self.receipt_fields
        return (*fields.get("every", ()), *fields.get(outcome.value, ()))

    def _weight(self, name: FindingName) -> Weight:
        return self.findings.get(name, _ORDINARY)


_ORDINARY: Final = Weight()

#: The findings whose effect is a rule of ``url``, not of ``findings``.
URL_RULES: Final[Mapping[FindingName, str]] = {
    FindingName.URL_ORIGIN_NOT_ALLOWED: "origin_not_allowed",
    FindingName.URL_NOT_HTTPS: "not_https",
    FindingName.URL_SCHEME: "scheme",
    FindingName.URL_USERINFO: "userinfo",
    FindingName.URL_PUNYCODE: "punycode",
    FindingName.URL_MIXED_SCRIPT: "mixed_script",
    FindingName.URL_IP_LITERAL: "ip_literal",
    FindingName.CREDENTIAL_IN_URL: "credential",
    FindingName.URL_IN_TEXT: "in_text",
}


@lru_cache(maxsize=1024)
def compiled(pattern: str, match: Match) -> Any:
    """A pattern ready to match, by RE2. Raises ``re2.error`` for what is no expression."""
    if match is Match.GLOB:
        wild = {"*": ".*", "?": "."}
        pattern = "(?s)" + "".join(wild.get(letter) or re2.escape(letter) for letter in pattern)
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)
