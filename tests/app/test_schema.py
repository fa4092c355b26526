"""Schema: the contract shown, and messages checked against it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from elicitation_receipts.schemas.codec import MESSAGE_LIMIT, encode, fingerprint, schema_text
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Event

Receipts = Callable[..., subprocess.CompletedProcess[str]]

MESSAGE = encode(
    Receipt(
        receipt_id=uuid4(),
        stream_id=uuid4(),
        event=Event.STREAM_OPENED,
        tenant="acme",
        producer_name="test",
        producer_version="1.0",
        occurred_at=0,
    )
)


def test_show_prints_the_file(receipts: Receipts) -> None:
    for arguments in ([], ["--version", "1"]):
        shown = receipts("schema", "show", *arguments).stdout
        assert shown == schema_text(1)
        assert json.loads(shown)["type"] == "record"


def test_fingerprint_is_what_stands_in_a_message(receipts: Receipts) -> None:
    printed = receipts("schema", "fingerprint").stdout
    assert bytes.fromhex(printed) == fingerprint(1) == MESSAGE[2:10]


@pytest.mark.parametrize("command", ["show", "fingerprint"])
def test_an_unknown_version_is_named_with_those_that_are(receipts: Receipts, command: str) -> None:
    done = receipts("schema", command, "--version", "99")
    assert done.returncode == 2
    assert done.stderr == "receipts: schema_unknown: there is no version 99; known: 1\n"


def test_check_says_what_a_message_is_and_none_of_its_values(
    receipts: Receipts, tmp_path: Path
) -> None:
    file = tmp_path / "message"
    file.write_bytes(MESSAGE)
    for done in (
        receipts("schema", "check", str(file)),
        receipts("schema", "check", "-", stdin=MESSAGE),
    ):
        assert done.returncode == 0
        assert done.stdout == (
            f"one receipt: schema version 1, canonical, {len(MESSAGE)} bytes, event stream_opened\n"
        )
        assert "acme" not in done.stdout


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "not_single_object"),
        (b"hunter2" * 20, "not_single_object"),
        (MESSAGE + b"\0", "trailing_bytes"),
        (MESSAGE[:-1], "truncated_datum"),
        (MESSAGE[:2] + b"hunter22" + MESSAGE[10:], "unknown_fingerprint"),
        (MESSAGE + bytes(MESSAGE_LIMIT), "message_too_large"),
    ],
)
def test_check_names_what_is_no_receipt(receipts: Receipts, message: bytes, reason: str) -> None:
    done = receipts("schema", "check", "-", stdin=message)
    assert done.returncode == 1
    assert done.stdout.startswith(f"no receipt: {reason}: ")
    assert done.stderr == ""
    assert "hunter2" not in done.stdout


def test_check_of_a_file_that_is_not_there(receipts: Receipts, tmp_path: Path) -> None:
    done = receipts("schema", "check", str(tmp_path / "none"))
    assert done.returncode == 3
    assert done.stderr.startswith("receipts: file_unreadable: ")
