"""The five-question decision: from the trust boundary of an input to the mode that fits it.

Who owns the data, is it sensitive, where can validation be authoritative, is the operation
already asynchronous, what proves completion? Each mode asks for certain answers; those that
fit leave at most one. Answers that leave none contradict each other, and the contradiction is
named; nothing is chosen by default. A pure function: it contacts nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from elicitation_receipts.producers.policy import BUILT_IN
from elicitation_receipts.producers.policy.answers import (
    Answers,
    Choice,
    Completion,
    Decided,
    Lifetime,
    Owner,
    Sensitivity,
    Validation,
)
from elicitation_receipts.producers.policy.document import Policy, Rules
from elicitation_receipts.producers.policy.reasons import Reason
from elicitation_receipts.producers.policy.words import DataClass
from elicitation_receipts.schemas.vocabulary import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What is known of a mode, whoever uses it."""

    best_for: str
    main_risk: str
    essential_bound: str


MODES: Final = (Mode.FORM, Mode.URL, Mode.TASK_INPUT)

PROFILES: Final[Mapping[Mode, Profile]] = {
    Mode.FORM: Profile(
        best_for="small typed values",
        main_risk="overbroad schema",
        essential_bound="field and value limits",
    ),
    Mode.URL: Profile(
        best_for="sensitive or specialized ceremony",
        main_risk="phishing or false completion",
        essential_bound="TTL and single use",
    ),
    Mode.TASK_INPUT: Profile(
        best_for="paused durable workflow",
        main_risk="duplicate resume or stale state",
        essential_bound="idempotent checkpoint",
    ),
}

_CHOSEN: Final = {
    Mode.FORM: Reason.SMALL_TYPED_VALUES,
    Mode.URL: Reason.EXTERNAL_CEREMONY,
    Mode.TASK_INPUT: Reason.DURABLE_TASK_WAITS,
}


#: Problems a fallback solves. Of answers that are wrong themselves it would only divert.
_LACKS_A_MODE: Final = frozenset(
    {
        Reason.MODE_NOT_ALLOWED,
        Reason.MODE_NOT_DECLARED,
        Reason.DATA_CLASS_PROHIBITED,
        Reason.SECRET_WITHOUT_ORIGIN,
    }
)


def decide(
    answers: Answers,
    policy: Policy = BUILT_IN,
    *,
    method: str | None = None,
    name: str | None = None,
    known: bool = False,
    consequential: bool = False,
    data_classes: Collection[DataClass] = (),
    declared: Collection[Mode] | None = None,
) -> Decided:
    """Which mode fits, or why none does.

    ``method``, ``name``  the operation, see :meth:`Policy.rules_for`
    ``known``             the system of record has the value
    ``consequential``     the answer approves an action with consequences; so it does wherever
                          the policy says that the operation has some
    ``data_classes``      what is asked for, beside what the policy declares of the operation
    ``declared``          modes the client can do; None: not known yet
    """
    rules = policy.rules_for(method, name)
    approves = consequential or rules.consequential
    prohibited = {*data_classes, *rules.data_classes} & set(policy.prohibited_classes)
    rejected = {
        mode: [
            *_mismatches(mode, answers),
            *([Reason.DATA_CLASS_PROHIBITED] if prohibited and mode is not Mode.URL else []),
            *([Reason.APPROVAL_AS_FIELD] if approves and mode is not Mode.URL else []),
            *([Reason.MODE_NOT_ALLOWED] if mode not in rules.modes else []),
            *([] if _can_show(mode, declared) else [Reason.MODE_NOT_DECLARED]),
        ]
        for mode in MODES
    }
    if known:
        everywhere = {mode: [Reason.VALUE_ALREADY_KNOWN, *rejected[mode]] for mode in MODES}
        return _nobody_asked(Choice.NO_ELICITATION, [Reason.VALUE_ALREADY_KNOWN], everywhere)
    if problems := [*_undefined(answers)] or [*_contradictions(answers)]:
        everywhere = {mode: rejected[mode] or problems for mode in MODES}
        return _without(problems, everywhere, rules)
    (fitting,) = (mode for mode in MODES if not [*_mismatches(mode, answers)])
    if not rejected[fitting]:
        return Decided(
            choice=Choice(fitting.value),
            reasons=(_CHOSEN[fitting],),
            rejected={mode: tuple(rejected[mode]) for mode in MODES if mode is not fitting},
            fallback=None,
            bounds=_bounds(fitting, policy),
        )
    if Reason.APPROVAL_AS_FIELD in rejected[fitting]:
        return _nobody_asked(Choice.NO_ELICITATION, [Reason.APPROVAL_GATE], rejected)
    return _without(rejected[fitting], rejected, rules)


def _can_show(mode: Mode, declared: Collection[Mode] | None) -> bool:
    """A task's question reaches the person through an input channel: here, a form."""
    channel = Mode.FORM if mode is Mode.TASK_INPUT else mode
    return declared is None or channel in declared


