#!/usr/bin/env python3
"""Verify an evidence bundle of elicitation receipts with nothing but this file.

    python verify.py BUNDLE [--keys FILE] [--against FILE]... [--as-of TIME] [--json]

Python 3.11 or newer, standard library only; with the package `cryptography` signatures are
checked too. No network. Exit code 0: all that was asked for holds; 1: something fails;
4: not enough to say; 3: BUNDLE cannot be read; 2: wrong usage.

This is a second implementation, on purpose: it shares no line with the program that made the
bundle. From top to bottom: archive, notes, tree, receipts, streams, verdicts. What it checks is
what README.md says. The constraints on strings in a receipt (which names are safe) are
checked by `receipts verify` alone.
"""

import argparse
import base64
import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

CHECKS = (
    "integrity",
    "order",
    "completeness",
    "authenticity",
    "freshness",
    "continuity",
    "retention holes",
)
ALWAYS = {"integrity", "order", "completeness", "retention holes"}

KeyName = tuple[str, bytes]  # a key's name and id
Keys = dict[KeyName, bytes]  # … and its 32 bytes
Note = tuple[str, list[tuple[str, bytes, bytes]]]  # text; name, key id, signature
Named = tuple[str, Note]
Finding = tuple[str, str, str | None, int | None, str | None]  # check, class, stream, sequence, …
Find = Callable[..., None]
Answers = dict[str, tuple[str, str]]  # verdict and reason, by check


class Refused(Exception):
    """The archive is not as it was made. ``kind`` is the class of the finding."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(kind)
        self.kind, self.detail = kind, detail


class Fault(Exception):
    """Bytes that are no receipt."""


# ---------------------------------------------------------------- archive: POSIX ustar, strictly


def read_archive(path: str) -> dict[str, tuple[int, int]]:
    """The archive's members, {name: (offset, size)}; Refused for anything we would not write."""
    members = {}
    with open(path, "rb") as file:
        end = file.seek(0, 2)
        at = file.seek(0)
        while (block := file.read(512)) != bytes(512):
            if len(block) < 512:
                raise Refused("cut_off")
            name = block[:100].rstrip(b"\0")
            prefix = block[345:500].rstrip(b"\0")
            if prefix:
                name = prefix + b"/" + name
            if not re.fullmatch(rb"[0-7]{11}\0", block[124:136]):
                raise Refused("odd_member")
            size = int(block[124:135], 8)
            text = name.decode("ascii", "replace")
            part = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
            if block != header(block[:100], block[345:500], size) or text in members:
                raise Refused("odd_member")
            if not re.fullmatch(rf"{part}(/{part})*", text):
                raise Refused("odd_member")
            start = at + 512
            at = start + size + -size % 512
            if at > end:
                raise Refused("cut_off")
            file.seek(start + size)
            if any(file.read(at - start - size)):
                raise Refused("trailing_bytes", text)
            members[text] = start, size
        if end != at + 1024 or file.read(512) != bytes(512):
            raise Refused("trailing_bytes")
    return members


def header(name: bytes, prefix: bytes, size: int) -> bytes:
    """The one header of a plain file: mode 644, owner 0, time 0, and its checksum."""
    before = name + b"0000644\0" + b"0000000\0" * 2 + b"%011o\0" % size + b"0" * 11 + b"\0"
    after = b"0" + bytes(100) + b"ustar\x0000" + bytes(64 + 16) + prefix + bytes(12)
    total = sum(before) + 8 * 32 + sum(after)
    return before + b"%06o\0 " % total + after


def sha256_of(path: str, start: int, size: int) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        file.seek(start)
        while size:
            page = file.read(min(size, 1 << 20))
            digest.update(page)
            size -= len(page)
    return digest.hexdigest()


# ------------------------------------------------- notes: C2SP signed-note, Ed25519 signatures

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    Ed25519PublicKey = None  # type: ignore[assignment, misc]


def unbase64(text: str, size: int) -> bytes:
    content = base64.b64decode(text, validate=True)
    if len(content) != size or base64.b64encode(content).decode() != text:
        raise ValueError
    return content


def read_keys(text: str) -> Keys:
    """{(name, id): public key} of the verifier keys in a file, one a line."""
    keys = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            name, number, encoded = line.strip().split("+", 2)
            content = unbase64(encoded, 33)
            identity = hashlib.sha256(name.encode() + b"\n" + content).digest()[:4]
            if content[:1] != b"\1" or identity.hex() != number:
                raise ValueError
            keys[name, identity] = content[1:]
    return keys


