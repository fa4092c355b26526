"""Keys are made once, kept to their owner, and differ where they must."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.schemas.errors import KeyringError
from elicitation_receipts.schemas.keys import Key, Keyring, frame, hkdf_sha256

FILES = ("root.key", "lander.key", "tenants/a/tenant-0001.key", "tenants/a/epoch-0001.key")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A key folder in which every key of tenant `a` exists."""
    keyring = Keyring.open(tmp_path / "keys")
    keyring.tenant("a")
    keyring.lander()
    return tmp_path / "keys"


def use(folder: Path, create: bool = False) -> list[Key]:
    """Every key of tenant `a` and the lander's, read afresh."""
    keyring = Keyring.open(folder, create=create)
    keys = keyring.tenant("a")
    return [keys.question, keys.reference, keys.payload, keyring.lander()]


def refusal(folder: Path, create: bool = False) -> str:
    with pytest.raises(KeyringError) as caught:
        use(folder, create)
    return caught.value.reason


# RFC 5869, appendix A.1 to A.3.
@pytest.mark.parametrize(
    ("secret", "salt", "info", "expected"),
    [
        (
            "0b" * 22,
            "000102030405060708090a0b0c",
            "f0f1f2f3f4f5f6f7f8f9",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        ),
        (
            bytes(range(0x50)).hex(),
            bytes(range(0x60, 0xB0)).hex(),
            bytes(range(0xB0, 0x100)).hex(),
            (
                "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
                "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
                "cc30c58179ec3e87c14c01d5c1f3434f1d87"
            ),
        ),
        (
            "0b" * 22,
            "",
            "",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
        ),
    ],
)
def test_hkdf_is_rfc_5869(secret: str, salt: str, info: str, expected: str) -> None:
    output = hkdf_sha256(
        bytes.fromhex(secret), bytes.fromhex(info), len(expected) // 2, bytes.fromhex(salt)
    )
    assert output.hex() == expected


@given(st.lists(st.binary()), st.lists(st.binary()))
def test_no_two_lists_of_parts_have_one_frame(left: list[bytes], right: list[bytes]) -> None:
    assert (frame(*left) == frame(*right)) == (left == right)


def test_the_same_folder_gives_the_same_keys(folder: Path) -> None:
    assert use(folder) == use(folder, create=True)


def test_keys_differ_by_purpose_tenant_and_folder(tmp_path: Path) -> None:
    secrets = set()
    for home in ("one", "two"):
        keyring = Keyring.open(tmp_path / home)
        for tenant in ("a", "b"):
            keys = keyring.tenant(tenant)
            secrets |= {keys.question.secret, keys.reference.secret, keys.payload.secret}
        secrets.add(keyring.lander().secret)
    assert len(secrets) == 2 * (2 * 3 + 1)


def test_modes(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path
    assert {str(path.relative_to(folder)) for path in folder.rglob("*.key")} == set(FILES)
    assert not list(folder.rglob(".*")), "no draft is left behind"


def test_a_lander_alone_has_no_root(tmp_path: Path) -> None:
    Keyring.open(tmp_path / "keys").lander()
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["lander.key"]


@pytest.mark.parametrize("name", FILES)
def test_a_lost_secret_is_missed_and_none_made_in_its_place(folder: Path, name: str) -> None:
    secret = (folder / name).read_bytes()
    before = use(folder)
    (folder / name).unlink()
    assert refusal(folder) == "key_missing"
    if name == "lander.key":  # it only tells one reject from another: a new one will do
        assert use(folder, create=True)[:3] == before[:3]
        return
    assert refusal(folder, create=True) == "key_missing"
    assert not (folder / name).exists()
    (folder / name).write_bytes(secret)
    (folder / name).chmod(0o600)
    assert use(folder) == before


@pytest.mark.parametrize("name", [name for name in FILES if name != "lander.key"])
@pytest.mark.parametrize("create", [True, False])
def test_another_secret_than_before_is_wrong(folder: Path, name: str, create: bool) -> None:
    (folder / name).write_text(64 * "a" + "\n")
    assert refusal(folder, create) == "key_wrong"


def test_the_newest_epoch_is_the_current_one(folder: Path) -> None:
    before = Keyring.open(folder).tenant("a")
    (folder / "tenants/a/epoch-0001.key").rename(folder / "tenants/a/epoch-0012.key")
    after = Keyring.open(folder).tenant("a")
    assert (before.epoch, after.epoch) == (1, 12)
    assert before.payload != after.payload, "the epoch's number is part of the derivation"
    assert before.question == after.question


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "damage",
    [b"", b"\n", b"0" * 63 + b"\n", b"0" * 64, b"0" * 65 + b"\n", b"x" * 64 + b"\n",
     b"0" * 64 + b"\n\n", b"\xff" * 64 + b"\n", b"0" * 100_000],
)  # fmt: skip
def test_a_damaged_key_is_refused(folder: Path, name: str, damage: bytes) -> None:
    (folder / name).write_bytes(damage)
    assert refusal(folder) == "key_unreadable"
    assert refusal(folder, create=True) == "key_unreadable"
    assert (folder / name).read_bytes() == damage, "a damaged key is not replaced"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o660, 0o666])
