"""What a server author asks a policy before there is a question, and before it is put."""

from __future__ import annotations

from elicitation_receipts.producers.policy import load as load_policy
from elicitation_receipts.producers.policy.answers import (
    Answers,
    Completion,
    Lifetime,
    Owner,
    Sensitivity,
    Validation,
)
from elicitation_receipts.producers.policy.decide import decide
from elicitation_receipts.producers.policy.words import DataClass
from elicitation_receipts.producers.screening.screen import Context, screen
from elicitation_receipts.schemas.vocabulary import Mode

__all__ = [
    "Answers",
    "Completion",
    "Context",
    "DataClass",
    "Lifetime",
    "Mode",
    "Owner",
    "Sensitivity",
    "Validation",
    "decide",
    "load_policy",
    "screen",
]