def parse_note(content: bytes) -> Note:
    """(text, [(name, key id, signature)]); Fault where it is no signed note."""
    whole = content.decode("utf-8", "surrogateescape")
    text, blank, signed = whole.rpartition("\n\n")
    if not blank or not signed:
        raise Fault("unsigned")
    if re.search(r"[\x00-\x09\x0b-\x1f\ud800-\udfff]", whole) or not signed.endswith("\n"):
        raise Fault("note_malformed")
    signatures = []
    for line in signed[:-1].split("\n"):
        match = re.fullmatch(r"— ([^\s+]+) ([A-Za-z0-9+/=]+)", line)
        try:
            signature = base64.b64decode(match[2] if match else "", validate=True)
        except ValueError:
            signature = b""
        if match is None or len(signature) <= 4:
            raise Fault("note_malformed")
        signatures.append((match[1], signature[:4], signature[4:]))
    return text + "\n", signatures


class Trust:
    """Whose signatures count: the keys given, and the successors they have named."""

    def __init__(self, keys: Keys, rotations: list[Named], find: Find) -> None:
        self.keys, self.believed, self.find = dict(keys), 0, find
        self.retired: dict[KeyName, str] = {}
        for name, note in sorted(rotations, key=lambda each: each[1][0].split("\n")[1]):
            words = dict(line.split(" ", 1) for line in note[0].splitlines()[1:])
            signer = self.signer(name, note, words["time"])
            if signer is None:
                continue
            if signer not in read_keys(words["from"]):
                find("authenticity", "rotation_invalid", detail=name)
                continue
            self.keys |= read_keys(words["to"])
            self.retired[signer] = words["time"]

    def signer(self, name: str, note: Note, time: str | None = None) -> KeyName | None:
        """The key that signed the note; None, with a finding, where it does not count."""
        text, signatures = note
        known = [each for each in signatures if each[:2] in self.keys]
        if Ed25519PublicKey is not None:
            try:
                for key_name, key_id, signature in known:
                    public = Ed25519PublicKey.from_public_bytes(self.keys[key_name, key_id])
                    public.verify(signature, text.encode())
            except (InvalidSignature, ValueError):
                self.find("authenticity", "bad_signature", detail=name)
                return None
        signer = known[0][:2] if known else None
        if signer is None:
            self.find("authenticity", "unknown_key", detail=name)
        elif time and time > self.retired.get(signer, time):
            self.find("authenticity", "retired_key", detail=name)
        else:
            self.believed += 1
            return signer
        return None


# --------------------------------------------------------------- tree: RFC 9162 section 2.1


class Tree:
    """A Merkle tree that grows at its right edge: [(height, hash)] of its whole subtrees."""

    def __init__(self, size: int = 0, peaks: Sequence[bytes] = ()) -> None:
        heights = [bit for bit in range(size.bit_length()) if size >> bit & 1][::-1]
        self.size, self.peaks = size, list(zip(heights, peaks, strict=True))

    def add(self, node: bytes, height: int = 0) -> None:
        if self.size % (1 << height):
            raise ValueError
        self.size += 1 << height
        while self.peaks and self.peaks[-1][0] == height:
            node = hashlib.sha256(b"\1" + self.peaks.pop()[1] + node).digest()
            height += 1
        self.peaks.append((height, node))

    def root(self) -> bytes:
        if not self.peaks:
            return hashlib.sha256().digest()
        root = self.peaks[-1][1]
        for _, peak in self.peaks[-2::-1]:
            root = hashlib.sha256(b"\1" + peak + root).digest()
        return root


# ------------------------------------- receipts: Avro single-object encoding, in its one form


def number_at(data: bytes, at: int) -> tuple[int, int]:
    """(value, end) of a number in its shortest form."""
    value, shift, start = 0, 0, at
    while True:
        if at >= len(data):
            raise Fault("truncated_datum")
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            break
    if byte == 0 and at - start > 1:
        raise Fault("non_canonical_encoding")
    if value & 1 or value >> 64:
        raise Fault("out_of_bounds")
    return value >> 1, at