def _without(
    problems: list[Reason], rejected: Mapping[Mode, list[Reason]], rules: Rules
) -> Decided:
    """No mode can be used: the documented way without a question, else a clear refusal.

    Never another mode: least of all a text field for a secret.
    """
    if rules.fallback is None or not _LACKS_A_MODE.issuperset(problems):
        return _nobody_asked(Choice.BLOCKED, problems, rejected)
    reasons = [Reason.FALLBACK_DOCUMENTED, *problems]
    return _nobody_asked(Choice.NO_ELICITATION, reasons, rejected, rules.fallback)


def _nobody_asked(
    choice: Choice,
    reasons: list[Reason],
    rejected: Mapping[Mode, list[Reason]],
    fallback: str | None = None,
) -> Decided:
    return Decided(
        choice=choice,
        reasons=tuple(reasons),
        rejected={mode: tuple(why) for mode, why in rejected.items()},
        fallback=fallback,
        bounds={},
    )


def _mismatches(mode: Mode, answers: Answers) -> Iterator[Reason]:
    """Which of the five answers speak against a mode."""
    owner, validation, completion = answers.owner, answers.validation, answers.completion
    if mode is Mode.URL:
        if owner is not Owner.EXTERNAL_ORIGIN:
            yield Reason.NOT_OWNED_BY_EXTERNAL_ORIGIN
        if validation is not Validation.EXTERNAL_ORIGIN:
            yield Reason.NOT_VALIDATED_BY_EXTERNAL_ORIGIN
        if completion is not Completion.AUTHENTICATED_STATUS:
            yield Reason.PROOF_IS_NO_STATUS
        return
    if owner is Owner.EXTERNAL_ORIGIN:
        yield Reason.OWNED_BY_EXTERNAL_ORIGIN
    if answers.sensitivity is Sensitivity.SENSITIVE:
        yield Reason.SENSITIVE_DATA
    if validation is Validation.EXTERNAL_ORIGIN:
        yield Reason.VALIDATED_BY_EXTERNAL_ORIGIN
    if mode is Mode.FORM:
        if owner is Owner.TASK:
            yield Reason.OWNED_BY_TASK
        if validation is Validation.TASK:
            yield Reason.VALIDATED_BY_TASK
        if answers.lifetime is Lifetime.ASYNCHRONOUS:
            yield Reason.OPERATION_IS_ASYNCHRONOUS
        if completion is not Completion.ACCEPTED_RESPONSE:
            yield Reason.PROOF_IS_NO_RESPONSE
    else:
        if answers.lifetime is not Lifetime.ASYNCHRONOUS:
            yield Reason.NO_DURABLE_TASK
        if completion is not Completion.TASK_TRANSITION:
            yield Reason.PROOF_IS_NO_TRANSITION


def _undefined(answers: Answers) -> Iterator[Reason]:
    if answers.owner is Owner.UNDEFINED:
        yield Reason.OWNER_UNDEFINED
    if answers.sensitivity is Sensitivity.UNDEFINED:
        yield Reason.SENSITIVITY_UNDEFINED
    if answers.validation is Validation.UNDEFINED:
        yield Reason.VALIDATION_UNDEFINED
    if answers.lifetime is Lifetime.UNDEFINED:
        yield Reason.LIFETIME_UNDEFINED
    if answers.completion is Completion.UNDEFINED:
        yield Reason.COMPLETION_UNDEFINED


def _contradictions(answers: Answers) -> Iterator[Reason]:
    """Pairs of answers no mode can serve. Without one, exactly one mode fits."""
    external = answers.owner is Owner.EXTERNAL_ORIGIN
    completion = answers.completion
    if external is not (answers.validation is Validation.EXTERNAL_ORIGIN):
        yield Reason.AUTHORITY_IS_NOT_THE_OWNER
    if external and completion is not Completion.AUTHENTICATED_STATUS:
        yield Reason.CEREMONY_NOT_PROVED
    if not external and completion is Completion.AUTHENTICATED_STATUS:
        yield Reason.STATUS_WITHOUT_ORIGIN
    if not external and answers.sensitivity is Sensitivity.SENSITIVE:
        yield Reason.SECRET_WITHOUT_ORIGIN
    if answers.lifetime is Lifetime.ASYNCHRONOUS:
        if not external and completion is Completion.ACCEPTED_RESPONSE:
            yield Reason.RESPONSE_DOES_NOT_PROVE_A_TASK
    elif (
        answers.owner is Owner.TASK
        or answers.validation is Validation.TASK
        or completion is Completion.TASK_TRANSITION
    ):
        yield Reason.TASK_WITHOUT_DURABLE_WORK


def _bounds(mode: Mode, policy: Policy) -> dict[str, int | bool | None]:
    """The policy's numbers behind the essential bound of a mode."""
    match mode:
        case Mode.FORM:
            form = policy.form
            return {
                "max_fields": form.max_fields,
                "max_length": form.max_length,
                "max_options": form.max_options,
                "ttl_s": policy.ttl.question_s,
            }
        case Mode.URL:
            return {"ttl_s": policy.ttl.url_s, "single_use": policy.resume.single_use}
        case _:
            return {"ttl_s": policy.ttl.task_s, "single_use": policy.resume.single_use}
