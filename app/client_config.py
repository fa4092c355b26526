"""Client config: the servers in an MCP client's configuration, put behind the tap and taken back.

Only the text of a server's ``command`` and the head of its ``args`` are edited, in place: all
else in the file, comments and blanks too, stays as it is, byte for byte. What moves from
``command`` to ``args`` and back is its text as written, escapes and all.

Servers stand in an object named ``mcpServers`` (Claude Desktop, Claude Code, Cursor and others)
or ``servers`` (VS Code's ``mcp.json``), each ``{"command": …, "args": […], "env": {…}}``.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePath
from typing import Final, NamedTuple

from elicitation_receipts.jsonc import Array, Node, Object, Text, line_of, parse
from elicitation_receipts.schemas.errors import ConfigError

PROGRAM: Final = "receipts"
_TAP: Final = "tap"
_END_OF_OPTIONS: Final = "--"
_PLACES: Final = ("mcpServers", "servers")
_BY_URL: Final = frozenset({"http", "streamable-http", "streamablehttp", "sse", "ws"})
_LINE_BREAK: Final = re.compile(r"\r?\n[ \t]*\Z")


class Edit(NamedTuple):
    """``text[start:end]`` becomes ``new``."""

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done about one server. ``note``: for people, without arguments or ``env``.

    ``line``: where the server stands, from 1. No ``edits``: it is left, and ``note`` says why.
    """

    server: str
    line: int
    note: str
    edits: tuple[Edit, ...] = ()


def plan_wrap(text: str, tap: Sequence[str]) -> list[Step]:
    """How to start each server through ``tap``: its command line up to and with ``--``.

    A server that is behind a tap already, by whoever's hand, is left.
    Raises :class:`ConfigError`: ``config_not_json``, ``config_no_servers``, ``config_ambiguous``.
    """
    return _plan(text, lambda server: _wrap(text, server, tap))


def plan_unwrap(text: str) -> list[Step]:
    """How to start each server without the tap: the inverse of :func:`plan_wrap`.

    A tap put there by hand goes too, and comments between its arguments with it.
    Raises as :func:`plan_wrap` does.
    """
    return _plan(text, lambda server: _unwrap(text, server))


def carry_out(text: str, steps: Sequence[Step]) -> str:
    """``text`` with the edits of these steps made."""
    edits = sorted((edit for step in steps for edit in step.edits), reverse=True)
    for edit in edits:  # from the end: what comes earlier in the text stays where it is
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


class _LeftError(Exception):
    """Why a server is left as it is."""


@dataclass(frozen=True, slots=True)
class _Server:
    """One that a client starts by a command. ``args`` is None where there are none."""

    command_name: Text
    command: Text
    args: Array | None

    @property
    def words(self) -> list[str]:
        """The texts in ``args``."""
        items = self.args.items if self.args else ()
        return [item.value if isinstance(item, Text) else "" for item in items]

    @property
    def words_of_tap(self) -> list[str] | None:
        """The arguments before the ``--``, where they and the command name a tap."""
        before = list(takewhile(lambda word: word != _END_OF_OPTIONS, self.words))
        names = [PurePath(word).name for word in (self.command.value, *before)]
        return before if PROGRAM in names and _TAP in before else None


def _plan(text: str, edit: Callable[[_Server], tuple[str, tuple[Edit, ...]]]) -> list[Step]:
    steps = []
    for name, node in _entries(text):
        try:
            note, edits = edit(_server(text, node))
        except _LeftError as reason:
            note, edits = f"left: {reason}", ()
        steps.append(Step(name.value, line_of(text, name.start), note, edits))
    return steps


def _entries(text: str) -> list[tuple[Text, Node]]:
    root = parse(text)
    if not isinstance(root, Object):
        raise ConfigError("config_no_servers", "this is no configuration: no JSON object")
    members = _by_name(text, root)
    entries: list[tuple[Text, Node]] = []
    for place in _PLACES:
        _, servers = members.get(place, (None, None))
        if isinstance(servers, Object):
            entries += _by_name(text, servers).values()
    if not entries:
        raise ConfigError(
            "config_no_servers",
            f"no servers: neither {' nor '.join(_PLACES)} is an object with something in it; "
            "name the file your client reads them from",
        )
    return entries