def walk(schema: Any, data: bytes, at: int, named: dict[str, Any]) -> int:
    """The end of a datum of ``schema`` that begins at ``at``; Fault where it is none."""
    if isinstance(schema, str) and schema in named:
        schema = named[schema]
    if isinstance(schema, list):  # ["null", …] is the only union
        if at >= len(data):
            raise Fault("truncated_datum")
        if data[at] not in (0, 2):
            raise Fault("non_canonical_encoding" if data[at] > 127 else "out_of_vocabulary")
        return at + 1 if data[at] == 0 else walk(schema[1], data, at + 1, named)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind == "record":
        for field in schema["fields"]:
            at = walk(field["type"], data, at, named)
        return at
    if kind == "fixed":
        return at + int(schema["size"])
    value, end = number_at(data, at)
    if kind == "array":
        if data[at] & 1:
            raise Fault("non_canonical_encoding")
        for _ in range(value):
            end = walk(schema["items"], data, end, named)
        if value and number_at(data, end) != (0, end + 1):
            raise Fault("non_canonical_encoding")
        return end + 1 if value else end
    if kind == "enum" and value >= len(schema["symbols"]) - 1:
        raise Fault("out_of_vocabulary")
    if kind == "int" and value > 2**31 - 1:
        raise Fault("out_of_bounds")
    if kind == "string":
        if end + value > len(data):
            raise Fault("truncated_datum")
        try:
            data[end : end + value].decode()
        except UnicodeDecodeError:
            raise Fault("wrong_type") from None
        return end + value
    return end


def check_message(message: bytes, schemas: dict[bytes, Any]) -> None:
    """Fault unless the message is exactly one receipt. ``schemas``: by fingerprint."""
    if len(message) < 10 or message[:2] != b"\xc3\1":
        raise Fault("not_single_object")
    if message[2:10] not in schemas:
        raise Fault("unknown_fingerprint")
    schema, named = schemas[message[2:10]]
    end = walk(schema, message, 10, named)
    if end != len(message):
        raise Fault("truncated_datum" if end > len(message) else "trailing_bytes")


def fingerprint(schema: Any) -> bytes:
    """CRC-64-AVRO of the schema's parsing canonical form, as it stands in a message."""
    crc = 0xC15D213AA4D7A795
    for byte in canonical(schema, set()).encode():
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    return crc.to_bytes(8, "little")


