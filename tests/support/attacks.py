"""Attacks on evidence: what somebody with some of the files might try, and what it must be called.

Each is made on a copy of a :class:`Scene`. ``asked``: options of `receipts verify`; without any
it runs with its defaults. ``classes``: exactly the classes that are found.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final

from scene import Scene

from elicitation_receipts.evidence.archive import content_of, read_index, write_archive
from elicitation_receipts.evidence.dump import LENGTH
from elicitation_receipts.evidence.manifest import Manifest
from elicitation_receipts.evidence.note import Note
from elicitation_receipts.evidence.registry import Registry
from elicitation_receipts.evidence.signing import SigningKeys
from elicitation_receipts.schemas.spool import Spool


@dataclass(frozen=True, slots=True)
class Attack:
    """``make`` tampers and returns what to verify: arguments of `receipts verify`."""

    make: Callable[[Scene], list[str]]
    classes: set[str]
    asked: tuple[str, ...] = ()


def _sql(*statements: str) -> Callable[[Scene], list[str]]:
    """An attack by statements; ``$a``, ``$b``: the two tenants' streams."""

    def make(scene: Scene) -> list[str]:
        a, b = scene.streams()
        with scene.database() as database:
            for statement in statements:
                database.execute(statement.replace("$a", f"'{a}'").replace("$b", f"'{b}'"))
        return []

    return make


def _reseal(scene: Scene) -> list[str]:
    """Change history, make the chain whole again, and sign all of it with a key of one's own."""
    with scene.database() as database:
        scene.reseal(database, scene.streams()[0], tool="harmless")
    mine = SigningKeys.open(scene.folder / "mine", create=True)
    scene.sign_as(mine, scene.evidence)
    return []


def _reseal_without_signing(scene: Scene) -> list[str]:
    with scene.database() as database:
        scene.reseal(database, scene.streams()[0], tool="harmless")
    return []


def _strip_signatures(scene: Scene) -> list[str]:
    for path in scene.evidence.rglob("*.note"):
        text, _, _ = path.read_bytes().rpartition(b"\n\n")
        path.write_bytes(text + b"\n")
    return []


def _empty_signatures(scene: Scene) -> list[str]:
    for path in scene.evidence.rglob("*.note"):
        text, _, _ = path.read_bytes().rpartition(b"\n\n")
        path.write_bytes(text + b"\n\n")
    return []


def _change_signed_text(scene: Scene) -> list[str]:
    path = scene.evidence / "registry.note"
    path.write_bytes(path.read_bytes().replace(b" default 0 ", b" another 0 "))
    return []


def _append_to_note(scene: Scene) -> list[str]:
    with (scene.evidence / "registry.note").open("ab") as file:
        file.write(b"x")
    return []


def _remake(scene: Scene, key: str, change: Callable[[dict[str, bytes]], None]) -> list[str]:
    """A bundle with other members, its manifest and keys made anew by the key of folder ``key``."""
    with scene.bundle.open("rb") as file:
        members = {name: content_of(file, each) for name, each in read_index(file).items()}
    note = Note.parse(members.pop("manifest.note"))
    manifest = Manifest.parse(note.text)
    change(members)
    digests = {name: sha256(content).hexdigest() for name, content in members.items()}
    keys = SigningKeys.open(scene.folder / key, create=True)
    streams = {
        stream: place
        for stream, place in manifest.streams.items()
        if f"receipts/{stream}.messages" in members
    }
    text = Manifest(manifest.time, streams, digests).text
    with scene.bundle.open("wb") as file:
        write_archive(file, [("manifest.note", bytes(keys.sign(text))), *members.items()])
    return [str(scene.bundle)]


def _substitute_key(scene: Scene) -> list[str]:
    """Every note of a bundle signed anew, and one's own key put in for the one that came along."""
    mine = SigningKeys.open(scene.folder / "mine", create=True)

    def change(members: dict[str, bytes]) -> None:
        members["keys/0001.vkey"] = (scene.folder / "mine/0001.vkey").read_bytes()
        for name, content in members.items():
            if name.endswith(".note"):
                members[name] = bytes(mine.sign(Note.parse(content).text))

    return _remake(scene, "mine", change)


def _substitute_key_only(scene: Scene) -> list[str]:
    SigningKeys.open(scene.folder / "mine", create=True)

    def change(members: dict[str, bytes]) -> None:
        members["keys/0001.vkey"] = (scene.folder / "mine/0001.vkey").read_bytes()

    return _remake(scene, "mine", change)


def _leave_out_of_bundle(scene: Scene) -> list[str]:
    """Take a stream's receipts out, and out of the manifest, under a key of one's own."""
    name = f"receipts/{scene.streams()[1]}.messages"
    return _remake(scene, "mine", lambda members: members.pop(name) and None)


