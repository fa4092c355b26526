"""The policy: versioned data by which questions are judged, and what reads, keeps and tests it."""

from __future__ import annotations

from typing import Final

from elicitation_receipts.producers.policy.document import Policy, Rules
from elicitation_receipts.producers.policy.load import built_in, load

#: The policy in force where no file is given. It observes.
BUILT_IN: Final = built_in()

__all__ = ["BUILT_IN", "Policy", "Rules", "load"]
