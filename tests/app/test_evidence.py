"""`receipts checkpoint`, `bundle`, `prove` and `verify`, as a user meets them."""

from __future__ import annotations

import json
import subprocess
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from policies import policy_with
from sample import PRODUCER, question

from elicitation_receipts.producers.policy.kept import keep
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.operators import Operators
from elicitation_receipts.schemas.spool import Spool
from elicitation_receipts.schemas.vocabulary import Event

Receipts = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def put(home: Path) -> list[str]:
    """A home whose spool holds five questions; the ids of their receipts."""
    with Spool.open(home) as spool:
        stream = spool.stream_for("default", PRODUCER)
        sealed = spool.append([question(stream) for _ in range(5)])
    return [str(each.receipt.receipt_id) for each in sealed]


def verdicts(ended: subprocess.CompletedProcess[str]) -> dict[str, str]:
    rows = json.loads(ended.stdout)["rows"]
    return {row["check"]: row["verdict"] for row in rows if row["class"] is None}


def test_without_a_checkpoint_there_is_not_enough_to_say(
    put: list[str], receipts: Receipts
) -> None:
    ended = receipts("verify", "--format", "json")
    assert ended.returncode == 4
    assert verdicts(ended)["integrity"] == "holds"
    assert verdicts(ended)["completeness"] == "not checked"
    assert receipts("checkpoint").returncode == 0
    assert receipts("verify").returncode == 0


def test_a_proof_of_one_receipt(
    put: list[str], receipts: Receipts, home: Path, tmp_path: Path
) -> None:
    ended = receipts("prove", put[2])
    assert (ended.returncode, "not_signed_yet" in ended.stderr) == (3, True)
    receipts("checkpoint")
    proof = tmp_path / "one.tlog-proof"
    assert receipts("prove", put[2], "--output", str(proof)).returncode == 0
    pins = tmp_path / "pins"
    pins.write_text(receipts("keys", "export-public").stdout)
    ended = receipts("verify", str(proof), "--keys", str(pins), "--format", "json")
    assert ended.returncode == 0
    assert verdicts(ended)["integrity"] == "holds"
    assert verdicts(ended)["authenticity"] == "holds"
    assert verdicts(ended)["completeness"] == "not checked"
    with Spool.open(home) as spool:
        acts = Operators(spool, Keyring.open(home / "keys"), PRODUCER).acts()
        assert [(one.event, one.act.target) for one in acts if one.act][-1] == (
            Event.EXPORTED,
            "proof",
        )
    lines = proof.read_text().splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("index "))
    lines[place] = "index 0"
    proof.write_text("\n".join(lines) + "\n")
    assert receipts("verify", str(proof)).returncode == 1
    assert receipts("prove", "no id").returncode == 2
    assert receipts("prove", "99999999-9999-4999-8999-999999999999").returncode == 3


