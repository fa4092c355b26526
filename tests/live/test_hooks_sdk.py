"""Every Python SDK, watched at both ends and by a tap between them: all three say the same."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import watched_v2
from sdk_pair import comparable, sessions
from telling import tell

from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Fidelity, Proof, Vantage

pytestmark = pytest.mark.slow

SUPPORT = Path(watched_v2.__file__).parent
HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"

FORMS = [
    ["requested open", "answered accepted person_claimed", "resumed success"],
    ["requested open !reask_after_accept", "answered declined person_claimed", "resumed success"],
    ["requested open !reask_after_refusal", "answered cancelled person_claimed", "resumed success"],
]
#: Proof on the wire, and the server's own, by era.
PROOFS = {
    HANDSHAKE: (Proof.SERVER_NOTIFICATION, Proof.AUTHENTICATED_CALLBACK),
    MODERN: (Proof.OPERATION_RESULT, Proof.STATUS_CHECK),
}


@pytest.mark.parametrize(
    ("sdk", "era"),
    [
        ("v2", HANDSHAKE),
        ("v2", MODERN),
        ("v1", HANDSHAKE),
        ("fastmcp", HANDSHAKE),
        ("fastmcp", MODERN),
    ],
)
def test_both_ends_and_the_tap_between_them_say_the_same(
    tmp_path: Path,
    tap: Callable[..., list[str]],
    python: Callable[[str], str],
    sdk: str,
    era: str,
) -> None:
    home = tmp_path / "home"
    program = [python(sdk), str(SUPPORT / f"watched_{sdk}.py")]
    done = subprocess.run(
        [*program, "client", era, *tap(home, *program, "server")],
        env={**os.environ, "RECEIPTS_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    on_the_wire, by_the_server = PROOFS[era]
    watched = sessions(home)
    [server] = [one for one in watched if one[-2].proof is by_the_server]
    others = [one for one in watched if one is not server]
    assert sorted(where(one) for one in others) == [
        (Vantage.STDIO, Fidelity.BYTES),
        (Vantage.STREAM, Fidelity.PARSED),
    ]
    # FastMCP opens standard input and output itself: its server is watched there.
    expected = Vantage.STDIO if sdk == "fastmcp" else Vantage.STREAM
    assert where(server)[0] is expected

    for receipts, last_proof in ((server, by_the_server), *((one, on_the_wire) for one in others)):
        assert [tell(life) for life in lives(receipts)] == [
            *FORMS,
            page(on_the_wire),
            page(last_proof),
        ]
    but_the_last = [comparable(receipts)[:-1] for receipts in watched]
    assert but_the_last[0] == but_the_last[1] == but_the_last[2]
    assert comparable(others[0]) == comparable(others[1])


def page(proof: Proof) -> list[str]:
    return [
        "requested open",
        "answered consented person_claimed",
        f"completed runtime {proof}",
        "resumed success",
    ]


def lives(receipts: list[Receipt]) -> list[list[Receipt]]:
    found: dict[object, list[Receipt]] = {}
    for receipt in receipts:
        found.setdefault(receipt.elicitation_id, []).append(receipt)
    return list(found.values())


def where(receipts: list[Receipt]) -> tuple[Vantage | None, Fidelity | None]:
    return receipts[0].vantage, receipts[0].fidelity
