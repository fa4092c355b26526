"""Signing: what a checkpointer signs, goes on from, and refuses; and how keys follow each other."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from topic import read_topic

from elicitation_receipts.evidence.checkpointer import sign_checkpoints
from elicitation_receipts.evidence.history import Extent
from elicitation_receipts.evidence.note import Note, SignatureFault, VerifierKey
from elicitation_receipts.evidence.registry import Registry
from elicitation_receipts.evidence.seal import Seal
from elicitation_receipts.evidence.signing import Rotation, SigningKeys
from elicitation_receipts.evidence.store import read_folder, seal_file, write_folder
from elicitation_receipts.evidence.tree import Frontier, subtrees
from elicitation_receipts.evidence.vantage import vantages
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.errors import EvidenceError, KeyringError, UsageError
from elicitation_receipts.schemas.kafka import KafkaSettings

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
STREAM = uuid4()


class Memory:
    """Leaves of one stream; ``None``: dropped."""

    def __init__(self, leaves: Sequence[bytes | None], stream_id: UUID = STREAM) -> None:
        self._leaves = leaves
        self._stream_id = stream_id

    def extents(self) -> Sequence[Extent]:
        return [Extent(self._stream_id, "default", len(self._leaves))]

    def leaves(self, stream_id: UUID, first: int) -> Iterator[bytes]:
        for leaf in self._leaves[first:] if stream_id == self._stream_id else ():
            if leaf is None:
                return
            yield leaf


LEAVES: list[bytes | None] = [leaf_hash(bytes([number])) for number in range(20)]


@pytest.fixture
def keys(tmp_path: Path) -> SigningKeys:
    return SigningKeys.open(tmp_path / "keys" / "signing", create=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "evidence"


def root_of(leaves: Sequence[bytes | None]) -> bytes:
    tree = Frontier()
    for leaf in leaves:
        assert leaf is not None
        tree.append(leaf)
    return tree.root()


def test_each_time_it_goes_on_and_the_registry_says_when(keys: SigningKeys, folder: Path) -> None:
    for count in (3, 7, 7, 20):
        now = NOW + timedelta(minutes=count)
        signed = sign_checkpoints(folder, keys, [Memory(LEAVES[:count])], now)
        note = Note.parse((folder / "registry.note").read_bytes())
        assert note.signer(keys.public())
        registry = Registry.parse(note.text)
        assert registry == signed.registry
        assert registry.time == now
        assert registry.streams[STREAM].root == root_of(LEAVES[:count])
    sizes = [each.content.size for each in read_folder(folder).checkpoints]
    assert sizes == [3, 7, 20]


def test_without_its_frontier_it_reads_anew_and_must_find_the_same(
    keys: SigningKeys, folder: Path
) -> None:
    sign_checkpoints(folder, keys, [Memory(LEAVES[:7])], NOW)
    [frontier] = (folder / "frontiers").iterdir()
    frontier.unlink()
    signed = sign_checkpoints(folder, keys, [Memory(LEAVES)], NOW)
    assert signed.registry.streams[STREAM].root == root_of(LEAVES)
    frontier.write_text("of another tree")
    other = [leaf_hash(b"other"), *LEAVES[1:]]
    with pytest.raises(EvidenceError, match="stream_changed"):
        sign_checkpoints(folder, keys, [Memory(other)], NOW)


def test_what_is_behind_what_was_signed_is_not_signed(keys: SigningKeys, folder: Path) -> None:
    sign_checkpoints(folder, keys, [Memory(LEAVES)], NOW)
    before = (folder / "registry.note").read_bytes()
    with pytest.raises(EvidenceError, match="stream_behind"):
        sign_checkpoints(folder, keys, [Memory(LEAVES[:19])], NOW)
    assert (folder / "registry.note").read_bytes() == before


def test_a_stream_is_read_where_it_reaches_furthest(keys: SigningKeys, folder: Path) -> None:
    trimmed = Memory([None] * 10 + LEAVES[10:])
    lagging = Memory(LEAVES[:15])
    signed = sign_checkpoints(folder, keys, [trimmed, lagging], NOW)
    assert signed.registry.streams[STREAM].last == 14
    signed = sign_checkpoints(folder, keys, [trimmed, lagging], NOW)
    assert signed.registry.streams[STREAM].root == root_of(LEAVES)


def test_sealed_segments_stand_for_what_was_dropped(keys: SigningKeys, folder: Path) -> None:
    sign_checkpoints(folder, keys, [Memory(LEAVES)], NOW)
    nodes = subtrees(0, 6, [each for each in LEAVES[:6] if each])
    assert LEAVES[5] is not None
    seal = Seal(STREAM, 0, 5, LEAVES[5], tuple(nodes), None, NOW)
    assert Seal.parse(seal.text) == seal
    write_folder(folder, {seal_file(seal): bytes(keys.sign(seal.text))})
    for frontier in (folder / "frontiers").iterdir():
        frontier.unlink()
    dropped = Memory([None] * 6 + LEAVES[6:] + [leaf_hash(b"new")])
    signed = sign_checkpoints(folder, keys, [dropped], NOW)
    assert signed.registry.streams[STREAM].root == root_of([*LEAVES, leaf_hash(b"new")])


def test_a_registry_of_somebody_else_is_not_gone_on_from(
    keys: SigningKeys, folder: Path, tmp_path: Path
) -> None:
    sign_checkpoints(folder, keys, [Memory(LEAVES)], NOW)
    others = SigningKeys.open(tmp_path / "others", create=True)
    with pytest.raises(EvidenceError, match="registry_not_ours"):
        sign_checkpoints(folder, others, [Memory(LEAVES)], NOW)


class TestKeys:
    def test_files_are_the_owners_alone(self, keys: SigningKeys, tmp_path: Path) -> None:
        folder = tmp_path / "keys" / "signing"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
        (folder / "0001.key").chmod(0o640)
        with pytest.raises(KeyringError, match="key_unreadable"):
            keys.sign("text\n")

    def test_the_old_key_names_the_new_one_and_goes(
        self, keys: SigningKeys, tmp_path: Path
    ) -> None:
        [old] = keys.public()
        rotation = keys.rotate(NOW)
        assert keys.public() == [old, rotation.new]
        [note] = keys.rotations()
        assert note.signer([old]) == old
        assert Rotation.parse(note.text) == rotation
        assert keys.sign("text\n").signer(keys.public()) == rotation.new
        assert not (tmp_path / "keys" / "signing" / "0001.key").exists()

    def test_no_key_is_a_named_error(self, tmp_path: Path) -> None:
        with pytest.raises(KeyringError, match="signing_key_missing"):
            SigningKeys.open(tmp_path / "nothing").sign("text\n")

    def test_a_damaged_key_is_a_named_error(self, keys: SigningKeys, tmp_path: Path) -> None:
        (tmp_path / "keys" / "signing" / "0001.key").write_text("short\n")
        with pytest.raises(KeyringError, match="key_unreadable"):
            keys.sign("text\n")


class TestNotes:
    def test_what_was_signed_is_read_back(self, keys: SigningKeys) -> None:
        note = keys.sign("origin\n7\n\nmore\n")
        assert Note.parse(bytes(note)) == note
        [key] = keys.public()
        assert VerifierKey.parse(str(key)) == key

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"text\n", "note_unsigned"),
            (b"text\n\n", "note_unsigned"),
            (b"text\n\nno signature\n", "note_malformed"),
            (b"te\x07xt\n\n\xe2\x80\x94 name AAAAAAAA\n", "note_malformed"),
            (b"text\n\n\xe2\x80\x94 name AAAAAAAA\nmore", "note_malformed"),
            (b"\xff\n\n\xe2\x80\x94 name AAAAAAAA\n", "note_malformed"),
        ],
    )
    def test_what_is_no_note_is_named(self, content: bytes, reason: str) -> None:
        with pytest.raises(EvidenceError, match=reason):
            Note.parse(content)

    def test_a_signature_by_nobody_known_counts_for_nothing(
        self, keys: SigningKeys, tmp_path: Path
    ) -> None:
        note = keys.sign("text\n")
        others = SigningKeys.open(tmp_path / "others", create=True)
        with pytest.raises(SignatureFault, match="unknown_key"):
            note.signer(others.public())
        with pytest.raises(SignatureFault, match="bad_signature"):
            Note("another text\n", note.signatures).signer(keys.public())


class TestVantages:
    def test_a_directory_keeps_every_registry(
        self, keys: SigningKeys, folder: Path, tmp_path: Path
    ) -> None:
        place = tmp_path / "place"
        place.mkdir()
        [vantage] = vantages(str(place), None)
        for minutes in (0, 1):
            now = NOW + timedelta(minutes=minutes)
            signed = sign_checkpoints(folder, keys, [Memory(LEAVES)], now)
            vantage.put(signed.files, now)
        evidence = read_folder(place)
        assert len(evidence.registries) == 2
        assert [each.content.size for each in evidence.checkpoints] == [20]

    def test_a_repository_keeps_them_in_its_history(
        self, keys: SigningKeys, folder: Path, tmp_path: Path
    ) -> None:
        place = tmp_path / "place"
        subprocess.run(["git", "init", "-q", place], check=True)
        [vantage] = vantages(f"git:{place}", None)
        for count in (7, 20):
            now = NOW + timedelta(minutes=count)
            signed = sign_checkpoints(folder, keys, [Memory(LEAVES[:count])], now)
            vantage.put(signed.files, now)
        log = subprocess.run(
            ["git", "-C", place, "log", "--format=%s", "--", "registry.note"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert log.stdout.splitlines() == [
            "Checkpoint of 2026-11-30T12:20:00Z",
            "Checkpoint of 2026-11-30T12:07:00Z",
        ]

    @pytest.mark.kafka
    def test_a_topic_gets_each_note_under_its_name(self, kafka: str, topic: str) -> None:
        [vantage] = vantages(f"kafka:{topic}", KafkaSettings(kafka, "receipts"))
        vantage.put({"registry.note": b"a note", "keys/0001.vkey": b"a key"}, NOW)
        written = {each.key: each.value for each in read_topic(kafka, topic)}
        assert written == {b"registry.note": b"a note", b"keys/0001.vkey": b"a key"}

    def test_a_place_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        for place in (str(tmp_path / "nothing"), f"git:{tmp_path}"):
            [vantage] = vantages(place, None)
            with pytest.raises(EvidenceError, match="vantage_unwritable"):
                vantage.put({"registry.note": b"x"}, NOW)
        with pytest.raises(UsageError, match="vantage_unknown"):
            vantages("kafka:checkpoints", None)