def _edit_bundle(place: Callable[[bytes], bytes]) -> Callable[[Scene], list[str]]:
    def make(scene: Scene) -> list[str]:
        scene.bundle.write_bytes(place(scene.bundle.read_bytes()))
        return [str(scene.bundle)]

    return make


def _in_bundle(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Scene], list[str]]:
    """Other messages in a stream of a bundle, by somebody who cannot sign."""

    def make(scene: Scene) -> list[str]:
        def edit(members: dict[str, bytes]) -> None:
            name = f"receipts/{scene.streams()[0]}.messages"
            members[name] = _framed(change(_messages(members[name])))

        return _remake(scene, "home/keys/signing", edit)

    return make


def _in_dump(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Scene], list[str]]:
    """A dump of the topic, in which the first stream's messages are other ones."""

    def make(scene: Scene) -> list[str]:
        a, *_ = scene.streams()
        with Spool.open(scene.home, create=False) as spool:
            stored = spool.read(0, 1_000)
        first = [one.message for one in stored if one.stream_id == a]
        rest = [one.message for one in stored if one.stream_id != a]
        path = scene.folder / "dump"
        path.write_bytes(_framed(change(first) + rest))
        return [str(path)]

    return make


def _in_parquet(change: Callable[[bytes], bytes]) -> Callable[[Scene], list[str]]:
    """The landed rows in a Parquet file, of which the bytes are other ones."""

    def make(scene: Scene) -> list[str]:
        path = scene.folder / "receipts.parquet"
        with scene.database() as database:
            database.execute(f"COPY receipts TO '{path}' (FORMAT parquet)")
        path.write_bytes(change(path.read_bytes()))
        return [str(path)]

    return make


def _footer(content: bytes) -> bytes:
    """The end of a Parquet file, by which a reader goes: footer, its length, and the magic."""
    return content[-8 - int.from_bytes(content[-8:-4], "little") :]


def _second_member(content: bytes) -> bytes:
    """A second README in a bundle, which most programs that unpack it put over the first."""
    at = content.index(b"README.md\0")
    size = int(content[at + 124 : at + 135], 8)
    member = content[at : at + 512 + size + -size % 512]
    return content[:-1024] + member.replace(b"# Elicitation", b"# elicitation") + content[-1024:]


def _lengthen(messages: list[bytes]) -> list[bytes]:
    return [*messages[:3], messages[3] + b"\0", *messages[4:]]


def _widen_sequence(messages: list[bytes]) -> list[bytes]:
    """The sequence in two bytes where one does: the same number, read leniently."""
    message = messages[3]
    wide = message[:42] + bytes([message[42] | 0x80, 0]) + message[43:]
    return [*messages[:3], wide, *messages[4:]]


def _swap_fingerprint(messages: list[bytes]) -> list[bytes]:
    return [*messages[:3], messages[3][:2] + bytes(8) + messages[3][10:], *messages[4:]]