def test_a_key_open_to_others_is_refused(folder: Path, mode: int) -> None:
    (folder / "root.key").chmod(mode)
    assert refusal(folder) == "key_unreadable"


def test_a_folder_open_to_others_is_refused(folder: Path) -> None:
    folder.chmod(0o750)
    assert refusal(folder) == "key_unreadable"


def test_what_is_no_file_is_refused(folder: Path) -> None:
    (folder / "root.key").unlink()
    (folder / "root.key").mkdir()
    assert refusal(folder) == "key_unreadable"


def test_a_missing_folder_is_refused_unless_it_may_be_made(tmp_path: Path) -> None:
    with pytest.raises(KeyringError) as caught:
        Keyring.open(tmp_path / "keys", create=False)
    assert caught.value.reason == "key_unreadable"
    assert list(tmp_path.iterdir()) == []


def test_where_no_folder_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "missing" / "keys", tmp_path / "file" / "keys"):
        with pytest.raises(KeyringError) as caught:
            Keyring.open(place)
        assert caught.value.reason == "key_unwritable"
    with pytest.raises(KeyringError) as caught:
        Keyring.open(tmp_path / "file")
    assert caught.value.reason == "key_unreadable"


NO_ROOM = """
import resource, sys
from pathlib import Path
from elicitation_receipts.schemas.errors import KeyringError
from elicitation_receipts.schemas.keys import Keyring
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
try:
    Keyring.open(Path(sys.argv[1])).lander()
except KeyringError as error:
    sys.exit(error.reason)
"""


def test_where_there_is_no_room_for_a_key_nothing_is_left_half_written(folder: Path) -> None:
    (folder / "lander.key").unlink()
    run = subprocess.run(
        [sys.executable, "-c", NO_ROOM, str(folder)], capture_output=True, text=True, check=False
    )
    assert run.stderr == "key_unwritable\n"
    assert {path.name for path in folder.iterdir()} == {"root.key", "root.id", "tenants"}


@pytest.mark.parametrize("name", ["", "A", "../a", "a/b", "a..b", ".", "a" * 65, "ä", "a\n"])
def test_a_tenant_is_no_path(tmp_path: Path, name: str) -> None:
    keyring = Keyring.open(tmp_path / "keys")
    with pytest.raises(KeyringError):
        keyring.tenant(name)
    assert list((tmp_path / "keys").iterdir()) == []


def test_nothing_that_is_shown_holds_a_secret(folder: Path) -> None:
    keyring = Keyring.open(folder)
    keys = keyring.tenant("a")
    shown = f"{keyring!r} {keyring} {keys!r} {keys} {keys.question!r} {keys.question}"
    for key in (keys.question, keys.reference, keys.payload):
        assert key.secret.hex() not in shown
        assert repr(key.secret) not in shown
        assert key.id in shown


def test_a_key_id_is_no_part_of_the_key() -> None:
    key = Key(bytes(32))
    assert len(key.id) == 12
    assert key.id not in key.secret.hex()
    assert key.id not in key.mac(b"").hex()