def test_a_bundle_is_written_whole_and_recorded(
    put: list[str], receipts: Receipts, home: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "evidence.tar"
    assert receipts("bundle", "--output", str(bundle)).returncode == 0
    assert receipts("verify", str(bundle)).returncode == 0
    with Spool.open(home, create=False) as spool:
        assert "operators" in [stream.tenant for stream in spool.streams()]
    ended = receipts("bundle", "--output", str(tmp_path / "nowhere" / "evidence.tar"))
    assert (ended.returncode, ended.stderr.count("\n")) == (3, 1)
    assert receipts("bundle", "--stream", "none", "--output", str(bundle)).returncode == 2


def test_a_bundle_has_the_policies_its_receipts_name(
    put: list[str], receipts: Receipts, home: Path, tmp_path: Path
) -> None:
    named, other, gone = (policy_with("form", max_fields=number) for number in (3, 4, 5))
    for policy in (named, other):
        keep(policy, home / "policies")
    with Spool.open(home) as spool:
        stream = spool.stream_for("default", PRODUCER)
        spool.append([question(stream, policy_digest=each.digest) for each in (named, gone) * 2])
    bundle = tmp_path / "evidence.tar"
    ended = receipts("bundle", "--output", str(bundle))
    assert ended.returncode == 0
    assert f"{gone.digest.hex()}, which was not kept" in ended.stderr
    with tarfile.open(bundle) as archive:
        policies = [name for name in archive.getnames() if name.startswith("policies/")]
        assert policies == [f"policies/{named.digest.hex()}.json", "policies/not-kept.txt"]
        listed = archive.extractfile("policies/not-kept.txt")
        assert listed is not None
        assert listed.read().decode() == f"{gone.digest.hex()}\n"
    assert receipts("verify", str(bundle)).returncode == 0


def test_a_bundle_signs_only_what_is_not_signed_or_signed_long_ago(
    put: list[str], receipts: Receipts, home: Path, tmp_path: Path
) -> None:
    receipts("checkpoint")
    registry = home / "evidence" / "registry.note"
    signed = registry.read_bytes()
    bundle = str(tmp_path / "evidence.tar")
    assert receipts("bundle", "--output", bundle).returncode == 0
    assert registry.read_bytes() == signed
    assert receipts("verify", bundle).returncode == 0
    # That it was bundled is in the operators' stream now, and not signed.
    with Spool.open(home, create=False) as spool:
        [stream, operators] = [str(each.stream_id) for each in spool.streams()]
    assert receipts("bundle", "--stream", stream, "--output", bundle).returncode == 0
    assert registry.read_bytes() == signed
    assert receipts("bundle", "--stream", operators, "--output", bundle).returncode == 0
    assert registry.read_bytes() != signed


def test_nothing_is_given_out_where_that_must_be_recorded_and_cannot(
    receipts: Receipts, home: Path, tmp_path: Path
) -> None:
    with Spool.open(home) as spool:
        Keyring.open(home / "keys").tenant("operators")
        stream = spool.stream_for("default", PRODUCER)
        two_hours_ago = time.time_ns() // 1000 - 7_200_000_000
        sealed = spool.append(
            [
                question(stream, server_version=version, occurred_at=two_hours_ago)
                for version in ("1.0", "2.0")
            ]
        )
    receipts("land")
    receipts("checkpoint")
    next((home / "keys" / "tenants" / "operators").glob("tenant-*.key")).unlink()
    first = sealed[0].receipt
    output = tmp_path / "output"
    for arguments in (
        ["prove", str(first.receipt_id)],
        ["bundle"],
        ["show", str(first.elicitation_id)],
        ["report", "completion"],
        ["report", "all"],
        ["export", "--format", "parquet"],
        ["canary", "1.0", "2.0"],
        ["gate"],
    ):
        ended = receipts(*arguments, "--require-record", "--output", str(output))
        assert ended.returncode == 3, arguments
        assert ended.stderr.startswith("receipts: not_recorded: "), arguments
        assert not output.exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["verify", "nothing"], "evidence_unreadable"),
        (["verify", "--keys", "nothing"], "evidence_unreadable"),
        (["verify", "--against", "nothing"], "evidence_unreadable"),
        (["verify", "--evidence", "nothing"], "not_a_folder"),
        (["verify", "--as-of", "soon"], "bad_time"),
        (["verify", "--stream", "first"], "stream_invalid"),
        (["checkpoint", "--checkpoint-to", "ftp:there"], "vantage_unknown"),
        (["checkpoint", "--checkpoint-every", "0"], "setting_invalid"),
    ],
)
def test_what_makes_no_sense_is_named_in_one_line(
    arguments: list[str], reason: str, put: list[str], receipts: Receipts
) -> None:
    ended = receipts(*arguments)
    assert ended.returncode in (2, 3)
    assert reason in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("content", [b"something else entirely", b"PAR1" + bytes(50) + b"PAR1"])
def test_a_file_that_holds_no_receipts_is_named(
    content: bytes, put: list[str], receipts: Receipts, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    ended = receipts("verify", str(file))
    assert (ended.returncode, "source_malformed" in ended.stderr) == (3, True)
