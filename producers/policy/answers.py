"""The five questions of the mode decision, their answers, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from elicitation_receipts.producers.policy.reasons import Reason
from elicitation_receipts.schemas.vocabulary import Mode


class Owner(StrEnum):
    """Who owns the data?"""

    EXCHANGE = "exchange"  # what client and server exchange
    EXTERNAL_ORIGIN = "external_origin"
    TASK = "task"
    UNDEFINED = "undefined"


class Sensitivity(StrEnum):
    """Is it sensitive?"""

    ORDINARY = "ordinary"
    SENSITIVE = "sensitive"
    UNDEFINED = "undefined"


class Validation(StrEnum):
    """Where can validation be authoritative?"""

    SCHEMA = "schema"  # client and server, by the form's flat schema
    EXTERNAL_ORIGIN = "external_origin"
    TASK = "task"  # the task's state
    UNDEFINED = "undefined"


class Lifetime(StrEnum):
    """Is the operation already asynchronous?"""

    SYNCHRONOUS = "synchronous"
    ASYNCHRONOUS = "asynchronous"  # it has started, and has durable state
    UNDEFINED = "undefined"


class Completion(StrEnum):
    """What proves completion?"""

    ACCEPTED_RESPONSE = "accepted_response"
    AUTHENTICATED_STATUS = "authenticated_status"
    TASK_TRANSITION = "task_transition"
    UNDEFINED = "undefined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The five answers. What is not given is undefined, and then nothing is chosen.

    Plain words (``owner="task"``) are taken for what they say; raises ValueError for others.
    """

    owner: Owner = Owner.UNDEFINED
    sensitivity: Sensitivity = Sensitivity.UNDEFINED
    validation: Validation = Validation.UNDEFINED
    lifetime: Lifetime = Lifetime.UNDEFINED
    completion: Completion = Completion.UNDEFINED

    def __post_init__(self) -> None:
        for name, words in _WORDS.items():
            object.__setattr__(self, name, words(getattr(self, name)))


_WORDS: Final[dict[str, type[StrEnum]]] = {
    "owner": Owner,
    "sensitivity": Sensitivity,
    "validation": Validation,
    "lifetime": Lifetime,
    "completion": Completion,
}


class Choice(StrEnum):
    """What to do."""

    FORM = "form"
    URL = "url"
    TASK_INPUT = "task_input"
    NO_ELICITATION = "no_elicitation"  # nobody is asked, and the reason says what to do instead
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision with its reasons.

    ``rejected``  for every mode that was not chosen, why; never empty for one
    ``fallback``  where the policy documents a way without a question and it is to be taken
    ``bounds``    the policy's numbers that bound the chosen mode; empty where none was
    """

    choice: Choice
    reasons: tuple[Reason, ...]
    rejected: Mapping[Mode, tuple[Reason, ...]]
    fallback: str | None
    bounds: Mapping[str, int | bool | None]
