"""Losses: what a receipt that could not be written becomes."""

from __future__ import annotations

import time
from typing import Final
from uuid import UUID

from elicitation_receipts.producers.account import Account
from elicitation_receipts.schemas.errors import HomeError, KeyringError, SpoolError
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.spool import Producer
from elicitation_receipts.schemas.vocabulary import Event, LossReason, Vantage

_SPOOL_REASONS: Final = {
    "spool_full": LossReason.DISK_FULL,
    "spool_read_only": LossReason.READ_ONLY,
    "spool_locked": LossReason.SPOOL_LOCKED,
    "spool_missing": LossReason.HOME_UNAVAILABLE,
    "spool_replaced": LossReason.HOME_UNAVAILABLE,
    "stream_unknown": LossReason.HOME_UNAVAILABLE,  # another spool stands where theirs was
    "stream_moved": LossReason.HOME_UNAVAILABLE,
}


def loss_reason(error: Exception) -> LossReason:
    """What an error that kept a receipt from being written is called in a `lost` receipt."""
    if isinstance(error, SpoolError):
        return _SPOOL_REASONS.get(error.reason, LossReason.SPOOL_UNAVAILABLE)
    if isinstance(error, HomeError):
        return LossReason.HOME_UNAVAILABLE
    if isinstance(error, KeyringError):
        return LossReason.KEY_UNAVAILABLE
    return LossReason.WATCHER_FAULT


def lost_receipt(
    stream_id: UUID,
    tenant: str,
    producer: Producer,
    account: Account,
    vantage: Vantage | None = None,
) -> Receipt:
    """The receipt that settles an account: how many were lost, since when and why."""
    return Receipt(
        receipt_id=account.id,
        stream_id=stream_id,
        event=Event.LOST,
        tenant=tenant,
        vantage=vantage,
        producer_name=producer.name,
        producer_version=producer.version,
        occurred_at=time.time_ns() // 1000,
        loss=account.loss,
    )
