"""Server records: what a server says of itself to whoever watches it, because the wire does not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final, Literal, TypeVar

import anyio.to_thread

from elicitation_receipts.producers.own_records import check_version, own_proof
from elicitation_receipts.producers.watcher import Watcher
from elicitation_receipts.schemas.errors import ReceiptsError

T = TypeVar("T")

LOG: Final = logging.getLogger("elicitation_receipts")


class ServerRecords:
    """Records of a watched server. No failure to write one reaches the server.

    For use while ``_watcher`` is there, from any task of AnyIO.
    """

    _watcher: Watcher

    async def record_completion(
        self, question: str, proof: Literal["authenticated_callback", "status_check"]
    ) -> bool:
        """The server knows by itself that a URL ceremony is complete. True: it completed one.

        ``question``  the ``elicitationId`` it was put with; where it had none (from
                      2026-07-28 on), its URL, to the letter
        ``proof``     how the server knows: it was called back by somebody who authenticated,
                      or it asked and was told

        Record it before ``notifications/elicitation/complete`` is sent: the first proof
        completes. What names no question that waits is a finding, `unknown_completion_id`.
        Raises ``proof_invalid``.
        """
        kind = own_proof(proof)
        return await _record(partial(self._watcher.record_completion, question, kind), False)

    async def record_subject(self, subject: str) -> None:
        """The server has authenticated whom it talks to.

        A keyed reference to ``subject`` stands on every receipt from here on; the text is
        not kept. An answer to a question that was put to another is `identity_mismatch`.
        """
        await _record(partial(self._watcher.record_subject, subject), None)

    async def record_checkpoint(self, task_id: str, version: int) -> bool:
        """The server saved the state of a task. False: no such task was seen to start.

        ``version`` (0 or more) stands on every receipt of the task from here on. Raises
        ``checkpoint_invalid``.
        """
        check_version(version)
        return await _record(partial(self._watcher.record_checkpoint, task_id, version), False)


async def _record(call: Callable[[], T], otherwise: T) -> T:
    try:
        return await anyio.to_thread.run_sync(call)
    except Exception as error:  # noqa: BLE001  (the server goes on whatever the watcher does)
        # Without a traceback: it may hold a value.
        LOG.error("watcher_fault: %s; a record is missing", fault_name(error))  # noqa: TRY400
        return otherwise


def fault_name(error: Exception) -> str:
    """What an error is called where its message may hold a value from the traffic."""
    return error.reason if isinstance(error, ReceiptsError) else type(error).__name__
