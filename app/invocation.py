"""Invocation: what every command starts from, the home and the settings in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from elicitation_receipts import __version__
from elicitation_receipts.home import Home, home_path
from elicitation_receipts.schemas.spool import Producer
from elicitation_receipts.settings import FILE_NAME, Loaded, load

#: How this program calls itself in the receipts it writes.
PRODUCER: Final = Producer("elicitation-receipts", __version__)


@dataclass(frozen=True, slots=True)
class Invocation:
    """The object of every command's context. ``path``: where the home is, or will be."""

    path: Path

    @classmethod
    def of(cls, home: Path | None) -> Invocation:
        """``home``: the option ``--home``, None where it was not given."""
        return cls(home_path(home))

    def home(self, *, create: bool) -> Home:
        """See :meth:`Home.open`."""
        return Home.open(self.path, create=create)

    def load_settings(self, options: Mapping[str, object] | None = None) -> Loaded:
        """See :func:`settings.load`."""
        return load(self.path / FILE_NAME, options)

    @property
    def database(self) -> Path:
        """The DuckDB database of an existing home."""
        return self.home(create=False).warehouse