def crc_entry(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (0xC15D213AA4D7A795 if value & 1 else 0)
    return value


CRC_TABLE = [crc_entry(value) for value in range(256)]


def canonical(schema: Any, names: set[str], space: str = "") -> str:
    """Avro 1.12, "Parsing Canonical Form": names in full, and nothing that does not matter."""
    if isinstance(schema, list):
        return "[" + ",".join(canonical(each, names, space) for each in schema) + "]"
    if isinstance(schema, str):
        return json.dumps(f"{space}.{schema}" if f"{space}.{schema}" in names else schema)
    kind = schema["type"]
    if kind == "array":
        return '{"type":"array","items":' + canonical(schema["items"], names, space) + "}"
    if kind not in ("record", "enum", "fixed"):
        return json.dumps(kind)
    space = schema.get("namespace", space)
    full = f"{space}.{schema['name']}"
    names.add(full)
    text = f'{{"name":{json.dumps(full)},"type":"{kind}"'
    if kind == "enum":
        return text + ',"symbols":' + json.dumps(schema["symbols"], separators=(",", ":")) + "}"
    if kind == "fixed":
        return text + f',"size":{schema["size"]}}}'
    fields = (
        f'{{"name":"{each["name"]}","type":{canonical(each["type"], names, space)}}}'
        for each in schema["fields"]
    )
    return text + ',"fields":[' + ",".join(fields) + "]}"


def names_in(schema: Any) -> dict[str, Any]:
    """Every type that the schema names, by name."""
    if isinstance(schema, list):
        return {name: each for part in schema for name, each in names_in(part).items()}
    if not isinstance(schema, dict):
        return {}
    found = {schema["name"]: schema} if schema["type"] in ("record", "enum", "fixed") else {}
    for part in (schema.get("items"), *(field["type"] for field in schema.get("fields", ()))):
        found |= names_in(part)
    return found


def head_of(message: bytes) -> tuple[bytes, int, bytes]:
    """(stream, sequence, previous hash): where a message says it belongs."""
    sequence, end = number_at(message, 42)
    if len(message) < end + 32:
        raise Fault("truncated_datum")
    return message[26:42], sequence, message[end : end + 32]


# ---------------------------------------------------------------------- streams and evidence


def uuid_text(stream: bytes) -> str:
    text = stream.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


class Evidence:
    """Notes by what they say: ``registries``, ``checkpoints``, ``seals``, ``rotations``."""

    def __init__(self, files: Iterable[tuple[str, bytes]]) -> None:
        self.registries: list[Named] = []
        self.checkpoints: list[Named] = []
        self.seals: list[Named] = []
        self.rotations: list[Named] = []
        self.keys: Keys = {}
        self.unread: list[tuple[str, str]] = []
        kinds = {
            "elicitation-receipts/registry/v1": self.registries,
            "elicitation-receipts/seal/v1": self.seals,
            "elicitation-receipts/rotation/v1": self.rotations,
        }
        for name, content in files:
            try:
                if name.endswith(".vkey"):
                    self.keys |= read_keys(content.decode())
                    continue
                note = parse_note(content)
                first = note[0].split("\n")[0]
                if first.startswith("elicitation-receipts/streams/"):
                    self.checkpoints.append((name, note))
                elif first in kinds:
                    kinds[first].append((name, note))
            except (Fault, ValueError) as error:
                kind = str(error) if isinstance(error, Fault) else "key_malformed"
                self.unread.append((name, kind))


class Expected:
    """What believed notes say: the newest registry, roots by stream and size, seals by stream."""

    def __init__(self, evidence: Evidence, trust: Trust, find: Find) -> None:
        self.find = find
        self.time: str | None = None
        self.listed: dict[str, int] = {}
        self.schemas: dict[str, str] = {}
        self.roots: dict[str, dict[int, bytes]] = {}
        self.seals: dict[str, list[dict[str, Any]]] = {}
        for name, kind in evidence.unread:
            find("authenticity", kind, detail=name)
        for name, note in sorted(evidence.registries, key=lambda each: each[1][0].split("\n")[1]):
            rows = [line.split(" ") for line in note[0].splitlines()[1:]]
            time = rows[0][1]
            if trust.signer(name, note, time):
                self.time = time
                self.schemas = {row[1]: row[2] for row in rows if row[0] == "schema"}
                self.listed = {row[1]: int(row[4]) + 1 for row in rows if row[0] == "stream"}
                for row in rows:
                    if row[0] == "stream":
                        self.expect(row[1], int(row[4]) + 1, unbase64(row[5], 32))
        for name, note in evidence.checkpoints:
            if trust.signer(name, note):
                origin, size, root = note[0].splitlines()
                self.expect(origin.rsplit("/", 1)[1], int(size), unbase64(root, 32))
        seals = [(dict_of(note[0]), name, note) for name, note in evidence.seals]
        for seal, name, note in sorted(seals, key=lambda each: each[0]["first"]):
            if trust.signer(name, note, seal["time"]):
                chain = self.seals.setdefault(seal["stream"], [])
                before = chain[-1]["digest"] if chain else "-"
                if seal["previous"] != before or (chain and seal["first"] <= chain[-1]["last"]):
                    find("retention holes", "bad_seal", seal["stream"], seal["first"])
                else:
                    chain.append(seal)

    def expect(self, stream: str, size: int, root: bytes) -> None:
        if self.roots.setdefault(stream, {}).setdefault(size, root) != root:
            self.find("continuity", "fork", stream, size - 1)


def dict_of(text: str) -> dict[str, Any]:
    """A seal's lines: numbers as numbers, ``nodes`` as [(height, hash)]."""
    rows = [line.split(" ") for line in text.splitlines()[1:]]
    seal: dict[str, Any] = {row[0]: row[1] for row in rows if row[0] != "node"}
    seal |= {"first": int(seal["first"]), "last": int(seal["last"])}
    seal["nodes"] = [(int(row[1]), unbase64(row[2], 32)) for row in rows if row[0] == "node"]
    seal["digest"] = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return seal


class Stream:
    """One stream, receipt by receipt: places, links, tree, and the roots at wanted sizes."""

    def __init__(
        self, stream: str, find: Find, sizes: set[int], seals: Iterable[Any], tree: Tree
    ) -> None:
        self.stream, self.find, self.sizes, self.seals = stream, find, sizes, list(seals)
        self.first = self.next = tree.size
        self.receipts = self.expired = 0
        self.roots: dict[int, bytes] = {}
        self.newest: bytes | None = None
        self.tree: Tree | None = tree  # None: since something is missing, no root can be told
        self.before = bytes(32) if self.first == 0 else None
        self.keep_root()

    def take(self, message: bytes, schemas: dict[bytes, Any]) -> None:
        self.receipts += 1
        leaf = hashlib.sha256(b"\0" + message).digest()
        sequence, previous = self.next, None
        try:
            stream, sequence, previous = head_of(message)
            check_message(message, schemas)
        except Fault as fault:
            self.find("integrity", str(fault), self.stream, sequence)
            stream = None
        if sequence < self.next:
            if sequence == self.next - 1 and self.newest is not None:
                kind = "duplicate" if leaf == self.newest else "fork"
            else:
                kind = "out_of_order"
            self.find("order", kind, self.stream, sequence)
            return
        self.step_over(sequence)
        if stream is not None and uuid_text(stream) != self.stream:
            self.find("order", "misplaced", self.stream, sequence)
        if None not in (previous, self.before) and previous != self.before:
            self.find("order", "broken_link", self.stream, sequence)
        self.next, self.before, self.newest = sequence + 1, leaf, leaf
        if self.tree is not None:
            self.tree.add(leaf)
            self.keep_root()

    def step_over(self, until: int | None) -> None:
        """Go on at ``until`` (None: the end), over segments that were dropped with a seal."""
        self.seals = [seal for seal in self.seals if seal["first"] >= self.next]
        while self.seals and self.seals[0]["first"] == self.next:
            seal = self.seals[0]
            if until is not None and seal["last"] >= until:
                break
            self.seals.pop(0)
            if self.tree is not None:
                for height, node in seal["nodes"]:
                    self.tree.add(node, height)
                    self.keep_root()
            self.expired += seal["last"] + 1 - seal["first"]
            self.before, self.next = unbase64(seal["last-leaf"], 32), seal["last"] + 1
        if until is not None and self.next < until:
            kind = "missing_head" if self.next == self.first else "gap"
            self.find("completeness", kind, self.stream, self.next)
            self.tree, self.before, self.next = None, None, until

    def keep_root(self) -> None:
        if self.tree is not None and self.tree.size in self.sizes:
            self.roots[self.tree.size] = self.tree.root()


# ------------------------------------------------------------------------------- the bundle


class Bundle:
    """A bundle whose every member is the one its manifest lists; Refused otherwise."""

    def __init__(self, path: str) -> None:
        self.path, self.members = path, read_archive(path)
        names = list(self.members)
        if names[:1] != ["manifest.note"]:
            raise Refused("manifest_missing")
        try:
            self.manifest = parse_note(self.read("manifest.note"))
            rows = [line.split(" ") for line in self.manifest[0].splitlines()]
            is_manifest = rows[0] == ["elicitation-receipts/bundle/v1"]
            self.time = rows[1][1]
            self.streams = [row[1] for row in rows if row[0] == "stream"]
            files = {row[2]: row[1] for row in rows if row[0] == "file"}
        except (Fault, IndexError) as error:
            unsigned = str(error) == "unsigned"
            raise Refused("unsigned" if unsigned else "manifest_malformed") from None
        if not is_manifest:
            raise Refused("manifest_malformed")
        parts = [f"receipts/{stream}.messages" for stream in self.streams]
        for name in [*files, *parts]:
            if name not in self.members or name not in files:
                raise Refused("member_missing", name)
        if names != ["manifest.note", *files]:
            raise Refused("odd_member")
        for name, digest in files.items():
            if sha256_of(path, *self.members[name]) != digest:
                raise Refused("member_altered", name)
        notes = [name for name in files if name.endswith((".note", ".vkey"))]
        self.evidence = Evidence((name, self.read(name)) for name in notes)
        self.schema_files = {
            name.split("/")[1]: self.read(name) for name in files if name.startswith("schemas/")
        }
        # A receipt names its policy by digest; so does the policy's file.
        self.policies = {
            name: files[name]
            for name in files
            if name.startswith("policies/") and name != "policies/not-kept.txt"
        }

    def read(self, name: str) -> bytes:
        start, size = self.members[name]
        with open(self.path, "rb") as file:
            file.seek(start)
            return file.read(size)

    def start(self, stream: str) -> Tree:
        """The tree before a stream's first receipt here."""
        name = f"frontiers/{stream}.frontier"
        if name not in self.members:
            return Tree()
        _, size, *peaks = (line.split(" ")[-1] for line in self.read(name).decode().splitlines())
        return Tree(int(size), [unbase64(peak, 32) for peak in peaks])

    def messages(self, stream: str) -> Iterator[bytes]:
        start, size = self.members[f"receipts/{stream}.messages"]
        with open(self.path, "rb") as file:
            file.seek(start)
            while size > 0:
                length = int.from_bytes(file.read(4), "big")
                size -= 4 + length
                if size < 0:
                    raise Refused("cut_off", stream)
                yield file.read(length)


# ------------------------------------------------------------------------------- the verdicts


def verify(
    bundle: Bundle, pins: Keys | None, against: list[Evidence], as_of: str | None
) -> tuple[Answers, list[Finding], int]:
    """(answers {check: (verdict, reason)}, findings, exit code)."""
    findings: list[Finding] = []

    def find(
        check: str,
        kind: str,
        stream: str | None = None,
        sequence: int | None = None,
        detail: str | None = None,
    ) -> None:
        findings.append((check, kind, stream, sequence, detail))

    rotations = list(bundle.evidence.rotations)
    rotations += [each for one in against for each in one.rotations if each not in rotations]
    trust = Trust(bundle.evidence.keys if pins is None else pins, rotations, find)
    ours = Expected(bundle.evidence, trust, find)
    trust.signer("manifest.note", bundle.manifest, bundle.time)
    theirs = [Expected(one, trust, find) for one in against]
    parsed = [json.loads(content) for content in bundle.schema_files.values()]
    schemas = {fingerprint(schema): (schema, names_in(schema)) for schema in parsed}

    checked = {}
    for stream in bundle.streams:
        sizes = {size for one in (ours, *theirs) for size in one.roots.get(stream, ())}
        seals = ours.seals.get(stream, ())
        checked[stream] = check = Stream(stream, find, sizes, seals, bundle.start(stream))
        for message in bundle.messages(stream):
            check.take(message, schemas)
        check.step_over(None)

    compare(bundle, ours, checked, find)
    compared = sum(compare_earlier(one, ours, checked, find) for one in theirs)
    if as_of and ours.time and ours.time < as_of:
        find("freshness", "stale", detail=ours.time)
    said = say(bundle, ours, checked, trust, pins, theirs, compared, as_of)
    wrong = {finding[0] for finding in findings}
    answers = {
        check: ("fails", "see the findings") if check in wrong else said[check] for check in CHECKS
    }
    asked = ALWAYS | ({"authenticity"} if pins is not None else set())
    asked |= ({"freshness"} if as_of else set()) | ({"continuity"} if theirs else set())
    unsure = any(answers[check][0] == "not checked" for check in asked)
    return answers, findings, 1 if wrong else 4 if unsure else 0


def compare(bundle: Bundle, ours: Expected, checked: dict[str, Stream], find: Find) -> None:
    """With the signed roots and schema files of the bundle itself."""
    if ours.roots and ours.time is None:
        find("completeness", "registry_missing")
    for stream in bundle.streams:
        roots, check = ours.roots.get(stream, {}), checked[stream]
        newest = max(roots, default=0)
        if roots and ours.time and ours.listed.get(stream, 0) < newest:
            find("completeness", "registry_cut", stream)
        if roots and check.receipts == check.expired == 0:
            find("completeness", "missing_stream", stream)
        elif check.next < newest:
            find("completeness", "missing_tail", stream, check.next)
        for size in sorted(roots):
            if check.roots.get(size, roots[size]) != roots[size]:
                find("integrity", "root_mismatch", stream, size - 1)
                break
    for name, digest in ours.schemas.items():
        content = bundle.schema_files.get(name)
        if content is None or hashlib.sha256(content).hexdigest() != digest:
            find("integrity", "schema_mismatch", detail=name)
    for name, digest in bundle.policies.items():
        if name != f"policies/{digest}.json":
            find("integrity", "policy_mismatch", detail=name)


def compare_earlier(
    earlier: Expected, ours: Expected, checked: dict[str, Stream], find: Find
) -> int:
    """With roots kept from earlier; how many could be compared."""
    compared = 0
    if earlier.time and ours.time:
        if ours.time < earlier.time:
            find("continuity", "rolled_back")
        for stream in earlier.listed.keys() - ours.listed.keys():
            find("continuity", "registry_cut", stream)
    for stream, roots in earlier.roots.items():
        check = checked.get(stream)
        if check is None:
            continue
        for size, root in roots.items():
            if check.next < size:
                find("continuity", "rolled_back", stream, check.next)
            elif size in check.roots:
                compared += 1
                if check.roots[size] != root:
                    find("continuity", "fork", stream, size - 1)
    return compared


def say(
    bundle: Bundle,
    ours: Expected,
    checked: dict[str, Stream],
    trust: Trust,
    pins: Keys | None,
    theirs: list[Expected],
    compared: int,
    as_of: str | None,
) -> Answers:
    """What each answer is where nothing is wrong."""
    receipts = sum(check.receipts for check in checked.values())
    expired = sum(check.expired for check in checked.values())
    left_out = len(ours.listed.keys() - set(bundle.streams))
    holds, not_checked = "holds", "not checked"
    nothing = (not_checked, "there is no receipt to verify")
    said = dict.fromkeys(CHECKS, nothing)
    if receipts or expired:
        roots = sum(len(check.roots) for check in checked.values())
        said["integrity"] = holds, f"{receipts} receipts, {roots} signed roots recomputed"
        said["order"] = holds, f"each receipt names the one before it, {len(checked)} streams"
        hole = f"{expired} receipts expired with seal" if expired else "no hole"
        said["retention holes"] = holds, hole
        if ours.time:
            until = f"all that was signed until {ours.time}"
            said["completeness"] = holds, f"{until}; not bundled: {left_out} streams"
    if not ours.time:
        said["completeness"] = not_checked, "no registry whose signature counts"
    if Ed25519PublicKey is None:
        said["authenticity"] = not_checked, "the package `cryptography` is not installed"
    elif not trust.believed:
        said["authenticity"] = not_checked, "nothing here is signed"
    elif pins is None:
        said["authenticity"] = not_checked, "whose keys came along, only --keys tells"
    else:
        said["authenticity"] = holds, f"{trust.believed} notes signed by pinned keys"
    newest = f"the newest signature is of {ours.time}"
    if not ours.time or not as_of:
        said["freshness"] = not_checked, f"{newest}; --as-of tells if that is late enough"
    else:
        said["freshness"] = holds, f"{newest}, not before {as_of}"
    if not theirs:
        said["continuity"] = not_checked, "only --against tells"
    elif not compared:
        said["continuity"] = not_checked, "no earlier root could be compared"
    else:
        said["continuity"] = holds, f"goes on from {compared} earlier roots"
    return said


# ---------------------------------------------------------------------------- command line


def read_earlier(path: str) -> Evidence:
    with open(path, "rb") as file:
        content = file.read(512)
        if content[257:262] == b"ustar":
            return Bundle(path).evidence
        return Evidence([(path, content + file.read())])


def read_time(text: str) -> str:
    time = datetime.fromisoformat(text)
    time = time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundle")
    parser.add_argument("--keys", help="verifier keys that count, one a line")
    parser.add_argument("--against", action="append", default=[], help="earlier note or bundle")
    parser.add_argument("--as-of", type=read_time, help="the newest signature is not older")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    try:
        pins = None
        if options.keys:
            with open(options.keys, encoding="utf-8") as file:
                pins = read_keys(file.read())
        against = [read_earlier(path) for path in options.against]
        try:
            answers, findings, code = verify(Bundle(options.bundle), pins, against, options.as_of)
        except Refused as refused:
            answers = dict.fromkeys(CHECKS, ("not checked", "the archive is not as it was made"))
            answers["integrity"] = "fails", "see the findings"
            findings, code = [("integrity", refused.kind, None, None, refused.detail)], 1
    except (OSError, ValueError) as error:
        print(f"verify.py: cannot read what was given ({type(error).__name__})", file=sys.stderr)
        return 3
    if options.json:
        names = ("check", "class", "stream", "sequence", "detail")
        document = {
            "answers": {check: list(answers[check]) for check in CHECKS},
            "findings": [dict(zip(names, finding, strict=True)) for finding in findings],
        }
        print(json.dumps(document, indent=2))
        return code
    for check in CHECKS:
        print(f"{check:16} {answers[check][0]:12} {answers[check][1]}")
        for found, kind, *where in findings:
            if found == check:
                print(f"{'':16} {kind:24}", *(each for each in where if each not in (None, "")))
    return code


if __name__ == "__main__":
    sys.exit(main())
