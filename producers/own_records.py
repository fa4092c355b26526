"""What a server may record of itself, because the wire does not show it."""

from __future__ import annotations

from typing import Final

from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.vocabulary import Proof

#: What the wire can show, no server need record.
_OWN_PROOFS: Final = (Proof.AUTHENTICATED_CALLBACK, Proof.STATUS_CHECK)
#: The largest version of a checkpoint: an Avro long.
_LARGEST: Final = 2**63 - 1


def own_proof(proof: str) -> Proof:
    """A proof that only the server itself can have. Raises ``proof_invalid``."""
    if proof not in _OWN_PROOFS:
        raise UsageError("proof_invalid", f"a server's own proof is {' or '.join(_OWN_PROOFS)}")
    return Proof(proof)


def check_version(version: int) -> None:
    """Raises ``checkpoint_invalid`` for what is no version of a checkpoint."""
    if not 0 <= version <= _LARGEST:
        raise UsageError("checkpoint_invalid", "a checkpoint's version is a number from 0 on")
