"""Keys from a variable or a command are the same keys, and nothing is destroyed on its word."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from elicitation_receipts.schemas.errors import KeyringError
from elicitation_receipts.schemas.keys import Keyring
from elicitation_receipts.schemas.secret_sources import (
    CommandSecrets,
    EnvironmentSecrets,
    SecretSource,
)

NAMES = ("root", "lander", "tenants/a/tenant-0001", "tenants/a/epoch-0001")

#: A secret manager: files of a folder, behind a command.
MANAGER = """
import secrets, sys
from pathlib import Path
folder, verb, *names = sys.argv[1:]
path = Path(folder, *(name.replace("/", "+") for name in names))
if verb == "list":
    print(*(one.name.replace("+", "/") for one in path.iterdir()), sep="\\n")
elif verb == "get":
    print(path.read_text())
elif verb == "make":
    path.exists() or path.write_text(secrets.token_hex(32))
elif verb == "destroy":
    {destroy}
"""


def command(tmp_path: Path, destroy: str = 'path.unlink(); print("destroyed")') -> CommandSecrets:
    program, folder = tmp_path / "manager.py", tmp_path / "managed"
    program.write_text(MANAGER.format(destroy=destroy))
    folder.mkdir(exist_ok=True)
    return CommandSecrets(f"{sys.executable} {program} {folder}")


def text(**digits: str) -> str:
    return "\n".join(f"{name}={digits.get(name, 64 * 'a')}" for name in NAMES)


def open_(tmp_path: Path, source: SecretSource, create: bool = True) -> Keyring:
    return Keyring.open(tmp_path / "keys", create, source)


def reason(action: object, *arguments: object) -> str:
    with pytest.raises(KeyringError) as caught:
        action(*arguments)  # type: ignore[operator]
    assert 60 * "a" not in str(caught.value)
    return caught.value.reason


def test_the_same_secrets_give_the_same_keys_wherever_they_are_kept(tmp_path: Path) -> None:
    from_files = Keyring.open(tmp_path / "files")
    keys = from_files.tenant("a")
    digits = {
        path.relative_to(tmp_path / "files").as_posix().removesuffix(".key"): path.read_text()
        for path in (tmp_path / "files").rglob("*.key")
    }
    variable = " ".join(f"{name}={secret.strip()}" for name, secret in digits.items())
    assert open_(tmp_path, EnvironmentSecrets(variable, "KEYS")).tenant("a") == keys
    assert not list((tmp_path / "keys").rglob("*.key")), "nothing of them is kept"
    source = command(tmp_path)
    for name, secret in digits.items():
        (tmp_path / "managed" / name.replace("/", "+")).write_text(secret)
    assert open_(tmp_path, source).tenant("a") == keys


def test_a_variable_makes_and_destroys_nothing(tmp_path: Path) -> None:
    keyring = open_(tmp_path, EnvironmentSecrets(text(), "KEYS"))
    keys = keyring.tenant("a")
    assert reason(keyring.rotate, "a") == "key_unwritable"
    assert reason(keyring.tenant, "b") == "key_unwritable"
    assert reason(keyring.destroy, "a") == "key_kept"
    assert open_(tmp_path, EnvironmentSecrets(text(), "KEYS")).tenant("a") == keys
    more = text() + "\ntenants/a/epoch-0002=" + 64 * "b"
    assert open_(tmp_path, EnvironmentSecrets(more, "KEYS")).tenant("a").epoch == 2


@pytest.mark.parametrize(
    "broken", ["root", "root=", "root=" + 63 * "a", "root=" + 65 * "a", "=" + 64 * "a", 64 * "a"]
)
def test_a_variable_that_holds_no_keys_is_named(broken: str) -> None:
    assert reason(EnvironmentSecrets, text() + "\n" + broken, "KEYS") == "key_unreadable"


def test_a_secret_that_leaves_the_variable_is_missed(tmp_path: Path) -> None:
    open_(tmp_path, EnvironmentSecrets(text(), "KEYS")).tenant("a")
    for name in NAMES:
        rest = "\n".join(line for line in text().splitlines() if not line.startswith(name))
        keyring = open_(tmp_path, EnvironmentSecrets(rest, "KEYS"), create=False)
        found = reason(keyring.lander) if name == "lander" else reason(keyring.tenant, "a")
        assert found == "key_missing"
    other = EnvironmentSecrets(text(root=64 * "b"), "KEYS")
    assert reason(open_(tmp_path, other).tenant, "a") == "key_wrong"


def test_a_command_makes_rotates_and_destroys(tmp_path: Path) -> None:
    keyring = open_(tmp_path, command(tmp_path))
    old, new = keyring.rotate("a")
    assert set(keyring.payload_keys("a")) == {old.id, new.id}
    keyring.destroy("a", 1)
    assert open_(tmp_path, command(tmp_path)).payload_keys("a") == {new.id: new}
    assert not (tmp_path / "managed/tenants+a+epoch-0001").exists()


@pytest.mark.parametrize(
    "destroy", ["pass", 'print("destroyed")', "path.unlink()", 'print("deleted"); path.unlink()']
)
def test_a_key_counts_on_unless_its_destruction_is_confirmed(tmp_path: Path, destroy: str) -> None:
    keyring = open_(tmp_path, command(tmp_path, destroy))
    key = keyring.tenant("a").payload
    assert reason(keyring.destroy, "a", 1) == "key_kept"
    [entry] = [one for one in keyring.entries("a") if one.key_id == key.id]
    assert entry.state != "destroyed"


@pytest.mark.parametrize(
    "line", ["", "'", "/no/such/program", "false", f"{sys.executable} -c 'import os; os.abort()'"]
)
def test_a_command_that_fails_is_named(tmp_path: Path, line: str) -> None:
    assert (
        reason(lambda: open_(tmp_path, CommandSecrets(line)).tenant("a")) == "keys_command_failed"
    )


def test_what_a_command_gives_must_be_a_secret(tmp_path: Path) -> None:
    source = command(tmp_path)
    for broken in ("", 63 * "a", 65 * "a", "not a secret"):
        (tmp_path / "managed" / "root").write_text(broken)
        assert reason(open_(tmp_path, source).tenant, "a") == "key_unreadable"
