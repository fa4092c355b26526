"""Keyring: a home's keys, from wherever its settings and environment say they are kept."""

from __future__ import annotations

import os
from typing import Final

from elicitation_receipts.home import Home
from elicitation_receipts.schemas.errors import UsageError
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.secret_sources import (
    CommandSecrets,
    EnvironmentSecrets,
    SecretSource,
)
from elicitation_receipts.settings import Settings

#: Holds all secrets, as ``name=digits`` separated by white space.
VARIABLE: Final = "RECEIPTS_KEYS"


def open_keyring(home: Home, settings: Settings, *, create: bool = True) -> Keyring:
    """See :meth:`Keyring.open`. Raises also ``keys_ambiguous``."""
    return Keyring.open(home.keys, create, _source(settings))


def _source(settings: Settings) -> SecretSource | None:
    text = os.environ.get(VARIABLE)
    if text is not None and settings.keys_command is not None:
        raise UsageError(
            "keys_ambiguous", f"keys come from {VARIABLE} or from keys_command: set only one"
        )
    if text is not None:
        return EnvironmentSecrets(text, VARIABLE)
    return None if settings.keys_command is None else CommandSecrets(settings.keys_command)


def hide_keys() -> None:
    """Take the keys out of the environment, before a program that is not ours inherits it."""
    os.environ.pop(VARIABLE, None)