FIRST_USE = """
import sys
from pathlib import Path
from elicitation_receipts.schemas.keys import Keyring
input()
keyring = Keyring.open(Path(sys.argv[1]))
keys = keyring.tenant("a")
print(keys.question.id, keys.reference.id, keys.payload.id, keyring.lander().id)
"""


def test_processes_that_start_at_once_agree(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", FIRST_USE, str(tmp_path / "keys")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    seen = {process.communicate(timeout=60)[0] for process in processes}
    assert len(seen) == 1
    assert [process.returncode for process in processes] == [0] * 6
    assert seen == {" ".join(key.id for key in use(tmp_path / "keys")) + "\n"}


# Rotation and destruction


def states(folder: Path, tenant: str = "a") -> list[str]:
    entries = Keyring.open(folder, create=False).entries(tenant)
    return [f"{one.purpose} {one.number} {one.state}" for one in entries]


def test_rotation_changes_the_payload_key_only(folder: Path) -> None:
    before = Keyring.open(folder).tenant("a")
    keyring = Keyring.open(folder)
    old, new = keyring.rotate("a")
    assert old == before.payload != new
    assert keyring.tenant("a") == Keyring.open(folder, create=False).tenant("a")
    after = keyring.tenant("a")
    assert (after.question, after.reference) == (before.question, before.reference)
    assert (after.payload, after.epoch) == (new, before.epoch + 1)
    assert keyring.payload_keys("a") == {old.id: old, new.id: new}
    assert states(folder) == [
        "payload 1 earlier",
        "payload 2 current",
        "question 1 current",
        "reference 1 current",
    ]


def test_a_destroyed_key_cannot_be_had_again(folder: Path) -> None:
    gone = Keyring.open(folder).tenant("a")
    files = {path: path.read_bytes() for path in folder.rglob("*.key")}
    Keyring.open(folder).destroy("a")
    assert states(folder) == [
        "payload 1 destroyed",
        "question 1 destroyed",
        "reference 1 destroyed",
    ]
    assert Keyring.open(folder).payload_keys("a") == {}
    left = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    for path, secret in files.items():
        assert path.exists() == ("tenants" not in path.parts)
        assert (secret.strip() in left) == path.exists()
    # What comes next is digested with keys of its own, under the next numbers.
    new = Keyring.open(folder).tenant("a")
    assert new.epoch == 2
    assert {gone.question, gone.reference, gone.payload}.isdisjoint(
        {new.question, new.reference, new.payload}
    )
    assert states(folder)[:2] == ["payload 1 destroyed", "payload 2 current"]


def test_one_epoch_can_be_destroyed(folder: Path) -> None:
    keyring = Keyring.open(folder)
    _, new = keyring.rotate("a")
    keyring.destroy("a", 1)
    assert keyring.payload_keys("a") == {new.id: new}
    assert Keyring.open(folder).tenant("a").payload == new
    assert states(folder)[0] == "payload 1 destroyed"
    with pytest.raises(KeyringError) as caught:
        keyring.destroy("a", 3)
    assert caught.value.reason == "key_unknown"


def test_tenants_are_destroyed_apart(folder: Path) -> None:
    other = Keyring.open(folder).tenant("b")
    Keyring.open(folder).destroy("a")
    assert Keyring.open(folder, create=False).tenant("b") == other


def test_a_draft_that_a_crash_left_is_destroyed_too(folder: Path) -> None:
    secret = folder / "tenants/a/epoch-0001.key"
    (secret.parent / ".epoch-0001.key.0123456789abcdef").hardlink_to(secret)
    Keyring.open(folder).destroy("a", 1)
    assert sorted(path.name for path in secret.parent.iterdir()) == [
        "epoch-0001.destroyed",
        "epoch-0001.id",
        "tenant-0001.id",
        "tenant-0001.key",
    ]


def test_a_destruction_that_a_crash_interrupted_is_missed_and_can_be_finished(
    folder: Path,
) -> None:
    (folder / "tenants/a/epoch-0001.key").unlink()  # as it is before the mark is made
    assert refusal(folder, create=True) == "key_missing"
    assert states(folder)[0] == "payload 1 missing"
    Keyring.open(folder).destroy("a", 1)
    assert states(folder)[0] == "payload 1 destroyed"
