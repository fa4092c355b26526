"""Policies that differ from the built-in one by a few numbers or words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from elicitation_receipts.producers.policy import BUILT_IN, Policy
from elicitation_receipts.producers.policy.document import Operation
from elicitation_receipts.producers.policy.plain import from_plain, to_plain


def policy_with(section: str, **changes: Any) -> Policy:
    """The built-in policy with other values in one of its sections, such as ``thresholds``."""
    return replace(BUILT_IN, **{section: replace(getattr(BUILT_IN, section), **changes)})


def policy_for_tool(tool: str, **rules: Any) -> Policy:
    """The built-in policy with rules of its own for one tool."""
    defaults = {**to_plain(BUILT_IN.defaults), **to_plain(rules)}
    return replace(BUILT_IN, operations=(from_plain(Operation, {**defaults, "tool": tool}),))
