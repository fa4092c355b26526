"""Policies that differ from the built-in one by a few numbers or words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from elicitation_receipts.producers.policy import BUILT_IN, Policy


def policy_with(section: str, **changes: Any) -> Policy:
    """The built-in policy with other values in one of its sections, such as ``thresholds``."""
    return replace(BUILT_IN, **{section: replace(getattr(BUILT_IN, section), **changes)})
