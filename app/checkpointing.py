"""Checkpointing: a home's checkpoints, signed once, or at a cadence beside other work."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from uuid import UUID

from elicitation_receipts.evidence.checkpointer import Signed, newest_signed, sign_checkpoints
from elicitation_receipts.evidence.registry import Registry, installed_schemas
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

    def sign_unless_fresh(self, now: datetime, streams: Collection[str] = ()) -> Signed:
        """What was signed last, where it is fresh; else signs, as :meth:`sign`.

        Fresh is what is not older than the cadence and covers all there is of the
        ``streams`` (ids; none: of every stream), under the schemas that are installed.
        """
        signed = newest_signed(self._home.evidence, SigningKeys.open(self._home.signing_keys))
        if signed is None or not self._is_fresh(signed.registry, now, streams):
            return self.sign(now)
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

    def _is_fresh(self, registry: Registry, now: datetime, streams: Collection[str]) -> bool:
        if now - registry.time >= timedelta(seconds=self._every):
            return False
        there: dict[UUID, int] = {}
        with stores_of(self._home) as sources:
            for extent in (each for source in sources for each in source.extents()):
                if not streams or str(extent.stream_id) in streams:
                    reach = there.get(extent.stream_id, 0)
                    there[extent.stream_id] = max(reach, extent.next_sequence)
        signed = {stream_id: entry.last + 1 for stream_id, entry in registry.streams.items()}
        return registry.schemas == installed_schemas() and there.items() <= signed.items()

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
