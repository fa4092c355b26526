"""Sessions full of elicitations in which every value, name and text is a mark.

A session is played by `scripted_server.play`. What happens in it is picked: by hypothesis,
which tries to find the session that leaks, or by chance from a seed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import conversation as say
from hypothesis import strategies as st
from marks import Marks
from scripted_server import CLIENT, SERVER, Step

Json = Any
#: Picks one of several.
Pick = Callable[[Sequence[Any]], Any]

_META = "io.modelcontextprotocol/"
REVISIONS = (say.FIRST, say.SECOND, say.MODERN)


@dataclass
class Session:
    """One connection: what each side says, and the marks in it."""

    revision: str
    marks: Marks
    steps: list[Step] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<{len(self.steps)} steps of {self.revision}>"


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """Any session."""
    marks = Marks(draw(st.integers(0, 2**32)))
    revision = draw(st.sampled_from(REVISIONS))
    writer = _Writer(lambda options: draw(st.sampled_from(options)), marks, revision)
    return writer.write(draw(st.lists(st.sampled_from(writer.scenes), min_size=1, max_size=6)))


def full_session(revision: str, times: int) -> Session:
    """Each scene so many times, each time as chance picks: the same in every run."""
    random = Random(revision)
    writer = _Writer(random.choice, Marks(random.getrandbits(32)), revision)
    return writer.write(writer.scenes * times)


class _Writer:
    """Writes a session, scene by scene."""

    def __init__(self, pick: Pick, marks: Marks, revision: str) -> None:
        self._pick = pick
        self._marks = marks
        self._is_modern = revision == say.MODERN
        self._session = Session(revision, marks)

    @property
    def scenes(self) -> list[Callable[[], None]]:
        common = [self._noise, self._question_by_request, self._task, self._url_required]
        return [*common, self._round_trips, self._incapable] if self._is_modern else common

    def write(self, scenes: Sequence[Callable[[], None]]) -> Session:
        self._greet()
        for scene in scenes:
            scene()
        return self._session

    def _one(self, *options: Callable[[], Json]) -> Json:
        """What one of them makes."""
        return self._pick(options)()

    def _seldom(self, option: Callable[[], Json], otherwise: Json) -> Json:
        return option() if self._pick([False, False, False, True]) else otherwise

    # Saying it

    def _client(self, message: Json) -> None:
        if (
            self._is_modern
            and isinstance(message, dict)
            and isinstance(message.get("params"), dict)
        ):
            message = {**message, "params": {**message["params"], "_meta": self._client_meta()}}
        self._say(CLIENT, message)

    def _server(self, message: Json) -> None:
        if (
            self._is_modern
            and isinstance(message, dict)
            and isinstance(message.get("result"), dict)
        ):
            meta = {**self._meta("a result's _meta"), _META + "serverInfo": self._peer("server")}
            message = {**message, "result": {**message["result"], "_meta": meta}}
        self._say(SERVER, message)

    def _say(self, who: str, message: Json) -> None:
        line = message
        if not isinstance(message, bytes):
            if isinstance(message, dict):
                message = {**message, **self._members("an unknown member of a message")}
            line = json.dumps(message, ensure_ascii=self._pick([True, False])).encode()
        self._session.steps.append((who, line + b"\n"))

    # Values, by the place they stand in

    def _name(self, place: str) -> str:
        """Where a safe name would be kept."""
        return self._pick([self._marks.text, self._marks.odd])(place)

    def _text(self, place: str) -> str:
        """Where not even a name is kept."""
        return self._pick([self._marks.text, self._marks.odd, self._marks.word])(place)

    def _value(self, place: str) -> Json:
        """Where nothing is kept."""
        return self._one(
            lambda: self._text(place),
            lambda: self._text(place),
            lambda: str(self._marks.number(place)),
            lambda: self._no_text(place),
        )

    def _no_text(self, place: str) -> Json:
        """Where a safe name would be kept, were it one."""
        number = self._marks.number
        return self._one(
            lambda: number(place),
            lambda: -number(place),
            lambda: number(place) + 0.5,
            lambda: [self._text(place), number(place)],
            lambda: {self._text(place): {self._text(place): self._text(place)}},
        )

    def _id(self, place: str) -> Json:
        return self._one(
            lambda: self._text(place),
            lambda: self._marks.number(place),
            lambda: str(self._marks.number(place)),
        )

    def _members(self, place: str) -> dict[str, Json]:
        return self._seldom(lambda: {self._text(f"{place}, its name"): self._value(place)}, {})

    def _meta(self, place: str) -> dict[str, Json]:
        return {
            "progressToken": self._id(f"{place}, progressToken"),
            "traceparent": self._text(f"{place}, traceparent"),
            "tracestate": f"vendor={self._text(f'{place}, tracestate')}",
            self._text(f"{place}, a name"): self._value(place),
        }

    def _peer(self, who: str) -> dict[str, Json]:
        return {
            "name": self._name(f"the {who}'s name"),
            "version": self._name(f"the {who}'s version"),
            "title": self._text(f"the {who}'s title"),
            **self._members(f"an unknown member of the {who}'s info"),
        }

    def _capabilities(self) -> dict[str, Json]:
        modes = self._pick([{}, {"form": {}, "url": {}}, {"form": {}, "url": {}}, {"url": {}}])
        odd = {self._text("a mode in the capabilities"): self._value("a mode's options")}
        return {
            "elicitation": self._pick([modes, modes, {**modes, **odd}]),
            "experimental": {self._text("an experimental capability"): {}},
            **self._members("a capability"),
        }

    def _client_meta(self) -> dict[str, Json]:
        return {
            **self._meta("a request's _meta"),
            _META + "protocolVersion": self._revision(),
            _META + "clientInfo": self._peer("client"),
            _META + "clientCapabilities": self._capabilities(),
        }

    def _revision(self) -> str:
        return self._seldom(lambda: self._name("a revision"), self._session.revision)

    # Questions

    def _field(self) -> tuple[Json, Json]:
        """A field of a form, and an answer to it that may be valid."""
        text, value, number = self._text, self._value, self._marks.number
        typed = text("a value typed")
        options = [text("an enum constant"), text("an enum constant")]
        named = [{"const": text("a const"), "title": text("a const's title")}]
        low = number("a minimum")
        schema, answer = self._one(
            lambda: ({"type": "string", "default": text("a default")}, typed),
            lambda: ({"type": "string", "maxLength": number("a maxLength")}, typed),
            lambda: ({"type": "string", "maxLength": 3}, typed),
            lambda: ({"type": "string", "format": text("a format")}, typed),
            lambda: ({"type": "string", "format": "email"}, f"{typed}@example.com"),
            lambda: ({"type": "string", "format": "date-time"}, typed),
            lambda: ({"type": "string", "format": "uri"}, f"https://example.com/{typed}"),
            lambda: ({"type": "string", "pattern": f"^{text('a pattern')}$"}, typed),
            lambda: ({"type": "string", "pattern": f"({text('a broken pattern')}"}, typed),
            lambda: ({"type": "string", "enum": options, "default": options[0]}, options[1]),
            lambda: (
                {"type": "string", "enum": options, "enumNames": [text("an enum name")]},
                typed,
            ),
            lambda: ({"type": "string", "oneOf": named}, named[0]["const"]),
            lambda: ({"type": "array", "items": {"type": "string", "enum": options}}, options),
            lambda: ({"type": "array", "items": {"anyOf": named}, "default": [typed]}, [typed]),
            lambda: ({"type": "array", "items": {"type": "string"}, "maxItems": 0}, [typed]),
            lambda: ({"type": "number", "minimum": low, "default": low}, number("a number typed")),
            lambda: ({"type": "integer", "maximum": 1}, number("a number typed")),
            lambda: ({"type": "boolean", "default": True}, typed),
            lambda: ({"type": text("a type")}, typed),
            lambda: ({"const": value("a const of its own")}, typed),
            lambda: ({"not": {"const": typed}}, typed),
            lambda: ({"$ref": f"#/$defs/{text('a reference')}"}, typed),
            lambda: ({"type": "object", "properties": {text("an inner property"): {}}}, {typed: 1}),
            lambda: (value("a field that is no object"), typed),
        )
        if isinstance(schema, dict):
            about = {"title": text("a field's title"), "description": text("a description")}
            schema = {**about, **schema, **self._members("a keyword of a schema")}
        return schema, self._seldom(lambda: value("a value typed"), answer)

    def _form(self) -> tuple[dict[str, Json], Json]:
        """The parameters of a form, and content to answer it with."""
        properties, content = {}, {}
        for _ in range(self._pick([0, 1, 1, 2, 3])):
            name = self._one(lambda: self._name("a property's name"), lambda: "email")
            properties[name], content[name] = self._field()
        schema = {
            "type": self._seldom(lambda: self._text("the root's type"), "object"),
            "properties": properties,
            "required": [*properties][:1]
            + self._seldom(lambda: [self._text("a name required")], []),
            **self._one(
                dict,
                lambda: {
                    "$schema": self._text("a $schema"),
                    "title": self._text("a form's title"),
                    "description": self._text("a form's description"),
                    "default": self._value("a form's default"),
                    "$defs": {self._text("a definition's name"): self._value("a definition")},
                },
                lambda: {"additionalProperties": False},
            ),
        }
        params = {"message": self._message(), "requestedSchema": schema}
        odd = self._one(
            dict,
            dict,
            lambda: {"mode": "form"},
            lambda: {"mode": self._text("a mode")},
            lambda: {"url": self._url(), "elicitationId": self._text("an elicitationId in a form")},
            lambda: {"requestedSchema": self._value("a schema that is no object")},
            lambda: {"message": self._no_text("a message that is no text")},
        )
        return {**params, **odd, **self._members("a parameter")}, content

    def _message(self) -> str:
        text = self._text("a message")
        return self._pick([text, text, f"See https://example.com/{text} first"])

    def _url(self) -> str:
        text, number = self._text, self._marks.number
        host = partial(self._marks.text, "a host")
        path = partial(self._marks.odd, "a path")
        return self._one(
            lambda: f"https://example.com/{path()}?{text('a query')}=1#{text('a fragment')}",
            lambda: f"https://{text('a user')}:{text('a password')}@pay.example:8443/{path()}",
            lambda: f"http://{host()}.example/{path()}",
            lambda: f"https://{self._marks.full_width('a host in full width')}.example/",
            lambda: f"https://{host().replace('1', '%31')}.example/",
            lambda: f"https://xn--{host()}.example/",
            lambda: f"https://[::1]:{number('a port')}/{path()}",
            lambda: f"https://[fe80::1%25{host()}]/",
            lambda: f"https://[{host()}]/",
            lambda: rf"https:\\{text('a user')}@pay.example\{path()}",
            lambda: f"https://{host()}",
            lambda: f"https://{number('a host that is a number')}/",
            lambda: f"javascript:alert('{text('a script')}')",
            lambda: f"mailto:{text('a user')}@example.com",
            lambda: f"data:text/plain,{text('data in an address')}",
            lambda: f"{self._marks.text('a scheme')}:{path()}",
            lambda: f"//{host()}/{path()}",
            lambda: text("an address that is none"),
        )

    def _address(self) -> tuple[dict[str, Json], Json]:
        """The parameters of a URL question, and content it is wrong to answer it with."""
        params = {
            "mode": "url",
            "url": self._url(),
            "message": self._message(),
            "elicitationId": self._pick([self._text, self._text, self._value])("an elicitationId"),
            **self._members("a parameter"),
        }
        return params, {self._text("a name of content on a URL"): self._value("content on a URL")}

    def _asked(self) -> tuple[dict[str, Json], Json]:
        return self._one(self._form, self._form, self._address)

    # Answers

    def _answer(self, content: Json) -> Json:
        """An `ElicitResult`, or what stands in its place."""
        accepted = {"action": "accept", "content": content}
        unasked = {self._text("a name nobody asked for"): self._value("an unasked value")}
        return self._one(
            lambda: accepted,
            lambda: accepted,
            lambda: {"action": "accept", "content": {**content, **unasked}},
            lambda: {"action": "accept", "content": self._value("content that is no object")},
            lambda: {"action": "accept"},
            lambda: {"action": "decline"},
            lambda: {"action": "decline", "content": {**content, **unasked}},
            lambda: {"action": "cancel", "content": unasked},
            lambda: {"action": self._text("an action"), "content": content},
            lambda: {"content": content},
            lambda: {**accepted, **self._members("a member of an answer")},
            lambda: self._value("an answer that is no object"),
        )

    def _error(self, id_: Json, whose: str, said: Json = None) -> dict[str, Json]:
        """``said``: a submitted value that it repeats."""
        code = self._one(
            lambda: self._pick([-32601, -32602, -32600, -32603, 0]),
            lambda: self._marks.number("an error's code"),
        )
        text = f"{self._text(f'the message of a {whose} error')}: {json.dumps(said)}, {said!r}"
        return say.error(id_, code, text, {"input": said, "more": self._value("an error's data")})

    def _response(self, id_: Json, content: Json) -> list[Json]:
        """What the client sends for a question of id ``id_``."""
        right = say.answer(id_, self._answer(content))
        beside = {"error": {"code": 1, "message": self._text("an error beside a result")}}
        return self._one(
            lambda: [right],
            lambda: [right],
            lambda: [right],
            lambda: [right, say.answer(id_, self._answer(content))],
            lambda: [self._error(id_, "client's")],
            lambda: [self._error(id_, "client's", content)],
            lambda: [{**right, **beside}],
            lambda: [say.answer(self._id("the id of a response to nothing"), {}), right],
            lambda: [say.answer(str(id_), self._answer(content))],
            lambda: [[right]],
            lambda: [self._given_twice(id_, content)],
            lambda: [{"jsonrpc": "2.0", "id": id_}],
            list,
        )

    def _given_twice(self, id_: Json, content: Json) -> bytes:
        other = {self._text("a name given twice"): self._value("content given twice")}
        return (
            f'{{"jsonrpc":"2.0","id":{json.dumps(id_)},"result":{{"action":"decline",'
            f'"action":"accept","content":{json.dumps(content)},"content":{json.dumps(other)}}}}}'
        ).encode()

    # Operations

    def _operation(self) -> tuple[str, dict[str, Json]]:
        """The method and parameters of an originating request."""
        text, name = self._text, self._name
        arguments = {text("an argument's name"): self._value("an argument")}
        method, params = self._one(
            lambda: ("tools/call", {"name": name("a tool"), "arguments": arguments}),
            lambda: ("tools/call", {"name": name("a tool"), "arguments": arguments}),
            lambda: ("prompts/get", {"name": name("a prompt"), "arguments": arguments}),
            lambda: ("resources/read", {"uri": text("a resource")}),
            lambda: ("resources/read", {"uri": f"https://example.com/{text('a resource')}"}),
            lambda: ("tools/call", {"name": self._no_text("a tool's name that is no text")}),
        )
        meta = {} if self._is_modern else {"_meta": self._meta("a request's _meta")}
        return method, {**params, **meta, **self._members("a parameter of a request")}

    def _call(self) -> Json:
        id_ = self._id("the id of a request")
        self._client(say.request(id_, *self._operation()))
        return id_

    def _finish(self, id_: Json, content: Json) -> None:
        """The operation's result, or none. Errors repeat what was submitted."""
        text = f"{self._text('the text of a result')} {json.dumps(content)} {content!r}"
        self._one(
            lambda: self._server(say.success(id_)),
            lambda: self._server(say.tool_error(id_, text)),
            lambda: self._server(self._error(id_, "server's", content)),
            lambda: self._server(say.result(id_, structuredContent=content, content=text)),
            lambda: self._client(self._cancelled(id_)),
            lambda: None,
        )

    def _cancelled(self, id_: Json) -> dict[str, Json]:
        reason = self._text("the reason of a cancellation")
        return say.notification("notifications/cancelled", requestId=id_, reason=reason)

    # Scenes

    def _greet(self) -> None:
        if self._is_modern:
            return
        params = {
            "protocolVersion": self._revision(),
            "capabilities": self._capabilities(),
            "clientInfo": self._peer("client"),
        }
        result = {
            "protocolVersion": self._revision(),
            "capabilities": {self._text("a capability of the server"): {}},
            "serverInfo": self._peer("server"),
            "instructions": self._text("the server's instructions"),
        }
        id_ = self._id("the id of initialize")
        self._client(say.request(id_, "initialize", params))
        self._server(say.result(id_, **result))
        self._client(say.notification("notifications/initialized"))

    def _question_by_request(self) -> None:
        operation = self._call()
        content: Json = {}
        for _ in range(self._pick([1, 1, 2])):
            params, content = self._asked()
            usable = self._id("the id of a question")
            id_ = self._seldom(lambda: self._one(lambda: None, lambda: ["no id"]), usable)
            question = say.question(id_, {**params, "_meta": self._meta("a question's _meta")})
            self._server(self._pick([question, question, question, [question]]))
            if self._pick([True, True, False]):
                for message in self._response(id_, content):
                    self._client(message)
            else:
                self._server(self._cancelled(id_))
            if self._pick([True, False]):
                self._server(say.completion(params.get("elicitationId")))
        self._finish(operation, content)

    def _url_required(self) -> None:
        method, params = self._operation()
        first, second = self._id("the id of a request"), self._id("the id of a retry")
        entries = [self._asked()[0] for _ in range(self._pick([1, 2]))]
        odd = self._seldom(lambda: [self._value("an entry that is no question")], [])
        refusal = say.url_required(first, *entries, *odd)
        refusal["error"]["message"] = self._text("the message of -32042")
        self._client(say.request(first, method, params))
        self._server(refusal)
        if self._pick([True, False]):
            self._server(say.completion(entries[0].get("elicitationId")))
        self._client(say.request(second, method, params))
        self._finish(second, {})

    def _round_trips(self) -> None:
        method, params = self._operation()
        id_ = self._id("the id of a request")
        self._client(say.request(id_, method, params))
        content: Json = {}
        for _ in range(self._pick([1, 1, 2])):
            key = self._text("the key of a question")
            asked, content = self._asked()
            state = self._pick([self._text, self._text, self._value])("a requestState")
            interim = say.interim(id_, {key: asked}, state)
            other = {"method": self._text("a method"), "params": self._value("a parameter")}
            interim["result"]["inputRequests"][self._text("the key of no question")] = other
            self._server(interim)
            responses = self._responses(key, content)
            echoed = self._seldom(lambda: self._text("an invented requestState"), state)
            id_ = self._id("the id of a retry")
            retry = {**params, "inputResponses": responses, "requestState": echoed}
            self._client(say.request(id_, method, retry))
        self._finish(id_, content)

    def _responses(self, key: str, content: Json) -> Json:
        answer = self._answer(content)
        return self._one(
            lambda: {key: answer},
            lambda: {key: answer},
            lambda: {key: answer, self._text("a key nobody asked for"): answer},
            dict,
            lambda: self._value("answers that are no object"),
        )

    def _incapable(self) -> None:
        id_ = self._call()
        mode = self._one(lambda: "form", lambda: "url", lambda: self._text("a mode needed"))
        required = {"elicitation": {mode: {}}, self._text("a capability needed"): {}}
        data = {"requiredCapabilities": required}
        self._server(say.error(id_, -32021, self._text("the message of -32021"), data))

    def _task(self) -> None:
        """A question that a task puts: by a request that names it, or in a snapshot of it."""
        id_ = self._call()
        task = self._text("a task's id")
        snapshot = {
            "taskId": task,
            "status": self._one(lambda: "working", lambda: self._text("a status")),
            "statusMessage": self._text("a status message"),
            "createdAt": self._one(lambda: "2026-07-28T00:00:00Z", lambda: self._text("a time")),
            "ttl": 600_000_000_000,
            "ttlMs": 600_000_000_000,
        }
        started = {"resultType": "task", **snapshot} if self._is_modern else {"task": snapshot}
        self._server(say.result(id_, **started))
        asked, content = self._asked()
        if self._is_modern:
            self._ask_in_snapshot(task, snapshot, asked, content)
        else:
            related = {_META + "related-task": {"taskId": task}, **self._meta("a task's _meta")}
            question = self._id("the id of a task's question")
            self._server(say.question(question, {**asked, "_meta": related}))
            for message in self._response(question, content):
                self._client(message)
        result = {"structuredContent": content, "isError": self._pick([True, False])}
        status = self._pick(["completed", "failed", "cancelled"])
        last = self._id("the id of a poll")
        self._client(say.request(last, "tasks/get", {"taskId": task}))
        self._server(say.result(last, **{**snapshot, "status": status, "result": result}))

    def _ask_in_snapshot(
        self, task: str, snapshot: dict[str, Json], asked: Json, content: Json
    ) -> None:
        poll, key = self._id("the id of a poll"), self._text("the key of a task's question")
        requests = {key: {"method": "elicitation/create", "params": asked}}
        waiting = {**snapshot, "status": "input_required", "inputRequests": requests}
        self._client(say.request(poll, "tasks/get", {"taskId": task}))
        self._server(say.result(poll, **waiting))
        update = {"taskId": task, "inputResponses": self._responses(key, content)}
        self._client(say.request(self._id("the id of an update"), "tasks/update", update))

    def _noise(self) -> None:
        """What is no elicitation, or hardly a message."""
        text, value, id_ = self._text, self._value, self._id
        notification, request = say.notification, say.request
        who = self._pick([self._client, self._server])
        message = self._one(
            lambda: text("a line that is no JSON").encode(),
            lambda: b"\xff\xfe" + text("a line that is no UTF-8").encode(),
            lambda: f'{{"id": "{self._marks.text("half a message")}'.encode(),
            lambda: json.dumps(text("a message that is a text")).encode(),
            lambda: [value("a message in an array"), {"id": text("an id in an array")}],
            lambda: notification("notifications/message", data=value("a log message")),
            lambda: notification(text("a notification"), **{text("its parameter"): value("its")}),
            lambda: request(id_("an id"), text("a method"), {text("a name"): value("any")}),
            lambda: request(id_("an id"), "sampling/createMessage", {"x": value("any")}),
            lambda: request(id_("an id"), "completion/complete", {"x": value("any")}),
            lambda: say.error(None, -32700, text("the message of a stray error"), value("any")),
            lambda: say.result(id_("an id nobody used"), x=value("a stray result")),
            lambda: say.completion(text("an elicitationId nobody used")),
            lambda: self._cancelled(id_("the id of a request nobody made")),
        )
        who(message)
