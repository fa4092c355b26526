"""Checkpointing: a home's checkpoints, signed once, or at a cadence beside other work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event, Thread

from elicitation_receipts.evidence.checkpointer import Signed, sign_checkpoints
from elicitation_receipts.evidence.signing import SigningKeys
from elicitation_receipts.evidence.vantage import vantages
from elicitation_receipts.evidence_sources import stores_of
from elicitation_receipts.home import Home
from elicitation_receipts.schemas.errors import ReceiptsError
from elicitation_receipts.settings import Settings


class Checkpointing:
    """Signs for one home and gives what was signed to the further places of the settings."""

    def __init__(self, home: Home, settings: Settings) -> None:
        kafka = settings.kafka_settings() if settings.kafka else None
        self._home = home
        self._vantages = vantages(settings.checkpoint_to or "", kafka)
        self._every = settings.checkpoint_every

    def sign(self, now: datetime) -> Signed:
        """Sign what is there. Raises as `sign_checkpoints`, and ``vantage_unwritable``."""
        keys = SigningKeys.open(self._home.signing_keys, create=True)
        with stores_of(self._home) as sources:
            signed = sign_checkpoints(self._home.evidence, keys, sources, now)
        for vantage in self._vantages:
            vantage.put(signed.files, signed.registry.time)
        return signed

    def sign_or_say(self, now: datetime) -> Signed | None:
        """The same for those with other work to do: what fails is said, in one line."""
        try:
            return self.sign(now)
        except ReceiptsError as error:
            said = str(error)
        except OSError as error:
            said = f"system_error: {error.strerror or type(error).__name__}; check the disk"
        print(f"receipts: no checkpoint: {said}", file=sys.stderr)
        return None

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Sign at the cadence while the block lasts, and once more at its end."""
        ended = Event()

        def go_on() -> None:
            while not ended.wait(self._every):
                self.sign_or_say(datetime.now(UTC))

        thread = Thread(target=go_on, name="checkpoints")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self.sign_or_say(datetime.now(UTC))
