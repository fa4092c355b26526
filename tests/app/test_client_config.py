"""Client config: what wrap changes in a text, what it leaves, and that unwrap gives it back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonc_texts import SCALARS, VALUES, value_of, written

from elicitation_receipts.client_config import Step, carry_out, plan_unwrap, plan_wrap
from elicitation_receipts.jsonc import parse
from elicitation_receipts.schemas.errors import ConfigError

TAP = ["/opt/receipts", "--home", "/srv/h", "tap", "--tenant", "acme", "--"]

WORDS = st.sampled_from(["npx", "-y", "--", "tap", "C:\\x\\y.exe", "${workspaceFolder}/a b"])
USUAL = st.fixed_dictionaries(
    {"command": WORDS | st.text()},
    optional={
        "args": st.just([]) | st.lists(WORDS | SCALARS, max_size=3),
        "env": st.dictionaries(st.text(), st.text(), max_size=2),
        "type": st.just("stdio"),
    },
)
ODD = st.fixed_dictionaries(
    {},
    optional={
        "command": WORDS | VALUES,
        "args": VALUES,
        "type": st.sampled_from(["http", "local", 3]),
        "url": st.text(),
        "sandboxEnabled": st.booleans(),
        "unknown": VALUES,
    },
)


def shuffled(members: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.permutations(list(members.items())).map(dict)


SERVERS = st.one_of(USUAL.flatmap(shuffled), USUAL.flatmap(shuffled), ODD, VALUES)
PLACES = st.dictionaries(st.text(), SERVERS, min_size=1, max_size=3)
CONFIGS = st.one_of(
    [
        st.fixed_dictionaries({place: PLACES}, optional={other: SCALARS | PLACES, "inputs": VALUES})
        for place, other in [("mcpServers", "servers"), ("servers", "mcpServers")]
    ]
).flatmap(shuffled)


def wrapped(text: str) -> str:
    return carry_out(text, plan_wrap(text, TAP))


def unwrapped(text: str) -> str:
    return carry_out(text, plan_unwrap(text))


def loaded(text: str) -> Any:
    return value_of(text, parse(text))


def steps(config: Any) -> list[Step]:
    return plan_wrap(json.dumps(config, indent=1), TAP)


class TestForEveryConfig:
    @given(st.data(), CONFIGS)
    def test_unwrap_gives_back_every_byte(self, data: st.DataObject, config: Any) -> None:
        text = data.draw(written(config))
        assert unwrapped(wrapped(text)) == text

    @given(st.data(), CONFIGS)
    def test_wrapping_twice_is_wrapping_once(self, data: st.DataObject, config: Any) -> None:
        once = wrapped(data.draw(written(config)))
        assert wrapped(once) == once

    @given(st.data(), CONFIGS)
    def test_only_command_and_args_change_and_the_command_line_is_the_same_behind_the_tap(
        self, data: st.DataObject, config: Any
    ) -> None:
        text = data.draw(written(config))
        after = loaded(wrapped(text))
        changed = [step.server for step in plan_wrap(text, TAP) if step.edits]
        for place in ("mcpServers", "servers"):
            servers = config.get(place)
            for name, server in servers.items() if isinstance(servers, dict) else ():
                if server != after[place][name]:
                    assert name in changed
                    new = after[place][name]
                    assert [new["command"], *new["args"]] == [
                        *TAP,
                        server["command"],
                        *server.get("args", []),
                    ]
                    new["command"] = server["command"]
                    new["args"] = server.get("args")
                    server.setdefault("args", None)
        assert after == config

    @given(CONFIGS)
    def test_a_formatter_in_between_changes_nothing_but_the_format(self, config: Any) -> None:
        text = json.dumps(config)
        formatted = json.dumps(json.loads(wrapped(text)), indent=4)
        after = json.loads(unwrapped(formatted))
        for place in ("mcpServers", "servers"):
            servers = config.get(place)
            for name, server in servers.items() if isinstance(servers, dict) else ():
                if isinstance(server, dict) and after[place][name].get("args") == []:
                    server.setdefault("args", [])
        assert after == config


def test_the_style_of_the_file_is_kept() -> None:
    text = """{
  // mine
  "mcpServers": {
    "lines": {
      "command": "npx", // why
      "args": [
        "-y",
        "x",
      ],
    },
    "line": {"command": "npx", "args": ["-y"]},
    "none": {
      "command": "\\u006eode"
    },
  }
}
"""
    assert carry_out(text, plan_wrap(text, ["/r", "tap", "--"])) == (
        """{
  // mine
  "mcpServers": {
    "lines": {
      "command": "/r", // why
      "args": [
        "tap",
        "--",
        "npx",
        "-y",
        "x",
      ],
    },
    "line": {"command": "/r", "args": ["tap", "--", "npx", "-y"]},
    "none": {
      "command": "/r",
      "args": ["tap", "--", "\\u006eode"]
    },
  }
}
"""
    )


def test_a_step_names_line_and_programs_and_no_argument() -> None:
    server = {"command": "npx", "args": ["-y", "s3cret"], "env": {"TOKEN": "s3cret"}}
    (step,) = steps({"mcpServers": {"files": server}})
    assert (step.server, step.line) == ("files", 3)
    assert step.note == f"npx → {' '.join(TAP)} npx"


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"url": "https://u:s3cret@host/"}, "reached by URL"),
        ({"serverUrl": "https://u:s3cret@host/"}, "reached by URL"),
        ({"type": "http", "command": "x"}, "reached by URL"),
        ({"type": "stdio"}, "no command"),
        ({"command": ["npx"]}, "no command"),
        ({"command": "npx", "args": "s3cret"}, "its args are no list"),
        ({"command": "npx -y s3cret"}, "its command holds arguments too"),
        ({"command": "npx", "sandboxEnabled": True}, "sandbox"),
        (["npx"], "no object"),
        ({"command": "receipts", "args": ["tap", "npx", "s3cret"]}, "already behind the tap"),
        (
            {"command": "uvx", "args": ["--from", "x", "receipts", "tap", "--", "npx"]},
            "already behind the tap",
        ),
    ],
)
def test_what_cannot_be_wrapped_is_left_and_says_why(server: Any, why: str) -> None:
    (step,) = steps({"servers": {"one": server}})
    assert step.edits == ()
    assert step.note.startswith("left: ")
    assert why in step.note
    assert "s3cret" not in step.note


@pytest.mark.parametrize("command", ["npx", "./my-server", "${env:HOME}/my server/run"])
def test_what_a_client_would_start_is_wrapped(command: str) -> None:
    (step,) = steps({"servers": {"one": {"command": command, "sandboxEnabled": False}}})
    assert step.edits


def test_a_program_with_a_blank_in_its_path_is_wrapped(tmp_path: Any) -> None:
    program = tmp_path / "my server"
    program.touch(0o755)
    (step,) = steps({"servers": {"one": {"command": str(program)}}})
    assert step.edits


def test_a_tap_put_there_by_hand_is_taken_away() -> None:
    text = """{"mcpServers": {"files": {"command": "receipts", "args": [
        "tap", // watch
        "--", "npx", /* yes */ "-y"]}, "alone": {"args": ["tap", "--", "npx", ], "command":
        "/usr/bin/receipts"}}}"""
    assert loaded(unwrapped(text)) == {
        "mcpServers": {
            "files": {"command": "npx", "args": ["-y"]},
            "alone": {"command": "npx", "args": []},
        }
    }


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"command": "npx", "args": ["tap", "--", "x"]}, "not behind the tap"),
        ({"command": "receipts", "args": ["tap", "npx"]}, "no command behind --"),
        ({"command": "receipts", "args": ["tap", "--"]}, "no command behind --"),
        ({"command": "receipts", "args": ["tap", "--", 3]}, "no command behind --"),
        ({"command": "uvx", "args": ["receipts", "tap", "--", "npx"]}, "another program"),
    ],
)
def test_what_cannot_be_unwrapped_is_left_and_says_why(server: Any, why: str) -> None:
    (step,) = plan_unwrap(json.dumps({"servers": {"one": server}}))
    assert step.edits == ()
    assert why in step.note


def test_edits_made_since_stay() -> None:
    text = '{"servers": {"one": {"command": "a", "args": ["x"]}}}'
    edited = (
        wrapped(text)
        .replace('"x"', '"x", "more"')
        .replace('{"one"', '{"new": {"command": "b"}, /* since */ "one"')
    )
    assert unwrapped(edited) == (
        '{"servers": {"new": {"command": "b"}, /* since */ '
        '"one": {"command": "a", "args": ["x", "more"]}}}'
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "config_not_json"),
        ("[]", "config_no_servers"),
        ("{}", "config_no_servers"),
        ('{"mcpServers": {}}', "config_no_servers"),
        ('{"servers": [{"command": "x"}]}', "config_no_servers"),
        ('{"mcp": {"servers": {"a": {"command": "x"}}}}', "config_no_servers"),
        ('{"servers": {"a": {}}, "servers": {"b": {}}}', "config_ambiguous"),
        ('{"servers": {"a": {}, "\\u0061": {}}}', "config_ambiguous"),
        ('{"servers": {"a": {"command": "x", "command": "y"}}}', "config_ambiguous"),
    ],
)
def test_a_file_that_cannot_be_understood_is_named(text: str, reason: str) -> None:
    for plan in (lambda text: plan_wrap(text, TAP), plan_unwrap):
        with pytest.raises(ConfigError) as caught:
            plan(text)
        assert caught.value.reason == reason
