"""Keeps each policy that was in force, by its digest: a receipt names it long after.

A file is the policy's canonical form (RFC 8785), named by its SHA-256 in hexadecimal and
``.json``: ``sha256sum`` checks it, and it can be loaded like any policy file.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from elicitation_receipts.producers.policy.document import Policy
from elicitation_receipts.schemas.errors import PolicyError
from elicitation_receipts.schemas.whole_file import whole_file


def keep(policy: Policy, folder: Path) -> Path:
    """Have a policy among the kept ones; where it lies. Raises ``policy_not_kept``."""
    path = place_of(folder, policy.digest)
    if read_kept(folder, policy.digest) is not None:
        return path
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        with whole_file(path) as draft:
            draft.write_bytes(policy.canonical)
    except OSError as error:
        raise PolicyError(
            "policy_not_kept",
            f"cannot keep the policy in {folder} ({error.strerror}): receipts would name one "
            "that nobody can read; check the disk and its permissions",
        ) from error
    return path


def read_kept(folder: Path, digest: bytes) -> bytes | None:
    """The canonical form of the policy with this digest; None where it is not there, whole."""
    try:
        text = place_of(folder, digest).read_bytes()
    except OSError:
        return None
    return text if sha256(text).digest() == digest else None


def place_of(folder: Path, digest: bytes) -> Path:
    """Where the policy with this digest lies, if it is kept."""
    return folder / f"{digest.hex()}.json"