def _by_name(text: str, node: Object) -> dict[str, tuple[Text, Node]]:
    """The members by name. Of two by one name clients take this or that: not ours to guess."""
    members: dict[str, tuple[Text, Node]] = {}
    for name, value in node.members:
        if name.value in members:
            first, second = (line_of(text, one.start) for one in (members[name.value][0], name))
            raise ConfigError(
                "config_ambiguous", f"lines {first} and {second} give one name twice; remove one"
            )
        members[name.value] = (name, value)
    return members


def _server(text: str, node: Node) -> _Server:
    if not isinstance(node, Object):
        raise _LeftError("no object")
    members = _by_name(text, node)

    def value_of(name: str) -> Node | None:
        return members[name][1] if name in members else None

    kind, command, args = value_of("type"), value_of("command"), value_of("args")
    by_url = isinstance(kind, Text) and kind.value.lower() in _BY_URL
    if by_url or (command is None and any(name.lower().endswith("url") for name in members)):
        raise _LeftError("reached by URL; start `receipts proxy` for it and give its address here")
    if not isinstance(command, Text):
        raise _LeftError("no command")
    if not isinstance(args, Array | None):
        raise _LeftError("its args are no list")
    sandboxed = value_of("sandboxEnabled")  # of VS Code
    if sandboxed and text[sandboxed.start : sandboxed.end] == "true":
        raise _LeftError("the client's sandbox would keep the tap from writing receipts")
    return _Server(members["command"][0], command, args)


def _wrap(text: str, server: _Server, tap: Sequence[str]) -> tuple[str, tuple[Edit, ...]]:
    if server.words_of_tap is not None:
        raise _LeftError("already behind the tap")
    command, args = server.command, server.args
    if " " in command.value and "${" not in command.value and not shutil.which(command.value):
        # Some clients hand it to a shell; behind the tap it would be the name of one program.
        raise _LeftError("its command holds arguments too; move them to args")
    program, *words = map(json.dumps, tap)
    words.append(text[command.start : command.end])
    if args is None:
        extra = Edit(command.end, command.end, _new_args(text, server, words))
    elif args.items:
        at = args.items[0].start
        comma = "," + _gap(text, at)
        extra = Edit(at, at, "".join(word + comma for word in words))
    else:
        # The blank tells an empty list that was there from one that we added.
        at = args.start + 1
        extra = Edit(at, at, ", ".join(words) + " ")
    note = f"{_shown(command)} → {' '.join(tap)} {_shown(command)}"
    return note, (Edit(command.start, command.end, program), extra)


def _unwrap(text: str, server: _Server) -> tuple[str, tuple[Edit, ...]]:
    command, args, before = server.command, server.args, server.words_of_tap
    if args is None or before is None:
        raise _LeftError("not behind the tap")
    if PurePath(command.value).name != PROGRAM:
        raise _LeftError("behind a tap that another program starts; change it by hand")
    first, *rest = args.items[len(before) + 1 :] or (None,)
    if not isinstance(first, Text):
        raise _LeftError("no command behind --; change it by hand")
    start = args.items[0].start
    words = [text[item.start : item.end] for item in args.items]
    added = _new_args(text, server, words)
    if rest:
        removed = Edit(start, rest[0].start, "")
    elif text[command.end : args.end] == added:
        removed = Edit(command.end, args.end, "")
    else:
        blank = text.startswith(" ", args.filled_end)
        removed = Edit(start, args.filled_end + blank, "")
    note = f"{_shown(command)} … {_shown(first)} → {_shown(first)}"
    return note, (Edit(command.start, command.end, text[first.start : first.end]), removed)


def _new_args(text: str, server: _Server, words: Sequence[str]) -> str:
    """What stands behind the command where there were no ``args``, and only there."""
    gap = _gap(text, server.command_name.start)
    return f',{gap}"args": [{", ".join(words)}]'


def _gap(text: str, at: int) -> str:
    """What separates items here: a line break and the indentation, or a blank."""
    found = _LINE_BREAK.search(text, 0, at)
    return found[0] if found else " "


def _shown(command: Text) -> str:
    """A command's program, without arguments that may stand in it."""
    return command.value if shutil.which(command.value) else command.value.split(" ")[0]
