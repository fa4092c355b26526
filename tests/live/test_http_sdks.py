"""Older and other Python SDKs over HTTP, server and client, with the proxy between them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import serve_app
from http_demo import proxy, serving
from telling import tell

from elicitation_receipts.schemas.receipt import Receipt

pytestmark = pytest.mark.slow

SUPPORT = Path(serve_app.__file__).parent
HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"


@pytest.mark.parametrize(
    ("sdk", "era", "proof"),
    [
        ("v1", HANDSHAKE, "server_notification"),
        ("fastmcp", HANDSHAKE, "server_notification"),
        ("fastmcp", MODERN, "operation_result"),
    ],
)
def test_its_questions_leave_the_right_receipts(
    tmp_path: Path,
    python: Callable[[str], str],
    read_spool: Callable[[Path], list[Receipt]],
    sdk: str,
    era: str,
    proof: str,
) -> None:
    program = [python(sdk), str(SUPPORT / f"watched_{sdk}.py")]
    with serving(*program, "serve") as server, proxy(tmp_path, server) as url:
        done = subprocess.run(
            [*program, "visit", era, url],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    receipts = read_spool(tmp_path)
    assert tell(receipts) == [
        "requested open",
        "answered accepted person_claimed",
        "resumed success",
        "requested open !reask_after_accept",
        "answered declined person_claimed",
        "resumed success",
        "requested open !reask_after_refusal",
        "answered cancelled person_claimed",
        "resumed success",
        "requested open",
        "answered consented person_claimed",
        f"completed runtime {proof}",
        "resumed success",
    ]
    assert {receipt.protocol_version for receipt in receipts} == {era}
    assert {receipt.client_name for receipt in receipts} == {"scripted"}
