"""Every Python SDK, watched at both ends and by a tap between them: all three say the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from site import getsitepackages

import pytest
import watched_v2
from sdk_pair import comparable, sessions
from telling import tell

from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Fidelity, Proof, Vantage

pytestmark = pytest.mark.slow

SUPPORT = Path(watched_v2.__file__).parent
HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
#: Each program, and what it needs beside us. None: what is installed for the tests anyway.
SDKS = {"v2": None, "v1": "mcp==1.30.*", "fastmcp": "fastmcp==4.2.*"}

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


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """An interpreter that has an SDK, and us; skips where it cannot be installed."""
    made: dict[str, str] = {}

    def interpreter(sdk: str) -> str:
        requirement = SDKS[sdk]
        if requirement is None:
            return sys.executable
        if sdk not in made:
            made[sdk] = install(tmp_path_factory.mktemp(sdk), requirement)
        return made[sdk]

    return interpreter


def install(folder: Path, requirement: str) -> str:
    """An environment with the SDK, and behind it everything that is installed here."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, requirement], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot install {requirement}: {done.stderr.strip().splitlines()[-1]}")
    places = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.run([python, "-c", places], capture_output=True, text=True, check=True)
    behind = "".join(f"import site; site.addsitedir({place!r})\n" for place in getsitepackages())
    (Path(own.stdout.strip()) / "behind.pth").write_text(behind)
    return python


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
