"""The five-question decision: its table, all its combinations, and what the articles forbid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain, combinations, product
from typing import Any

import pytest
from policies import policy_for_tool, policy_with

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
from elicitation_receipts.producers.policy.decide import MODES, PROFILES, decide
from elicitation_receipts.producers.policy.reasons import Reason
from elicitation_receipts.producers.policy.words import DataClass
from elicitation_receipts.schemas.vocabulary import Mode

#: The answers of the table's three columns.
REGION = Answers(
    owner=Owner.EXCHANGE,
    sensitivity=Sensitivity.ORDINARY,
    validation=Validation.SCHEMA,
    lifetime=Lifetime.SYNCHRONOUS,
    completion=Completion.ACCEPTED_RESPONSE,
)
IDENTITY = Answers(
    owner=Owner.EXTERNAL_ORIGIN,
    sensitivity=Sensitivity.SENSITIVE,
    validation=Validation.EXTERNAL_ORIGIN,
    lifetime=Lifetime.SYNCHRONOUS,
    completion=Completion.AUTHENTICATED_STATUS,
)
RESEARCH = Answers(
    owner=Owner.TASK,
    sensitivity=Sensitivity.ORDINARY,
    validation=Validation.TASK,
    lifetime=Lifetime.ASYNCHRONOUS,
    completion=Completion.TASK_TRANSITION,
)
COLUMNS = {Mode.FORM: REGION, Mode.URL: IDENTITY, Mode.TASK_INPUT: RESEARCH}

ALL_ANSWERS = [
    Answers(owner=owner, sensitivity=sensitivity, validation=where, lifetime=life, completion=proof)
    for owner, sensitivity, where, life, proof in product(
        Owner, Sensitivity, Validation, Lifetime, Completion
    )
]
ALL_DECLARED = [None, *chain.from_iterable(combinations(MODES, n) for n in range(4))]


def chosen(answers: Answers, **context: Any) -> Choice:
    return decide(answers, BUILT_IN, **context).choice


def rejections(mode: Mode, answers: Answers, **context: Any) -> tuple[Reason, ...]:
    return decide(answers, BUILT_IN, **context).rejected[mode]


# --- the table, cell by cell ----------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_each_column_selects_its_mode_and_rejects_the_others_by_name(mode: Mode) -> None:
    decided = decide(COLUMNS[mode], BUILT_IN)
    assert decided.choice == mode.value
    assert set(decided.rejected) == set(MODES) - {mode}
    assert all(decided.rejected.values())


@pytest.mark.parametrize(
    ("mode", "question", "answer", "reason"),
    [
        # data owner: client and server exchange | external origin | task and its input channel
        (Mode.FORM, "owner", Owner.EXTERNAL_ORIGIN, Reason.OWNED_BY_EXTERNAL_ORIGIN),
        (Mode.FORM, "owner", Owner.TASK, Reason.OWNED_BY_TASK),
        (Mode.URL, "owner", Owner.EXCHANGE, Reason.NOT_OWNED_BY_EXTERNAL_ORIGIN),
        (Mode.URL, "owner", Owner.TASK, Reason.NOT_OWNED_BY_EXTERNAL_ORIGIN),
        (Mode.TASK_INPUT, "owner", Owner.EXTERNAL_ORIGIN, Reason.OWNED_BY_EXTERNAL_ORIGIN),
        # best for: small typed values | sensitive or specialized ceremony | paused workflow
        (Mode.FORM, "sensitivity", Sensitivity.SENSITIVE, Reason.SENSITIVE_DATA),
        (Mode.FORM, "lifetime", Lifetime.ASYNCHRONOUS, Reason.OPERATION_IS_ASYNCHRONOUS),
        (Mode.TASK_INPUT, "sensitivity", Sensitivity.SENSITIVE, Reason.SENSITIVE_DATA),
        (Mode.TASK_INPUT, "lifetime", Lifetime.SYNCHRONOUS, Reason.NO_DURABLE_TASK),
        # where validation is authoritative
        (
            Mode.FORM,
            "validation",
            Validation.EXTERNAL_ORIGIN,
            Reason.VALIDATED_BY_EXTERNAL_ORIGIN,
        ),
        (Mode.FORM, "validation", Validation.TASK, Reason.VALIDATED_BY_TASK),
        (Mode.URL, "validation", Validation.SCHEMA, Reason.NOT_VALIDATED_BY_EXTERNAL_ORIGIN),
        (Mode.URL, "validation", Validation.TASK, Reason.NOT_VALIDATED_BY_EXTERNAL_ORIGIN),
        (
            Mode.TASK_INPUT,
            "validation",
            Validation.EXTERNAL_ORIGIN,
            Reason.VALIDATED_BY_EXTERNAL_ORIGIN,
        ),
        # completion proof: accepted response | authenticated status | transition of the task
        (
            Mode.FORM,
            "completion",
            Completion.AUTHENTICATED_STATUS,
            Reason.PROOF_IS_NO_RESPONSE,
        ),
        (Mode.FORM, "completion", Completion.TASK_TRANSITION, Reason.PROOF_IS_NO_RESPONSE),
        (Mode.URL, "completion", Completion.ACCEPTED_RESPONSE, Reason.PROOF_IS_NO_STATUS),
        (Mode.URL, "completion", Completion.TASK_TRANSITION, Reason.PROOF_IS_NO_STATUS),
        (
            Mode.TASK_INPUT,
            "completion",
            Completion.ACCEPTED_RESPONSE,
            Reason.PROOF_IS_NO_TRANSITION,
        ),
        (
            Mode.TASK_INPUT,
            "completion",
            Completion.AUTHENTICATED_STATUS,
            Reason.PROOF_IS_NO_TRANSITION,
        ),
    ],
)
def test_a_cell_of_another_column_rejects_the_mode(
    mode: Mode, question: str, answer: Any, reason: Reason
) -> None:
    answers = replace(COLUMNS[mode], **{question: answer})
    decided = decide(answers, BUILT_IN)
    assert decided.choice != mode.value
    assert reason in decided.rejected[mode]


def test_a_specialized_ceremony_need_not_be_sensitive() -> None:
    assert chosen(replace(IDENTITY, sensitivity=Sensitivity.ORDINARY)) is Choice.URL


def test_a_task_takes_its_input_through_the_channel_it_chooses() -> None:
    assert chosen(replace(RESEARCH, owner=Owner.EXCHANGE)) is Choice.TASK_INPUT
    assert chosen(replace(RESEARCH, validation=Validation.SCHEMA)) is Choice.TASK_INPUT


def test_a_task_waits_for_an_external_ceremony_by_url() -> None:
    assert chosen(replace(IDENTITY, lifetime=Lifetime.ASYNCHRONOUS)) is Choice.URL


@pytest.mark.parametrize(
    ("mode", "best_for", "risk", "bound"),
    [
        (Mode.FORM, "small typed values", "overbroad schema", "field and value limits"),
        (
            Mode.URL,
            "sensitive or specialized ceremony",
            "phishing or false completion",
            "TTL and single use",
        ),
        (
            Mode.TASK_INPUT,
            "paused durable workflow",
            "duplicate resume or stale state",
            "idempotent checkpoint",
        ),
    ],
)
def test_the_descriptive_rows_of_the_table(
    mode: Mode, best_for: str, risk: str, bound: str
) -> None:
    profile = PROFILES[mode]
    assert (profile.best_for, profile.main_risk, profile.essential_bound) == (best_for, risk, bound)


@pytest.mark.parametrize(
    ("mode", "bounds"),
    [
        (Mode.FORM, {"max_fields": 10, "max_length": 1000, "max_options": 100, "ttl_s": 60}),
        (Mode.URL, {"ttl_s": 600, "single_use": True}),
        (Mode.TASK_INPUT, {"ttl_s": 3600, "single_use": True}),
    ],
)
def test_the_essential_bound_is_the_policys_number(mode: Mode, bounds: dict[str, object]) -> None:
    policy = policy_with("ttl", question_s=60, url_s=600, task_s=3600)
    assert decide(COLUMNS[mode], policy).bounds == bounds


# --- all combinations -----------------------------------------------------------------


@cache
def every_case() -> list[tuple[Answers, dict[str, Any], Decided]]:
    """Every combination of answers and circumstances, decided."""
    return list(_every_case())


def _every_case() -> Iterator[tuple[Answers, dict[str, Any], Decided]]:
    for answers in ALL_ANSWERS:
        for known, consequential, declared in product((False, True), (False, True), ALL_DECLARED):
            for classes in ((), (DataClass.PASSWORD,)):
                context = {
                    "known": known,
                    "consequential": consequential,
                    "declared": declared,
                    "data_classes": classes,
                }
                yield answers, context, decide(answers, BUILT_IN, **context)


def test_every_combination_of_answers_has_one_decision_with_named_reasons() -> None:
    seen: Counter[Choice] = Counter()
    for answers, context, decided in every_case():
        seen[decided.choice] += 1
        assert decided.reasons, (answers, context)
        others = [mode for mode in MODES if mode.value != decided.choice]
        assert set(decided.rejected) == set(others)
        assert all(decided.rejected.values()), (answers, context)
        assert bool(decided.bounds) is (len(others) == 2)
    assert set(seen) == set(Choice)
    assert seen.total() == 4 * 3 * 4 * 3 * 4 * 2 * 2 * 9 * 2


def test_no_combination_asks_for_what_must_not_be_asked() -> None:
    for answers, context, decided in every_case():
        if decided.choice not in (Choice.FORM, Choice.URL, Choice.TASK_INPUT):
            continue
        assert not context["known"]
        assert Owner.UNDEFINED is not answers.owner
        if decided.choice is not Choice.URL:
            assert answers.sensitivity is Sensitivity.ORDINARY
            assert context["data_classes"] == ()
            assert not context["consequential"]
            assert context["declared"] is None or Mode.FORM in context["declared"]
        else:
            assert answers.completion is Completion.AUTHENTICATED_STATUS
            assert context["declared"] is None or Mode.URL in context["declared"]


def test_without_an_answer_nothing_is_chosen() -> None:
    missing = {
        "owner": Reason.OWNER_UNDEFINED,
        "sensitivity": Reason.SENSITIVITY_UNDEFINED,
        "validation": Reason.VALIDATION_UNDEFINED,
        "lifetime": Reason.LIFETIME_UNDEFINED,
        "completion": Reason.COMPLETION_UNDEFINED,
    }
    assert decide(Answers(), BUILT_IN).reasons == tuple(missing.values())
    for answers in COLUMNS.values():
        for question, reason in missing.items():
            kept = {name: getattr(answers, name) for name in missing if name != question}
            decided = decide(Answers(**kept), BUILT_IN)
            assert (decided.choice, decided.reasons) == (Choice.BLOCKED, (reason,))


def test_plain_words_say_the_same_and_unknown_ones_are_refused() -> None:
    words = {name: str(getattr(IDENTITY, name)) for name in IDENTITY.__slots__}
    assert Answers(**words) == IDENTITY  # type: ignore[arg-type]
    assert chosen(Answers(**words)) is Choice.URL  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="somebody"):
        Answers(owner="somebody")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (
            replace(REGION, sensitivity=Sensitivity.SENSITIVE),
            Reason.SECRET_WITHOUT_ORIGIN,
        ),
        (replace(REGION, lifetime=Lifetime.ASYNCHRONOUS), Reason.RESPONSE_DOES_NOT_PROVE_A_TASK),
        (replace(REGION, validation=Validation.EXTERNAL_ORIGIN), Reason.AUTHORITY_IS_NOT_THE_OWNER),
        (
            replace(REGION, completion=Completion.AUTHENTICATED_STATUS),
            Reason.STATUS_WITHOUT_ORIGIN,
        ),
        (replace(IDENTITY, completion=Completion.ACCEPTED_RESPONSE), Reason.CEREMONY_NOT_PROVED),
        (replace(IDENTITY, validation=Validation.SCHEMA), Reason.AUTHORITY_IS_NOT_THE_OWNER),
        (replace(RESEARCH, lifetime=Lifetime.SYNCHRONOUS), Reason.TASK_WITHOUT_DURABLE_WORK),
    ],
)
def test_answers_that_contradict_each_other_are_named(answers: Answers, reason: Reason) -> None:
    decided = decide(answers, BUILT_IN)
    assert (decided.choice, decided.reasons) == (Choice.BLOCKED, (reason,))


# --- beside the five questions --------------------------------------------------------


@pytest.mark.parametrize("answers", COLUMNS.values())
def test_a_value_the_system_of_record_has_needs_no_question(answers: Answers) -> None:
    decided = decide(answers, BUILT_IN, known=True)
    assert decided.choice is Choice.NO_ELICITATION
    assert decided.reasons == (Reason.VALUE_ALREADY_KNOWN,)


@pytest.mark.parametrize("answers", [REGION, RESEARCH])
def test_an_approval_with_consequences_is_no_field(answers: Answers) -> None:
    decided = decide(answers, BUILT_IN, consequential=True)
    assert (decided.choice, decided.reasons) == (Choice.NO_ELICITATION, (Reason.APPROVAL_GATE,))
    assert Reason.APPROVAL_AS_FIELD in decided.rejected[Mode.FORM]


def test_an_approval_at_another_origin_is_a_ceremony() -> None:
    assert chosen(IDENTITY, consequential=True) is Choice.URL


@pytest.mark.parametrize("kind", BUILT_IN.prohibited_classes)
@pytest.mark.parametrize("answers", [REGION, RESEARCH])
def test_a_prohibited_class_called_ordinary_is_asked_by_no_form(
    answers: Answers, kind: DataClass
) -> None:
    decided = decide(answers, BUILT_IN, data_classes=[kind])
    assert decided.choice is Choice.BLOCKED
    assert decided.reasons == (Reason.DATA_CLASS_PROHIBITED,)
    assert chosen(IDENTITY, data_classes=[kind]) is Choice.URL


@pytest.mark.parametrize("mode", MODES)
def test_a_client_without_the_mode_gets_the_documented_fallback_or_a_refusal(mode: Mode) -> None:
    answers, tool = COLUMNS[mode], {"method": "tools/call", "name": "connect"}
    declared = [Mode.URL] if mode is not Mode.URL else [Mode.FORM]
    refused = decide(answers, BUILT_IN, declared=declared)
    assert (refused.choice, refused.reasons) == (Choice.BLOCKED, (Reason.MODE_NOT_DECLARED,))
    policy = policy_for_tool("connect", fallback="https://docs.example/connect")
    decided = decide(answers, policy, declared=declared, **tool)
    assert decided.choice is Choice.NO_ELICITATION
    assert decided.reasons == (Reason.FALLBACK_DOCUMENTED, Reason.MODE_NOT_DECLARED)
    assert decided.fallback == "https://docs.example/connect"
    assert decide(answers, policy, declared=[mode, Mode.FORM], **tool).fallback is None


def test_a_secret_is_never_asked_for_in_a_text_field_for_want_of_a_url() -> None:
    """Whatever the other answers, the client, and the fallback: a form is never the way out."""
    policy = policy_for_tool("connect", fallback="see the handbook")
    for answers in ALL_ANSWERS:
        if answers.sensitivity is not Sensitivity.SENSITIVE:
            continue
        for declared in ALL_DECLARED:
            decided = decide(
                answers, policy, method="tools/call", name="connect", declared=declared
            )
            assert decided.choice not in (Choice.FORM, Choice.TASK_INPUT)


def test_a_fallback_hides_no_missing_answer() -> None:
    policy = policy_with("defaults", fallback="see the handbook")
    assert decide(Answers(), policy).choice is Choice.BLOCKED
    wrong = replace(IDENTITY, completion=Completion.ACCEPTED_RESPONSE)
    assert decide(wrong, policy).choice is Choice.BLOCKED
    secret = replace(REGION, sensitivity=Sensitivity.SENSITIVE)
    assert decide(secret, policy).choice is Choice.NO_ELICITATION


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_the_operation_may_not_use_is_blocked(mode: Mode) -> None:
    others = tuple(other for other in MODES if other is not mode)
    policy = policy_for_tool("deploy", modes=others)
    decided = decide(COLUMNS[mode], policy, method="tools/call", name="deploy")
    assert (decided.choice, decided.reasons) == (Choice.BLOCKED, (Reason.MODE_NOT_ALLOWED,))
    assert decide(COLUMNS[mode], policy, method="tools/call", name="x").choice == mode.value


def test_what_an_operation_declares_to_ask_for_counts() -> None:
    policy = policy_for_tool("pay", data_classes=(DataClass.PAYMENT_CARD,))
    decided = decide(REGION, policy, method="tools/call", name="pay")
    assert decided.reasons == (Reason.DATA_CLASS_PROHIBITED,)


def test_every_reason_says_something_and_is_given_somewhere() -> None:
    policy = policy_with("defaults", modes=(Mode.URL,), fallback="handbook")
    seen = set()
    for _, _, decided in every_case():
        seen |= {*decided.reasons, *chain.from_iterable(decided.rejected.values())}
    seen |= {*decide(REGION, policy).reasons}
    assert seen == set(Reason)
    assert all(reason.says for reason in Reason)
