"""Loading a policy file: what it inherits, and how each mistake in it is named."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elicitation_receipts.producers.policy import BUILT_IN, load
from elicitation_receipts.producers.policy.tree import MAX_BYTES, read_tree
from elicitation_receipts.producers.policy.words import (
    DataClass,
    Effect,
    Enforcement,
    FieldNames,
    Match,
    RequiredText,
)
from elicitation_receipts.schemas.errors import PolicyError
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import (
    FindingName,
    Gate,
    Mode,
    Outcome,
    Proof,
    Severity,
)

HEAD = 'id: acme\nversion: "3"\neffective: 2026-11-01\n'

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "policy.yaml", head: str = HEAD) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(head + text, encoding="utf-8")
        return path

    return write


def refused(path: Path) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        load(path)
    return caught.value


# --- what a file says -----------------------------------------------------------------


def test_three_lines_are_a_policy(write: Write) -> None:
    policy = load(write(""))
    assert (policy.id, policy.version, policy.effective.isoformat()) == ("acme", "3", "2026-11-01")
    own = {"id", "version", "effective"}
    for field in fields(policy):
        if field.name not in own:
            assert getattr(policy, field.name) == getattr(BUILT_IN, field.name)


def test_a_policy_in_json_is_the_same_policy(write: Write) -> None:
    yaml = load(write("form: {max_fields: 3}\n"))
    text = json.dumps(
        {"id": "acme", "version": "3", "effective": "2026-11-01", "form": {"max_fields": 3}},
        indent="\t",
    )
    assert load(write(text, "policy.json", head="")) == yaml


def test_what_is_not_said_of_a_mapping_is_inherited(write: Write) -> None:
    policy = load(write("form:\n  max_fields: 3\n"))
    assert policy.form.max_fields == 3
    assert policy.form.max_options == BUILT_IN.form.max_options


def test_a_list_takes_the_place_of_the_inherited_one(write: Write) -> None:
    policy = load(write("prohibited_classes: [health]\n"))
    assert policy.prohibited_classes == (DataClass.HEALTH,)


def test_null_takes_the_place_of_an_inherited_number(write: Write) -> None:
    write("ttl: {url_s: 60}\ndefaults: {purpose: support}\n", "base.yaml")
    policy = load(write("extends: base.yaml\nttl: {url_s: null}\ndefaults: {purpose: null}\n"))
    assert (policy.ttl.url_s, policy.defaults.purpose) == (None, None)


def test_operations_are_filled_up_from_the_defaults_that_hold_in_the_end(write: Write) -> None:
    write("defaults: {purpose: base}\noperations: [{tool: deploy}]\n", "base.yaml")
    policy = load(write("extends: base.yaml\ndefaults: {purpose: own, notice: n1}\n"))
    rules = policy.rules_for("tools/call", "deploy")
    assert (rules.purpose, rules.notice) == ("own", "n1")


def test_the_nearest_pattern_counts_before_those_of_the_extended_policy(write: Write) -> None:
    write("operations: [{tool: '*', purpose: base}]\n", "base.yaml")
    policy = load(write("extends: base.yaml\noperations: [{tool: deploy, purpose: own}]\n"))
    assert policy.rules_for("tools/call", "deploy").purpose == "own"
    assert policy.rules_for("tools/call", "other").purpose == "base"


def test_what_is_extended_is_seen_from_the_files_own_folder(write: Write) -> None:
    write("form: {max_fields: 4}\n", "shared/base.yaml")
    write("extends: base.yaml\n", "shared/middle.yaml")
    assert load(write("extends: shared/middle.yaml\n")).form.max_fields == 4


def test_the_digest_is_that_of_the_whole_policy_not_of_the_file(write: Write) -> None:
    write("form: {max_fields: 4}\n", "base.yaml")
    extending = load(write("# a remark\nextends: base.yaml\n", "a.yaml"))
    assert extending.digest == load(write("form:\n    max_fields: 4\n", "b.yaml")).digest
    assert extending.digest != load(write("form: {max_fields: 5}\n", "c.yaml")).digest


def test_yes_and_no_are_words(write: Write) -> None:
    policy = load(write("operations: [{tool: no}, {tool: 'on', purpose: off}]\n"))
    assert [one.tool for one in policy.operations] == ["no", "on"]
    assert policy.operations[1].purpose == "off"


# --- mistakes in it -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason", "line", "at", "says"),
    [
        ("enforcment: enforce", "policy_unknown_key", 4, "enforcment", "mean enforcement?"),
        ("url:\n  not_http: warn", "policy_unknown_key", 5, "url.not_http", "mean not_https?"),
        ("findings:\n  secret_feld: {effect: warn}", "policy_unknown_key", 5, None, "secret_field"),
        ("receipt_fields: {completd: []}", "policy_unknown_key", 4, None, "mean completed?"),
        ("enforcement: enforced", "policy_unknown_word", 4, "enforcement", "mean enforce?"),
        ("url:\n\n  punycode: blok", "policy_unknown_word", 6, "url.punycode", "mean block?"),
        ("prohibited_classes: [pasword]", "policy_unknown_word", 4, None, "mean password?"),
        (
            "operations:\n  - tool: x\n    modes: [frm]",
            "policy_unknown_word",
            6,
            "operations[0].modes[0]",
            "mean form?",
        ),
        ("receipt_fields: {accepted: [acton]}", "policy_unknown_word", 4, None, "mean action?"),
        ("form: {max_fields: many}", "policy_invalid", 4, "form.max_fields", "whole number"),
        ("form: {max_fields: -1}", "policy_invalid", 4, None, "0 or more"),
        ("form: {max_fields: true}", "policy_invalid", 4, None, "whole number"),
        ("form: 3", "policy_invalid", 4, "form", "a mapping"),
        ("thresholds: {reask_loop_round: 1}", "policy_invalid", 4, None, "2 or more"),
        ("ttl: {url_s: 0}", "policy_invalid", 4, None, "1 or more"),
        ("ttl: {url_s: 2000000000}", "policy_invalid", 4, None, "more than 1000000000"),
        ("prohibited_classes: [pin, pin]", "policy_invalid", 4, None, "listed twice"),
        ("operations: [{purpose: x}]", "policy_invalid", 4, None, "exactly one of tool"),
        ("operations: [{tool: x, prompt: y}]", "policy_invalid", 4, None, "exactly one of tool"),
        ("defaults: {purpose: 'to choose'}", "policy_invalid", 4, "defaults.purpose", "a name"),
        ("findings: {secret_field: {}}", "policy_invalid", 4, None, "at least 1"),
        ("- a list", "policy_syntax", None, None, "neither YAML nor JSON"),
        ("form: {max_fields: 3", "policy_syntax", None, None, "neither YAML nor JSON"),
        ("form: {}\nform: {}", "policy_duplicate_key", 5, None, "twice"),
        ("form: &f {}\nurl: *f", "policy_alias", 4, None, "repeat it"),
        ("form: !!python/object:os.system {}", "policy_syntax", 4, None, "tags"),
        ("---\nid: two", "policy_syntax", 4, None, "one file, one policy"),
        ("? [a]\n: b", "policy_syntax", 4, None, "a key must be a word"),
        (
            "operations: [{tool: '(', match: regex}]",
            "policy_regex_invalid",
            4,
            "operations[0].tool",
            "RE2",
        ),
        (
            "operations:\n - tool: '(?=x)y'\n   match: regex",
            "policy_regex_invalid",
            5,
            None,
            "look-around",
        ),
        (r"operations: [{tool: '(a)\1', match: regex}]", "policy_regex_invalid", 4, None, "RE2"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_path(
    write: Write, text: str, reason: str, line: int | None, at: str | None, says: str
) -> None:
    error = refused(write(text + "\n"))
    assert error.reason == reason
    assert "policy.yaml" in str(error)
    if line is not None:
        assert f"line {line}" in str(error)
    if at is not None:
        assert f"at {at}:" in str(error)
    assert says in str(error)


@pytest.mark.parametrize("missing", ["id", "version", "effective"])
def test_what_every_file_must_say_itself(write: Write, missing: str) -> None:
    write("", "base.yaml")
    head = "".join(line for line in HEAD.splitlines(True) if not line.startswith(missing))
    error = refused(write("extends: base.yaml\n", head=head))
    assert (error.reason, f"{missing} is missing" in str(error)) == ("policy_missing_key", True)


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ('id: "two words"\nversion: "1"\neffective: 2026-11-01\n', "a name"),
        ('id: a123456\nversion: "1"\neffective: 2026-11-01\n', "six digits"),
        ("id: a\nversion: 1\neffective: 2026-11-01\n", "a number goes in quotes"),
        ('id: a\nversion: "2026-11-01"\neffective: 2026-11-01\n', "a version such as"),
        ('id: a\nversion: "1"\neffective: 2026-13-01\n', "a day such as"),
        ('id: a\nversion: "1"\neffective: soon\n', "a day such as"),
    ],
)
def test_id_version_and_day_are_such_as_may_stand_in_a_receipt(
    write: Write, head: str, says: str
) -> None:
    error = refused(write("", head=head))
    assert error.reason == "policy_invalid"
    assert says in str(error)


ORIGINS = [
    "https://id.example/",
    "https://id.example/start",
    "https://ID.example",
    "https://id.example:443",
    "http://id.example:80",
    "https://user@id.example",
    "https://id.example?x",
    "https://*.example",
    "id.example",
    "ftp://id.example",
    "javascript:alert(1)",
    "https://",
    "https://bücher.example",
    "https://id.example\u200b",
    "https://id\u202eelpmaxe.example",
    "https://id.example:99999",
    "",
    "*",
    "https:",
    "other:",
]


@pytest.mark.parametrize("entry", ORIGINS)
def test_an_allowed_origin_that_is_none_is_refused(write: Write, entry: str) -> None:
    error = refused(write(f"url: {{allowed_origins: {json.dumps([entry])}}}\n"))
    assert error.reason == "policy_origin_invalid"
    assert "line 4, at url.allowed_origins[0]" in str(error)


@pytest.mark.parametrize(
    "entry",
    ["https://id.example", "https://id.example:8443", "https://xn--bcher-kva.example"],
)
def test_an_origin_is_scheme_host_and_port(write: Write, entry: str) -> None:
    policy = load(write(f"url: {{allowed_origins: ['{entry}']}}\n"))
    assert policy.url.allowed_origins == (entry,)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("url: {allowed_origins: ['http://id.example']}", "url.allowed_origins[0]"),
        (
            "url: {allowed_origins: ['https://a.ru', 'https://xn--a-ecp.ru'], punycode: block}",
            "url.allowed_origins[1]",
        ),
        ("url: {allowed_origins: ['https://10.0.0.1'], ip_literal: block}", None),
        ("url: {allowed_origins: ['https://[::1]:8443'], ip_literal: block}", None),
        ("findings: {url_punycode: {effect: block}}", "findings.url_punycode.effect"),
        ("findings: {unanswered: {effect: block}}", "findings.unanswered.effect"),
        (
            "operations: [{tool: pay, modes: [form], data_classes: [payment_card]}]",
            "operations[0].data_classes",
        ),
        (
            "operations: [{tool: pay, modes: [form], required_proof: status_check}]",
            "operations[0].required_proof",
        ),
    ],
)
def test_rules_that_cannot_both_hold_are_refused(write: Write, text: str, at: str | None) -> None:
    error = refused(write(text + "\n"))
    assert error.reason == "policy_contradictory"
    assert "line 4, at" in str(error)
    assert at is None or f"at {at}:" in str(error)


def test_a_contradiction_with_an_extended_policy_is_told_where_it_arises(write: Write) -> None:
    write("url: {allowed_origins: ['https://10.0.0.1']}\n", "base.yaml")
    error = refused(write("extends: base.yaml\nurl: {ip_literal: block}\n"))
    assert error.reason == "policy_contradictory"
    assert "base.yaml, line 4, at url.allowed_origins[0]" in str(error)


@pytest.mark.parametrize("chain", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_policies_that_extend_each_other_in_a_circle(write: Write, chain: list[str]) -> None:
    for name, following in zip(chain, [*chain[1:], chain[0]], strict=True):
        path = write(f"extends: ./{following}.yaml\n", f"{name}.yaml")
    error = refused(path)
    assert error.reason == "policy_extends_cycle"
    assert "at extends" in str(error)


def test_a_circle_through_a_link_is_one(write: Write, tmp_path: Path) -> None:
    path = write("extends: other.yaml\n")
    (tmp_path / "other.yaml").symlink_to(path)
    assert refused(path).reason == "policy_extends_cycle"


def test_a_chain_without_end_is_refused(write: Write) -> None:
    for number in range(100):
        write(f"extends: {number + 1}.yaml\n", f"{number}.yaml")
    assert refused(write("extends: 0.yaml\n")).reason == "policy_extends_cycle"


@pytest.mark.parametrize("name", ["missing.yaml", ".", "a\0b"])
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    assert refused(tmp_path / name).reason == "policy_unreadable"


def test_a_missing_extended_file_is_named(write: Write) -> None:
    error = refused(write("extends: gone.yaml\n"))
    assert (error.reason, "gone.yaml" in str(error)) == ("policy_unreadable", True)


def test_size_and_depth_are_bounded(write: Write, tmp_path: Path) -> None:
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as stream:
        stream.truncate(100 << 20)  # sparse: 100 MB of nothing
    assert refused(huge).reason == "policy_too_large"
    for levels in (17, 999, 10_000):
        for opens, closes in (("[", "]"), ('{"a": ', "}")):
            deep = write(f"form: {opens * levels}{closes * levels}\n")
            assert refused(deep).reason == "policy_too_deep"


def test_a_pipe_that_never_ends_is_read_to_the_bound(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"# " + b"x" * 1000)
    os.close(writer)
    assert refused(Path(f"/dev/fd/{reader}")).reason == "policy_syntax"
    os.close(reader)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    for content in (b"\xff\xfe\x00", b"id: \x07", b"", b"# only a remark\n"):
        path = tmp_path / "policy.yaml"
        path.write_bytes(content)
        assert refused(path).reason == "policy_syntax"


def test_another_file_is_not_repeated(tmp_path: Path) -> None:
    """Somebody may name a file of secrets by mistake."""
    path = tmp_path / "credentials"
    path.write_text("password: tr0ub4dor-and-3-horses\n4f9a8c77b1e0d2c3a5f6: x\n")
    text = str(refused(path))
    assert "tr0ub4dor" not in text
    assert "4f9a8c77" not in text


@example(b"a: b: c")
@example(b"\xef\xbb\xbfid: a")
@example(b"%YAML 9.9\n--- a")
@example(b"- - - -\n  - {[}")
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused_by_name(text: bytes) -> None:
    with suppress(PolicyError):
        read_tree(text, "policy.yaml")


# --- the schema -----------------------------------------------------------------------

SCHEMA: dict[str, Any] = json.loads(
    resources.files("elicitation_receipts.schemas").joinpath("policy.schema.json").read_text()
)


def words(*path: str) -> set[Any]:
    part: Any = SCHEMA
    for step in path:
        part = part[step]
    return set(part["enum"])


def test_the_schema_knows_every_word_of_the_vocabularies() -> None:
    properties = "properties"
    finding = ("findings", "additionalProperties", properties)
    assert words(properties, "enforcement") == set(Enforcement)
    assert words(properties, "field_names") == set(FieldNames)
    assert words(properties, "form", properties, "required_text") == set(RequiredText)
    assert words(properties, "findings", "propertyNames") == set(FindingName)
    assert words(properties, *finding, "severity") == set(Severity)
    assert words(properties, *finding, "gate") == set(Gate)
    assert words(properties, "receipt_fields", "propertyNames") == {"every", *Outcome}
    assert words("$defs", "effect") == set(Effect)
    assert words("$defs", "data_classes", "items") == set(DataClass)
    assert words("$defs", "receipt_field") == {field.name for field in fields(Receipt)}
    item = (properties, "operations", "items", properties)
    assert words(*item, "match") == set(Match)
    for rules in (item, (properties, "defaults", properties)):
        assert words(*rules, "modes", "items") == set(Mode) - {Mode.UNKNOWN}
        assert words(*rules, "required_proof") == {*Proof, None}


def test_the_built_in_policy_is_valid_by_its_own_schema(tmp_path: Path) -> None:
    text = resources.files("elicitation_receipts.producers.policy").joinpath("default_policy.yaml")
    path = tmp_path / "default_policy.yaml"
    path.write_bytes(text.read_bytes())
    assert load(path) == BUILT_IN
    assert len(text.read_bytes()) < MAX_BYTES


def test_the_whole_document_of_a_policy_is_a_policy_file(write: Write) -> None:
    policy = load(write("operations: [{tool: 'a*', modes: [url]}, {prompt: b, match: regex}]\n"))
    assert load(write(policy.canonical.decode(), "kept.json", head="")) == policy
