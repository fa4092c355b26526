"""The policy in force: the file that the settings name, else the built-in one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from elicitation_receipts.producers.policy import BUILT_IN, Policy, load
from elicitation_receipts.schemas.errors import PolicyError
from elicitation_receipts.settings import Settings


def chosen_policy(settings: Settings) -> Policy:
    """The policy that the settings name, whether it is in force yet or not.

    Raises :class:`PolicyError`.
    """
    return BUILT_IN if settings.policy is None else load(Path(settings.policy))


def policy_in_force(settings: Settings, today: date | None = None) -> Policy:
    """The policy by which a watcher judges. ``today``: in UTC, unless given.

    Raises :class:`PolicyError`; beside what is wrong with a file ``policy_not_yet_effective``.
    """
    policy = chosen_policy(settings)
    if policy is not BUILT_IN and policy.effective > (today or datetime.now(UTC).date()):
        raise PolicyError(
            "policy_not_yet_effective",
            f"{settings.policy} takes effect on {policy.effective}; use the one before until then",
        )
    if settings.automatic_below_ms is None:
        return policy
    numbers = replace(policy.thresholds, automatic_below_ms=settings.automatic_below_ms)
    return replace(policy, thresholds=numbers)