def _messages(content: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(content):
        [size] = LENGTH.unpack_from(content, at)
        found.append(content[at + LENGTH.size : at + LENGTH.size + size])
        at += LENGTH.size + size
    return found


def _framed(messages: list[bytes]) -> bytes:
    return b"".join(LENGTH.pack(len(each)) + each for each in messages)


def _swap_schema(scene: Scene) -> list[str]:
    """A schema whose words are exchanged: the same bytes would say something else."""

    def edit(members: dict[str, bytes]) -> None:
        name = "schemas/receipt_v1.avsc"
        members[name] = members[name].replace(b'"accepted"', b'"declined"')

    return _remake(scene, "home/keys/signing", edit)


def _swap_policy(scene: Scene) -> list[str]:
    """Another policy under the digest that receipts name."""

    def edit(members: dict[str, bytes]) -> None:
        members[f"policies/{'0' * 64}.json"] = b"{}"

    return _remake(scene, "home/keys/signing", edit)


def _roll_back(scene: Scene) -> list[str]:
    """The database and its checkpoints as they were when half was there."""
    shutil.copytree(scene.evidence, scene.folder / "seen")
    shutil.rmtree(scene.evidence)
    shutil.copytree(scene.earlier, scene.evidence)
    registry = Registry.parse(Note.parse((scene.earlier / "registry.note").read_bytes()).text)
    with scene.database() as database:
        for entry in registry.streams.values():
            database.execute(
                "DELETE FROM receipts WHERE stream_id = ? AND sequence > ?",
                [entry.stream_id, entry.last],
            )
        database.execute(
            "DELETE FROM receipts WHERE stream_id NOT IN (SELECT unnest(?))",
            [[entry.stream_id for entry in registry.streams.values()]],
        )
    return [str(scene.database_file)]


def _fork(scene: Scene) -> list[str]:
    """Another history of one stream, signed by the home's own key."""
    shutil.copytree(scene.evidence, scene.folder / "seen")
    with scene.database() as database:
        scene.reseal(database, scene.streams()[0], tool="harmless")
    scene.sign_as(SigningKeys.open(scene.home / "keys/signing"), scene.evidence)
    return [str(scene.database_file)]


def _cut_registry(scene: Scene) -> list[str]:
    """The registry of earlier put back, which does not know what came since."""
    shutil.copy(scene.earlier / "registry.note", scene.evidence / "registry.note")
    return []


def _remove_registry(scene: Scene) -> list[str]:
    (scene.evidence / "registry.note").unlink()
    return []


def _delete_everything(scene: Scene) -> list[str]:
    """Every receipt and everything that was signed about them."""
    shutil.copytree(scene.evidence, scene.folder / "seen")
    shutil.rmtree(scene.evidence)
    with scene.database() as database:
        database.execute("DELETE FROM receipts")
    return [str(scene.database_file)]


def _retired_key(scene: Scene) -> list[str]:
    """Sign with a key that has named its successor: it was stolen before it went."""
    folder = scene.home / "keys/signing"
    stolen = scene.folder / "stolen"
    shutil.copytree(folder, stolen)
    SigningKeys.open(folder).rotate(datetime.now(UTC) - timedelta(minutes=1))
    scene.run("checkpoint")
    with scene.database() as database:
        scene.reseal(database, scene.streams()[0], tool="harmless")
    rotation = (scene.evidence / "keys/0002.note").read_bytes()
    scene.sign_as(SigningKeys.open(stolen), scene.evidence)
    (scene.evidence / "keys/0002.note").write_bytes(rotation)
    return [str(scene.database_file)]


def _foreign_rotation(scene: Scene) -> list[str]:
    """A successor that nobody named: the rotation is signed by the successor itself."""
    mine = SigningKeys.open(scene.folder / "mine", create=True)
    [key] = mine.public()
    [old] = SigningKeys.open(scene.home / "keys/signing").public()
    text = f"elicitation-receipts/rotation/v1\ntime 2026-11-30T00:00:00Z\nfrom {old}\nto {key}\n"
    (scene.evidence / "keys/0002.note").write_bytes(bytes(mine.sign(text)))
    return []


_SECRET_TOOL: Final = "UPDATE receipts SET tool = 'harmless' WHERE stream_id = $a AND sequence = 1"

ATTACKS: Final[dict[str, Attack]] = {
    "change a row": Attack(_sql(_SECRET_TOOL), {"altered"}),
    "change a row and the hash beside it": Attack(
        _sql(
            _SECRET_TOOL,
            "UPDATE receipts SET leaf_hash = unhex(sha256('x'))"
            " WHERE stream_id = $a AND sequence = 1",
        ),
        {"altered", "broken_link", "root_mismatch"},
    ),
    "drop the head": Attack(
        _sql("DELETE FROM receipts WHERE stream_id = $a AND sequence < 2"), {"missing_head"}
    ),
    "drop from the middle": Attack(
        _sql("DELETE FROM receipts WHERE stream_id = $a AND sequence IN (3, 4)"), {"gap"}
    ),
    "drop the tail": Attack(
        _sql("DELETE FROM receipts WHERE stream_id = $a AND sequence > 10"), {"missing_tail"}
    ),
    "drop a stream": Attack(_sql("DELETE FROM receipts WHERE stream_id = $b"), {"missing_stream"}),
    "drop every receipt": Attack(_sql("DELETE FROM receipts"), {"missing_stream"}),
    "reorder": Attack(
        _sql(
            "UPDATE receipts SET sequence = 9 - sequence WHERE stream_id = $a"
            " AND sequence IN (4, 5)"
        ),
        {"altered", "broken_link", "root_mismatch"},
    ),
    "duplicate": Attack(
        _sql("INSERT INTO receipts SELECT * FROM receipts WHERE stream_id = $a AND sequence = 4"),
        {"duplicate"},
    ),
    "put another receipt beside one": Attack(
        _sql(
            "INSERT INTO receipts SELECT * REPLACE (unhex(sha256('x')) AS leaf_hash,"
            " 'harmless' AS tool, landed_at + INTERVAL 1 HOUR AS landed_at)"
            " FROM receipts WHERE stream_id = $a AND sequence = 4"
        ),
        {"fork"},
    ),
    "transplant to another stream": Attack(
        _sql(
            "DELETE FROM receipts WHERE stream_id = $b AND sequence = 3",
            "UPDATE receipts SET stream_id = $b, tenant = 'other' WHERE stream_id = $a"
            " AND sequence = 3",
        ),
        {"gap", "altered", "broken_link", "root_mismatch"},
    ),
    "make a tenant's receipt another's": Attack(
        _sql("UPDATE receipts SET tenant = 'other' WHERE stream_id = $a AND sequence = 3"),
        {"altered"},
    ),
    "re-seal the chain": Attack(_reseal_without_signing, {"root_mismatch"}),
    "re-seal and sign with another key": Attack(_reseal, {"unknown_key"}),
    "strip signatures": Attack(_strip_signatures, {"unsigned"}),
    "empty the signature set": Attack(_empty_signatures, {"unsigned"}),
    "change what is signed": Attack(_change_signed_text, {"bad_signature", "registry_missing"}),
    "append to a signed note": Attack(_append_to_note, {"note_malformed", "registry_missing"}),
    "substitute the key in a bundle": Attack(_substitute_key, {"unknown_key"}, ("--keys", "pins")),
    "put another key beside the notes": Attack(_substitute_key_only, {"unknown_key"}),
    "leave a stream out of a bundle": Attack(_leave_out_of_bundle, {"unknown_key"}),
    "a successor nobody named": Attack(_foreign_rotation, {"unknown_key"}),
    "sign with a key that was replaced": Attack(
        _retired_key, {"retired_key", "registry_missing"}, ("--keys", "pins")
    ),
    "append to a bundle": Attack(_edit_bundle(lambda content: content + b"x"), {"trailing_bytes"}),
    "append a block to a bundle": Attack(
        _edit_bundle(lambda content: content + bytes(512)), {"trailing_bytes"}
    ),
    "write behind a member of a bundle": Attack(
        _edit_bundle(lambda content: content[:-1025] + b"x" + content[-1024:]), {"trailing_bytes"}
    ),
    "change a member of a bundle": Attack(
        _edit_bundle(lambda content: content.replace(b"# Elicitation", b"# elicitation")),
        {"member_altered"},
    ),
    "give a member another mode": Attack(
        _edit_bundle(lambda content: content.replace(b"0000644", b"0000777", 1)), {"odd_member"}
    ),
    "cut a bundle off": Attack(_edit_bundle(lambda content: content[:-2000]), {"cut_off"}),
    "reorder in a bundle": Attack(
        _in_bundle(lambda all_: [*all_[:3], all_[4], all_[3], *all_[5:]]),
        {"gap", "out_of_order"},
    ),
    "drop the tail in a bundle": Attack(_in_bundle(lambda all_: all_[:-2]), {"missing_tail"}),
    "swap a policy in a bundle": Attack(_swap_policy, {"policy_mismatch"}),
    "swap a schema file": Attack(_swap_schema, {"schema_mismatch"}),
    "put a second member of one name into a bundle": Attack(
        _edit_bundle(_second_member), {"odd_member"}
    ),
    "append to a Parquet file": Attack(
        _in_parquet(lambda content: content + b"x"), {"trailing_bytes"}
    ),
    "append to a Parquet file, and its footer again": Attack(
        _in_parquet(lambda content: content + b"x" + _footer(content)), {"trailing_bytes"}
    ),
    "write between the columns and the footer of a Parquet file": Attack(
        _in_parquet(
            lambda content: content.removesuffix(_footer(content)) + b"x" + _footer(content)
        ),
        {"trailing_bytes"},
    ),
    "cut a Parquet file off": Attack(_in_parquet(lambda content: content[:-100]), {"cut_off"}),
    "append to a datum": Attack(
        _in_dump(_lengthen), {"trailing_bytes", "broken_link", "root_mismatch"}
    ),
    "a number in more bytes than it needs": Attack(
        _in_dump(_widen_sequence), {"non_canonical_encoding", "broken_link", "root_mismatch"}
    ),
    "swap a schema's fingerprint": Attack(
        _in_dump(_swap_fingerprint), {"unknown_fingerprint", "broken_link", "root_mismatch"}
    ),
    "cut the registry": Attack(_cut_registry, {"registry_cut"}),
    "remove the registry": Attack(_remove_registry, {"registry_missing"}),
    "roll back, and the time is known": Attack(_roll_back, {"stale"}, ("--as-of", "now")),
    "roll back, and a later checkpoint is known": Attack(
        _roll_back, {"rolled_back", "registry_cut", "missing_stream"}, ("--against", "seen")
    ),
    "fork": Attack(_fork, {"fork"}, ("--against", "seen")),
    "delete everything": Attack(_delete_everything, {"missing_stream"}, ("--against", "seen")),
}


def options(attack: Attack, scene: Scene) -> list[str]:
    """The options of an attack, with the files of the scene."""
    stands_for = {
        "pins": str(scene.pins),
        "seen": str(scene.folder / "seen"),
        "now": (datetime.now(UTC) + timedelta(seconds=1)).isoformat(),
    }
    return [stands_for.get(word, word) for word in attack.asked]
