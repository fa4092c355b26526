"""The policy workbench: what each command answers, prints and returns."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml
from command import Ended, run_here

from elicitation_receipts.producers.policy import BUILT_IN
from elicitation_receipts.producers.policy import load as load_policy

MARK = "Quetzaltenango-97341"
HEAD = 'id: acme\nversion: "3"\neffective: 2026-11-01\n'
CONTACTED = "nothing: no client, no server; no address was followed"
IDENTITY = [
    *("--owner", "external_origin", "--sensitivity", "sensitive"),
    *("--validation", "external_origin", "--lifetime", "synchronous"),
    *("--completion", "authenticated_status"),
]

Policy = Callable[..., Ended]


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    """`receipts policy` with arguments, in a home that is not there."""
    return lambda *arguments: run_here(tmp_path / "home", "policy", *map(str, arguments))


@pytest.fixture
def strict(tmp_path: Path) -> Path:
    path = tmp_path / "strict.yaml"
    path.write_text(HEAD + "form: {max_fields: 0}\nurl: {punycode: block}\n")
    return path


def form(**fields: dict[str, object]) -> dict[str, object]:
    return {
        "message": MARK,
        "requestedSchema": {"type": "object", "properties": fields},
    }


# --- decide ---------------------------------------------------------------------------


def test_decide_shows_the_mode_its_reasons_and_what_rejected_the_others(policy: Policy) -> None:
    done = policy("decide", *IDENTITY, "--format", "json")
    shown = json.loads(done.out)
    assert done.code == 0
    assert shown["decision"] == "url"
    assert shown["because"].startswith("external_ceremony: ")
    assert shown["contacted"] == CONTACTED
    assert shown["policy_digest"] == BUILT_IN.digest.hex()
    verdicts = {row["mode"]: (row["verdict"], row["reasons"]) for row in shown["rows"]}
    assert verdicts["url"] == ("chosen", "external_ceremony")
    assert verdicts["form"][0] == verdicts["task_input"][0] == "rejected"
    assert "sensitive_data" in verdicts["form"][1].split()


@pytest.mark.parametrize("form", ["table", "csv"])
def test_decide_says_the_same_in_other_formats(policy: Policy, form: str) -> None:
    out = policy("decide", *IDENTITY, "--format", form).out
    assert "external_ceremony" in out
    assert CONTACTED in out


def test_decide_without_a_terminal_leaves_undefined_what_is_not_said(policy: Policy) -> None:
    done = policy("decide", *IDENTITY[:-2], "--format", "json")
    assert done.code == 1
    assert json.loads(done.out)["decision"] == "blocked"
    assert "completion_undefined" in done.out


def test_decide_gives_the_fallback_of_the_operation(policy: Policy, strict: Path) -> None:
    with strict.open("a") as file:
        file.write("operations: [{tool: connect, fallback: 'https://docs.example/connect'}]\n")
    arguments = ["--policy", strict, "--tool", "connect", "--client-mode", "form"]
    done = policy("decide", *IDENTITY, *arguments, "--format", "json")
    shown = json.loads(done.out)
    assert (shown["decision"], shown["fallback"]) == (
        "no_elicitation",
        "https://docs.example/connect",
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--tool", "a", "--prompt", "b"], "operation_ambiguous"),
        (["--client-mode", "voice"], "mode_unknown"),
        (["--client-mode", "none", "--client-mode", "form"], "mode_unknown"),
    ],
)
def test_decide_names_what_makes_no_sense(
    policy: Policy, arguments: list[str], reason: str
) -> None:
    done = policy("decide", *IDENTITY, *arguments)
    assert done.code == 2
    assert done.err.startswith(f"receipts: {reason}: ")


@pytest.mark.slow
def test_decide_asks_on_a_terminal_for_what_is_missing(tmp_path: Path) -> None:
    said = "\r".join(["external_origin", "perhaps", "sensitive", "external_origin", "", ""])
    code = (
        "import pty, sys; "
        "sys.exit(pty.spawn([sys.executable, '-m', 'elicitation_receipts', '--home', "
        f"{str(tmp_path)!r}, 'policy', 'decide', '--completion', 'authenticated_status']) >> 8)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=said + "\r", capture_output=True, text=True, timeout=60
    )
    assert "Who owns the data?" in done.stdout
    assert "one of the words above, please" in done.stdout
    assert "lifetime_undefined" in done.stdout
    assert done.returncode == 1


# --- check ----------------------------------------------------------------------------


def checked(done: Ended) -> list[tuple[int, str, str]]:
    rows = json.loads(done.out)["rows"]
    return [(row["line"], row["decision"], row["findings"]) for row in rows]


def test_check_answers_each_question_and_repeats_no_text(policy: Policy, tmp_path: Path) -> None:
    ordinary = form(region={"type": "string", "title": "Region"})
    secret = form(note={"type": "string", "description": f"Your password {MARK}"})
    message = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": secret}
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, [ordinary, secret, message])) + "\n\n[]\n{nonsense")
    done = policy("check", file, "--format", "json")
    assert checked(done) == [
        (1, "allow", ""),
        (2, "block", "secret_field"),
        (3, "block", "secret_field"),
        (6, "block", "malformed_message"),
    ]
    assert done.code == 1
    assert MARK not in done.out + done.err + done.log


def test_check_reads_one_value_over_many_lines(policy: Policy, tmp_path: Path) -> None:
    file = tmp_path / "questions.json"
    ordinary = form(region={"type": "string", "title": "Region"})
    file.write_text(json.dumps([ordinary, ordinary], indent=2))
    done = policy("check", file, "--format", "json")
    assert (done.code, checked(done)) == (0, [(1, "allow", "")] * 2)


def test_check_reads_standard_input(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(form(region={"type": "string", "title": "Region"}))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert checked(policy("check", "--format", "json")) == [(1, "allow", "")]


def test_check_judges_by_operation_client_and_policy(
    policy: Policy, tmp_path: Path, strict: Path
) -> None:
    with strict.open("a") as file:
        file.write("operations: [{tool: transfer, modes: [url]}]\n")
    questions = tmp_path / "q.json"
    questions.write_text(json.dumps(form(region={"type": "string", "title": "Region"})))
    done = policy(
        "check",
        *(questions, "--policy", strict, "--tool", "transfer", "--client-mode", "url"),
        *("--format", "json"),
    )
    (row,) = json.loads(done.out)["rows"]
    assert set(row["findings"].split()) == {
        "mode_not_allowed",
        "mode_not_declared",
        "too_many_fields",
    }


def test_check_names_what_is_too_deep_or_too_large(policy: Policy, tmp_path: Path) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text('{"requestedSchema": ' * 10_000 + "{}" + "}" * 10_000)
    assert checked(policy("check", deep, "--format", "json")) == [(1, "block", "malformed_message")]
    huge = tmp_path / "huge.json"
    with huge.open("wb") as stream:
        stream.write(b'{"message": "')
        stream.seek(100 << 20)
        stream.write(b'"}')
    assert checked(policy("check", huge, "--format", "json")) == [(1, "block", "oversized_message")]


def test_check_names_a_file_that_is_not_there(policy: Policy, tmp_path: Path) -> None:
    done = policy("check", tmp_path / "gone.json")
    assert (done.code, done.err.split(":")[1]) == (3, " file_unreadable")


# --- show and lint --------------------------------------------------------------------


def test_show_prints_the_whole_policy_and_its_digest(policy: Policy, strict: Path) -> None:
    expected = load_policy(strict)
    shown = policy("show", strict).out
    assert shown.startswith(f"# digest {expected.digest.hex()}\n")
    assert yaml.safe_load(shown) == expected.document
    canonical = policy("show", strict, "--format", "json").out
    assert sha256(canonical.encode()).digest() == expected.digest
    assert policy("show", strict, "--digest").out == expected.digest.hex() + "\n"
    assert policy("show", "--digest").out == BUILT_IN.digest.hex() + "\n"


def test_what_show_prints_is_a_policy_file(policy: Policy, strict: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.yaml"
    copy.write_text(policy("show", strict).out)
    assert load_policy(copy) == load_policy(strict)


def remarks(done: Ended) -> dict[str, str]:
    return {row["path"]: row["remark"] for row in json.loads(done.out)["rows"]}


def test_lint_says_what_stands_out(policy: Policy, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(
        'id: acme\nversion: "3"\neffective: 2999-01-01\n'
        "prohibited_classes: []\nurl: {not_https: 'off'}\n"
        "findings: {secret_field: {effect: 'off'}}\n"
        "operations:\n"
        "  - {tool: 'deploy_*', modes: [form]}\n"
        "  - {tool: deploy_eu, modes: [form]}\n"
        "  - {prompt: deploy_eu, modes: [form]}\n"
    )
    done = policy("lint", file, "--format", "json")
    found = remarks(done)
    assert done.code == 1
    assert (
        found.items()
        >= {
            "effective": "not_yet_effective",
            "enforcement": "not_enforced",
            "prohibited_classes": "secret_allowed",
            "findings.secret_field": "hard_gate_off",
            "url.not_https": "url_rule_off",
            "url.allowed_origins": "any_origin",
            "ttl.url_s": "no_ttl",
            "defaults.fallback": "no_fallback",
            "operations[1]": "operation_unreachable",
        }.items()
    )
    assert "operations[2]" not in found


def test_lint_is_content_with_a_policy_that_leaves_nothing_open(
    policy: Policy, tmp_path: Path
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(
        HEAD + "enforcement: enforce\nttl: {question_s: 600, url_s: 600, task_s: 86400}\n"
        "url: {allowed_origins: ['https://id.example']}\n"
        "defaults: {fallback: 'https://docs.example/set-up'}\n"
    )
    done = policy("lint", file, "--format", "json")
    assert (done.code, remarks(done)) == (0, {})


def test_lint_of_a_wrong_file_is_an_error(policy: Policy, strict: Path) -> None:
    strict.write_text(HEAD + "enforcement: often\n")
    done = policy("lint", strict)
    assert done.code == 3
    assert "line 4, at enforcement" in done.err


# --- test -----------------------------------------------------------------------------


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    folder = tmp_path / "fixtures"
    folder.mkdir()
    question = 'question: {message: "Choose", requestedSchema: {type: object, properties: {}}}\n'
    (folder / "good.yaml").write_text(
        f"title: An empty form.\n{question}expect: {{findings: [empty_schema]}}\n"
    )
    (folder / "bad.json").write_text(
        json.dumps(
            {
                "title": "Wrong.",
                "answers": {},
                "expect": {"decision": "form", "reasons": ["small_typed_values"]},
            }
        )
    )
    return folder


def test_test_runs_what_is_shipped(policy: Policy) -> None:
    done = policy("test", "--format", "csv")
    rows = list(csv.DictReader(line for line in done.out.splitlines() if line[0] != "#"))
    assert done.code == 0
    assert {row["result"] for row in rows} == {"passed"}
    assert len(rows) >= 80


def test_a_failure_says_by_name_what_was_expected_and_what_came(
    policy: Policy, fixtures: Path
) -> None:
    done = policy("test", fixtures, "--format", "json")
    rows = json.loads(done.out)["rows"]
    assert done.code == 1
    assert [(row["fixture"], row["result"], row["what"]) for row in rows] == [
        ("bad", "failed", "decision"),
        ("bad", "failed", "reasons"),
        ("good", "passed", None),
    ]
    assert (rows[0]["expected"], rows[0]["got"]) == ("form", "blocked")
    assert "owner_undefined" in rows[1]["got"]


def test_test_writes_junit(policy: Policy, fixtures: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    done = policy("test", fixtures, "--format", "junit", "--output", report)
    root = ET.parse(report).getroot()
    assert (done.code, done.out) == (1, "")
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    failure = root.find("testcase[@name='bad']/failure")
    assert failure is not None
    assert "decision: expected form, got blocked" in str(failure.get("message"))


def test_test_writes_tap(policy: Policy, fixtures: Path) -> None:
    lines = policy("test", fixtures, "--format", "tap").out.splitlines()
    assert lines[:3] == ["TAP version 14", "1..2", "not ok 1 - bad"]
    assert lines[-1] == "ok 2 - good"
    block = yaml.safe_load("\n".join(lines[4:-2]))
    assert block["message"].startswith("decision: expected form, got blocked")


@pytest.mark.parametrize(
    ("text", "reason", "says"),
    [
        ("title: a\nexpect: {decision: form}\n", "policy_invalid", "answers, question, traffic"),
        ("title: a\nanswers: {}\nexpect: {decison: form}\n", "policy_unknown_key", "decision?"),
        ("title: a\nanswers: {}\nexpect: {decision: frm}\n", "policy_unknown_word", "form?"),
        (
            "title: a\nanswers: {owner: tsk}\nexpect: {decision: form}\n",
            "policy_unknown_word",
            "task?",
        ),
        (
            "title: a\nquestion: {}\nexpect: {findings: [secret_feld]}\n",
            "policy_unknown_word",
            "secret_field?",
        ),
        (
            "title: a\nanswers: {}\nexpect: {rejected: {form: [sensitive]}}\n",
            "policy_unknown_word",
            "sensitive_data?",
        ),
        (
            "title: a\nanswers: {}\npolicy: {enforcment: warn}\nexpect: {decision: form}\n",
            "policy_unknown_key",
            "enforcement?",
        ),
        ("title: a\nanswers: {}\n", "policy_missing_key", "expect is missing"),
    ],
)
def test_a_wrong_fixture_is_named_with_its_line(
    policy: Policy, tmp_path: Path, text: str, reason: str, says: str
) -> None:
    file = tmp_path / "fixture.yaml"
    file.write_text(text)
    done = policy("test", file)
    assert done.code == 3
    assert done.err.startswith(f"receipts: {reason}: {file}, line ")
    assert says in done.err


def test_a_folder_without_fixtures_is_named(policy: Policy, tmp_path: Path) -> None:
    done = policy("test", tmp_path)
    assert (done.code, done.err.split(":")[1]) == (3, " no_fixture")


def test_a_stricter_policy_meets_what_is_shipped(policy: Policy, tmp_path: Path) -> None:
    """They test what rules mean, with the numbers they need: any sound policy passes."""
    file = tmp_path / "policy.yaml"
    file.write_text(
        HEAD + "enforcement: enforce\nttl: {question_s: 600, url_s: 600, task_s: 86400}\n"
        "url: {allowed_origins: ['https://id.example'], punycode: block, ip_literal: block}\n"
        "defaults: {fallback: 'https://docs.example/set-up', required_proof: status_check}\n"
        "thresholds: {automatic_below_ms: 1000, reask_loop_round: 2}\n"
    )
    done = policy("test", "--policy", file, "--format", "json")
    assert [row for row in json.loads(done.out)["rows"] if row["result"] == "failed"] == []


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["test"], ["check", "QUESTION"]])
def test_the_workbench_contacts_nothing(tmp_path: Path, arguments: list[str]) -> None:
    """Not even to look up the host of an address: the interpreter itself tells of every attempt."""
    question = tmp_path / "question.json"
    question.write_text('{"mode": "url", "message": "?", "url": "https://id.example/start"}')
    code = (
        "import sys\n"
        "def tell(event, details):\n"
        "    if event.startswith(('socket.', 'subprocess.', 'urllib.')) or event == 'os.system':\n"
        "        print('CONTACT', event, flush=True)\n"
        "sys.addaudithook(tell)\n"
        "from elicitation_receipts.main import run\n"
        "run()\n"
    )
    given = [str(question) if one == "QUESTION" else one for one in arguments]
    done = subprocess.run(
        [sys.executable, "-c", code, "--home", str(tmp_path / "home"), "policy", *given],
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "CONTACT" not in done.stdout


# --- diff -----------------------------------------------------------------------------


def recording(path: Path) -> Path:
    """A tool asks twice and is answered, the second time at once."""
    from conversation import FORM_ONLY, SECOND, accept, call, form, notification, request, result

    hello = {
        "protocolVersion": SECOND,
        "capabilities": FORM_ONLY,
        "clientInfo": {"name": "c", "version": "1"},
    }
    greeted = {
        "protocolVersion": SECOND,
        "capabilities": {},
        "serverInfo": {"name": "s", "version": "1"},
    }
    said = [
        (0, "c2s", request("h", "initialize", hello)),
        (0, "s2c", result("h", **greeted)),
        (0, "c2s", notification("notifications/initialized")),
        (1, "c2s", call(1)),
        (2, "s2c", form(7, MARK)),
        (9, "c2s", accept(7, {"branch": MARK})),
        (10, "s2c", form(8, "Another?")),
        (10.4, "c2s", accept(8, {"branch": "main"})),
    ]
    lines = [
        json.dumps({"ts": 1_790_000_000 + at, "dir": way, "raw": json.dumps(message)})
        for at, way, message in said
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_diff_names_recorded_questions_that_are_decided_differently(
    policy: Policy, tmp_path: Path, strict: Path
) -> None:
    with strict.open("a") as file:
        file.write("thresholds: {automatic_below_ms: 1000}\n")
    done = policy(
        *("diff", "built-in", strict, recording(tmp_path / "r.jsonl"), "--format", "json"),
    )
    shown = json.loads(done.out)
    rows = [
        (row["question"], row["what"], row["old"], row["new"])
        for row in shown["rows"]
        if row["source"] == "recording"
    ]
    assert done.code == 1
    assert rows == [
        (1, "decision", "allow", "warn"),
        (1, "findings", "none", "too_many_fields"),
        (2, "decision", "allow", "warn"),
        (2, "findings", "none", "implausible_latency too_many_fields"),
        (2, "decided_by", "person_claimed", "automatic_suspected"),
    ]
    assert shown["compared"].endswith(", 2 recorded questions")
    assert MARK not in done.out + done.err + done.log


def test_diff_names_fixtures_that_are_decided_differently(policy: Policy, strict: Path) -> None:
    rows = json.loads(policy("diff", "built-in", strict, "--format", "json").out)["rows"]
    changed = {(row["name"], row["what"]): (row["old"], row["new"]) for row in rows}
    assert changed["region_form_is_allowed", "decision"] == ("allow", "warn")
    assert ("http_address_is_blocked", "decision") not in changed


def test_diff_of_a_policy_with_itself_is_none(policy: Policy, strict: Path) -> None:
    done = policy("diff", strict, strict, "--format", "json")
    assert (done.code, json.loads(done.out)["rows"]) == (0, [])


def test_diff_names_a_broken_recording_and_goes_on(
    policy: Policy, strict: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text("no recording\n")
    done = policy("diff", "built-in", strict, tmp_path / "a.jsonl", recording(tmp_path / "b.jsonl"))
    assert done.code == 3
    assert "recording_broken" in done.err
    assert "too_many_fields" in done.out
