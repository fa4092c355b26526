"""The one error type a user can meet: a named reason and what to do about it.

Every error that leaves this project is a :class:`ReceiptsError`. Its ``reason``
is stable and machine-readable (``snake_case``); its message says what happened
and what to do, and never holds a value from the traffic. The command line
prints ``reason: message`` on one line and exits with ``exit_code``.
"""

from __future__ import annotations

from typing import ClassVar


class ReceiptsError(Exception):
    """An expected failure with a name.

    ``reason``     stable name, ``snake_case``
    ``exit_code``  what a command exits with: 3 unless a subclass says otherwise
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.reason}: {self.args[0]}"


class CodecError(ReceiptsError):
    """A message that is not one receipt of a known schema, or a receipt without an encoding."""


class SchemaError(CodecError):
    """A schema file of this installation is damaged (``schema_corrupt``): no message's fault."""


class HomeError(ReceiptsError):
    """The home directory cannot serve: unknown, unwritable, or not ours."""


class KeyringError(ReceiptsError):
    """A key cannot be read or made."""


class SpoolError(ReceiptsError):
    """The spool cannot be opened, read or written."""


class ProxyError(ReceiptsError):
    """A request the proxy does not serve, or an upstream it cannot stand in front of."""


class ShipError(ReceiptsError):
    """Receipts cannot be handed to Kafka."""


class SourceError(ReceiptsError):
    """Receipts cannot be read from their source (Kafka or the spool)."""


class WarehouseError(ReceiptsError):
    """The DuckDB database cannot be opened, read or written."""


class EvidenceError(ReceiptsError):
    """Evidence (a note, a key, a bundle) cannot be made, or what is given is none."""


class ReportError(ReceiptsError):
    """A report cannot be written where it was told to go."""


class PolicyError(ReceiptsError):
    """A policy cannot be read, or makes no sense."""


class ConfigError(ReceiptsError):
    """A client's configuration file cannot be read, understood or changed."""


class UsageError(ReceiptsError):
    """A setting or an option that makes no sense (exit code 2)."""

    exit_code: ClassVar[int] = 2


class NotEnoughError(ReceiptsError):
    """A check was asked for and nothing is there to say yes or no by (exit code 4)."""

    exit_code: ClassVar[int] = 4
