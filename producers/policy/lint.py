"""Lints a policy: rules that hold together, and that somebody will regret all the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from elicitation_receipts.producers.policy.document import Operation, Policy, Rules
from elicitation_receipts.producers.policy.words import DataClass, Effect, Enforcement, Match
from elicitation_receipts.schemas.vocabulary import FindingName, Gate, Mode


@dataclass(frozen=True, slots=True)
class Remark:
    """``path``: where in the policy; ``name``: stable; ``says``: for people."""

    path: str
    name: str
    says: str


def lint(policy: Policy, today: date) -> Iterator[Remark]:
    """What stands out in a policy that is valid."""
    yield from _whole(policy, today)
    yield from _urls(policy)
    yield from _times(policy)
    for place, operation in enumerate(policy.operations):
        path = f"operations[{place}]"
        if any(_covers(earlier, operation) for earlier in policy.operations[:place]):
            yield Remark(path, "operation_unreachable", "an earlier pattern covers all of it")
        yield from _fallback(operation, path)
    yield from _fallback(policy.defaults, "defaults")


def _whole(policy: Policy, today: date) -> Iterator[Remark]:
    if policy.effective > today:
        yield Remark("effective", "not_yet_effective", "no watcher uses it before that day")
    if policy.enforcement is not Enforcement.ENFORCE:
        yield Remark("enforcement", "not_enforced", "questions it blocks reach people all the same")
    for secret in (one for one in DataClass if one.is_secret):
        if secret not in policy.prohibited_classes:
            yield Remark(
                "prohibited_classes", "secret_allowed", f"forms may ask for {secret.value}"
            )
    for name in FindingName:
        if policy.gate_of(name) is Gate.HARD and policy.effect_of(name) is Effect.OFF:
            yield Remark(f"findings.{name.value}", "hard_gate_off", "a hard gate is not looked at")


def _urls(policy: Policy) -> Iterator[Remark]:
    if not policy.url.allowed_origins and _uses(policy, Mode.URL):
        yield Remark("url.allowed_origins", "any_origin", "people may be sent to every origin")
    for rule in ("not_https", "mixed_script", "userinfo", "scheme", "credential"):
        if getattr(policy.url, rule) is Effect.OFF:
            yield Remark(f"url.{rule}", "url_rule_off", "phishing of this kind is not looked for")


def _times(policy: Policy) -> Iterator[Remark]:
    for mode, field in ((Mode.URL, "url_s"), (Mode.TASK_INPUT, "task_s")):
        if getattr(policy.ttl, field) is None and _uses(policy, mode):
            yield Remark(f"ttl.{field}", "no_ttl", f"a {mode.value} question never expires")


def _fallback(rules: Rules, path: str) -> Iterator[Remark]:
    if Mode.URL in rules.modes and rules.fallback is None:
        yield Remark(
            f"{path}.fallback", "no_fallback", "a client without URL mode is refused, not helped"
        )


def _uses(policy: Policy, mode: Mode) -> bool:
    return any(mode in rules.modes for rules in (policy.defaults, *policy.operations))


def _covers(earlier: Operation, later: Operation) -> bool:
    """Whether ``earlier`` surely covers all that ``later`` does: equal, or a glob over a name."""
    for kind in ("tool", "prompt", "resource"):
        first, second = getattr(earlier, kind), getattr(later, kind)
        if first is None or second is None:
            continue
        if (first, earlier.match) == (second, later.match):
            return True
        if earlier.match is Match.GLOB and first == "*":
            return True
        method = {"tool": "tools/call", "prompt": "prompts/get", "resource": "resources/read"}[kind]
        is_name = later.match is Match.GLOB and not set("*?") & set(second)
        return is_name and earlier.covers(method, second)
    return False
