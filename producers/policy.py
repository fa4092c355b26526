"""The policy in force: the numbers and rules by which a question is judged, as data.

What stands here is the built-in policy. It observes: it sets thresholds and never
stops a question. Its canonical digest (RFC 8785, SHA-256) stands in every receipt,
so that a reader knows by which numbers an answer counted as automatic.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Final

from elicitation_receipts.schemas.digest import canonical_digest
from elicitation_receipts.schemas.vocabulary import FindingName, Proof, Severity


@dataclass(frozen=True)
class Policy:
    """Thresholds of the observing policy.

    ``automatic_below_ms``  an answer sooner than this is not counted as a person's
    ``max_fields``          properties a form may have before ``too_many_fields``
    ``max_length``          ``maxLength`` before ``value_limit``
    ``max_options``         choices of one field before ``value_limit``
    ``reask_loop_round``    round from which a question is a ``reask_loop``
    ``reask_window_s``      how long an equal question counts as asked again
    ``wait_s``              how long a question waits on carriers whose connection says nothing
    ``required_proof``      weakest proof that completes a URL question; None: any
    """

    id: str = "built-in"
    version: str = "1"
    automatic_below_ms: int = 250
    max_fields: int = 10
    max_length: int = 1_000
    max_options: int = 100
    reask_loop_round: int = 4
    reask_window_s: int = 600
    wait_s: int = 3_600
    required_proof: Proof | None = None

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the policy's RFC 8785 form: 32 bytes."""
        return canonical_digest(asdict(self))

    def accepts(self, proof: Proof) -> bool:
        """Whether ``proof`` is at least as strong as the policy asks."""
        order = list(Proof)
        return self.required_proof is None or order.index(proof) >= order.index(self.required_proof)

    def severity(self, name: FindingName) -> Severity:
        """How much a finding weighs."""
        return name.default_severity


BUILT_IN: Final = Policy()
