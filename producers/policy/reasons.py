"""Why a mode was chosen or rejected: one stable name a reason, and what it says."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """A reason of the five-question decision. ``says``: the same for people."""

    # chosen
    SMALL_TYPED_VALUES = "small_typed_values"
    EXTERNAL_CEREMONY = "external_ceremony"
    DURABLE_TASK_WAITS = "durable_task_waits"
    # nobody is asked
    VALUE_ALREADY_KNOWN = "value_already_known"
    APPROVAL_GATE = "approval_gate"
    FALLBACK_DOCUMENTED = "fallback_documented"
    # an answer is missing
    OWNER_UNDEFINED = "owner_undefined"
    SENSITIVITY_UNDEFINED = "sensitivity_undefined"
    VALIDATION_UNDEFINED = "validation_undefined"
    LIFETIME_UNDEFINED = "lifetime_undefined"
    COMPLETION_UNDEFINED = "completion_undefined"
    # the answers contradict each other
    AUTHORITY_IS_NOT_THE_OWNER = "authority_is_not_the_owner"
    CEREMONY_NOT_PROVED = "ceremony_not_proved"
    STATUS_WITHOUT_ORIGIN = "status_without_origin"
    SECRET_WITHOUT_ORIGIN = "secret_without_origin"  # noqa: S105  (a reason's name)
    TASK_WITHOUT_DURABLE_WORK = "task_without_durable_work"
    RESPONSE_DOES_NOT_PROVE_A_TASK = "response_does_not_prove_a_task"
    # a mode is rejected
    OWNED_BY_EXTERNAL_ORIGIN = "owned_by_external_origin"
    NOT_OWNED_BY_EXTERNAL_ORIGIN = "not_owned_by_external_origin"
    OWNED_BY_TASK = "owned_by_task"
    SENSITIVE_DATA = "sensitive_data"
    DATA_CLASS_PROHIBITED = "data_class_prohibited"
    VALIDATED_BY_EXTERNAL_ORIGIN = "validated_by_external_origin"
    NOT_VALIDATED_BY_EXTERNAL_ORIGIN = "not_validated_by_external_origin"
    VALIDATED_BY_TASK = "validated_by_task"
    OPERATION_IS_ASYNCHRONOUS = "operation_is_asynchronous"
    NO_DURABLE_TASK = "no_durable_task"
    PROOF_IS_NO_RESPONSE = "proof_is_no_response"
    PROOF_IS_NO_STATUS = "proof_is_no_status"
    PROOF_IS_NO_TRANSITION = "proof_is_no_transition"
    APPROVAL_AS_FIELD = "approval_as_field"
    MODE_NOT_ALLOWED = "mode_not_allowed"
    MODE_NOT_DECLARED = "mode_not_declared"

    @property
    def says(self) -> str:
        """The reason as a clause for people."""
        return _SAYS[self]


_SAYS: Final = {
    Reason.SMALL_TYPED_VALUES: "small typed values, which the client can show, check and return",
    Reason.EXTERNAL_CEREMONY: "another origin owns the ceremony and can show that it is complete",
    Reason.DURABLE_TASK_WAITS: "work with durable state waits for the answer and goes on from it",
    Reason.VALUE_ALREADY_KNOWN: "the system of record has the value: read it there",
    Reason.APPROVAL_GATE: "an approval with consequences goes through an approval gate",
    Reason.FALLBACK_DOCUMENTED: "the policy documents a way without a question",
    Reason.OWNER_UNDEFINED: "nobody has said who owns the data",
    Reason.SENSITIVITY_UNDEFINED: "nobody has said whether the data is sensitive",
    Reason.VALIDATION_UNDEFINED: "nobody has said where validation is authoritative",
    Reason.LIFETIME_UNDEFINED: "nobody has said whether the operation is asynchronous",
    Reason.COMPLETION_UNDEFINED: "nobody has said what proves completion",
    Reason.AUTHORITY_IS_NOT_THE_OWNER: "one side owns the data and the other is to validate it",
    Reason.CEREMONY_NOT_PROVED: "what happens at another origin is proved by its status alone",
    Reason.STATUS_WITHOUT_ORIGIN: "there is no other origin whose status could prove it",
    Reason.SECRET_WITHOUT_ORIGIN: "sensitive data, and no other origin where it could be entered",
    Reason.TASK_WITHOUT_DURABLE_WORK: "answers speak of a task, and the operation is synchronous",
    Reason.RESPONSE_DOES_NOT_PROVE_A_TASK: "a task goes on by its transition, not by a response",
    Reason.OWNED_BY_EXTERNAL_ORIGIN: "another origin owns the data",
    Reason.NOT_OWNED_BY_EXTERNAL_ORIGIN: "no other origin owns the data",
    Reason.OWNED_BY_TASK: "a task owns the data",
    Reason.SENSITIVE_DATA: "sensitive data never goes through a form",
    Reason.DATA_CLASS_PROHIBITED: "the policy prohibits this class of data in a form",
    Reason.VALIDATED_BY_EXTERNAL_ORIGIN: "only another origin can validate it",
    Reason.NOT_VALIDATED_BY_EXTERNAL_ORIGIN: "no other origin validates it",
    Reason.VALIDATED_BY_TASK: "only the task's state can validate it",
    Reason.OPERATION_IS_ASYNCHRONOUS: "the operation goes on as a task",
    Reason.NO_DURABLE_TASK: "the operation is synchronous: no task could wait",
    Reason.PROOF_IS_NO_RESPONSE: "an accepted response is not what proves completion",
    Reason.PROOF_IS_NO_STATUS: "an external status is not what proves completion",
    Reason.PROOF_IS_NO_TRANSITION: "a task's transition is not what proves completion",
    Reason.APPROVAL_AS_FIELD: "an approval with consequences is no field of a form",
    Reason.MODE_NOT_ALLOWED: "the policy does not allow the mode for this operation",
    Reason.MODE_NOT_DECLARED: "the client has not declared the mode",
}
