"""A conversation between an MCP client and server, played to the watcher's pure core.

A test says what each side sends and how much time passes, and reads what the
watcher makes of it::

    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.wait(seconds=5)
    talk.client(accept(7, {"branch": "main"}))
    talk.server(success(1))
    assert talk.story == [
        "requested open",
        "answered accepted by person_claimed",
        "resumed (success)",
    ]

Every receipt is encoded and decoded on the way, so none can be one that has no encoding.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Final
from uuid import UUID

from elicitation_receipts.producers.policy import BUILT_IN, Policy
from elicitation_receipts.producers.redact import Redactor
from elicitation_receipts.producers.wire.direction import Direction
from elicitation_receipts.producers.wire.moment import Moment
from elicitation_receipts.producers.wire.scribe import Post
from elicitation_receipts.producers.wire.session import Session
from elicitation_receipts.schemas import codec
from elicitation_receipts.schemas.keys import Key, TenantKeys
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Event, Fidelity, FindingName, Vantage

FIRST: Final = "2025-06-18"
SECOND: Final = "2025-11-25"
MODERN: Final = "2026-07-28"

#: A client's capabilities.
FORM_ONLY: Final[dict[str, Any]] = {"elicitation": {}}
URL_ONLY: Final[dict[str, Any]] = {"elicitation": {"url": {}}}
BOTH_MODES: Final[dict[str, Any]] = {"elicitation": {"form": {}, "url": {}}}
NO_MODE: Final[dict[str, Any]] = {}

#: A question to which nothing can be objected: one described, optional text.
BRANCH: Final[dict[str, Any]] = {"branch": {"type": "string", "title": "Branch"}}

#: The default keys: fixed, so that a failing test fails again.
KEYS: Final = TenantKeys(
    tenant="default",
    question=Key(b"q" * 32),
    reference=Key(b"r" * 32),
    payload=Key(b"p" * 32),
    epoch=1,
)

_STREAM: Final = UUID(int=1)
_START_US: Final = 1_790_000_000_000_000
_META: Final = "io.modelcontextprotocol/"

Json = Any
Sent = dict[str, Any] | list[Any] | str | bytes


class Conversation:
    """One session, watched. ``story`` and ``receipts`` hold everything it left so far.

    It starts with the handshake of its revision; ``greet=False`` leaves that to the test.
    A client's request in a modern conversation declares itself, as the revision asks.
    """

    def __init__(
        self,
        revision: str = SECOND,
        capabilities: dict[str, Any] = BOTH_MODES,
        policy: Policy = BUILT_IN,
        *,
        greet: bool = True,
        keys: TenantKeys = KEYS,
        client: dict[str, Any] | None = None,
        server: dict[str, Any] | None = None,
        vantage: Vantage = Vantage.STDIO,
    ) -> None:
        self.revision = revision
        self.receipts: list[Receipt] = []
        self.capabilities = capabilities
        self._client_info = client or {"name": "scripted-client", "version": "1.0.0"}
        self._server_info = server or {"name": "scripted-server", "version": "2.0.0"}
        redactor = Redactor("default", _STREAM, keys, _counting())
        post = Post(policy, vantage, Fidelity.BYTES, "tests", "0.1.0")
        self.session = Session(redactor, post, "a session")
        self._elapsed_us = 0
        if greet and revision != MODERN:
            self.greet()

    # What is said

    def greet(self) -> None:
        """``initialize``, its result, ``notifications/initialized``."""
        self.client(self.initialize())
        self.server(self.initialize_result())
        self.client(notification("notifications/initialized"))

    def initialize(self) -> dict[str, Any]:
        params = {
            "protocolVersion": self.revision,
            "capabilities": self.capabilities,
            "clientInfo": self._client_info,
        }
        return request("hello", "initialize", params)

    def initialize_result(self) -> dict[str, Any]:
        return result(
            "hello",
            protocolVersion=self.revision,
            capabilities={},
            serverInfo=self._server_info,
        )

    def client(self, message: Sent) -> list[Receipt]:
        """The client sends ``message``; the receipts that leaves."""
        return self._frame(Direction.CLIENT_TO_SERVER, self._declared(message))

    def server(self, message: Sent) -> list[Receipt]:
        """The server sends ``message``; the receipts that leaves."""
        return self._frame(Direction.SERVER_TO_CLIENT, message)

    def wait(self, seconds: float) -> list[Receipt]:
        """Time passes, and the watcher notices it."""
        self._elapsed_us += round(seconds * 1_000_000)
        return self._keep(self.session.on_tick(self._now))

    def close(self) -> list[Receipt]:
        """The connection ends."""
        return self._keep(self.session.on_close(self._now))

    def _declared(self, message: Sent) -> Sent:
        if self.revision != MODERN or not isinstance(message, dict) or "id" not in message:
            return message
        if not isinstance(message.get("params"), dict):
            return message
        meta = {
            _META + "protocolVersion": self.revision,
            _META + "clientInfo": self._client_info,
            _META + "clientCapabilities": self.capabilities,
        }
        return {**message, "params": {**message["params"], "_meta": meta}}

    def _frame(self, direction: Direction, message: Sent) -> list[Receipt]:
        raw = message if isinstance(message, bytes) else _text(message).encode()
        return self._keep(self.session.on_frame(direction, raw, self._now))

    @property
    def _now(self) -> Moment:
        return Moment(_START_US + self._elapsed_us, self._elapsed_us)

    def _keep(self, receipts: list[Receipt]) -> list[Receipt]:
        for receipt in receipts:
            assert codec.decode(codec.encode(receipt)) == receipt
        self.receipts += receipts
        return receipts

    # What the watcher makes of it

    @property
    def story(self) -> list[str]:
        """Every receipt so far in a few words, see :func:`told`."""
        return told(self.receipts)

    def of(self, event: Event) -> list[Receipt]:
        """The receipts of one event."""
        return [receipt for receipt in self.receipts if receipt.event is event]

    @property
    def last(self) -> Receipt:
        return self.receipts[-1]

    @property
    def elicitations(self) -> int:
        """How many elicitations the receipts speak of."""
        return len({r.elicitation_id for r in self.receipts if r.elicitation_id is not None})


def told(receipts: Sequence[Receipt]) -> list[str]:
    """Receipts in words: ``event outcome by whom (proof or result), round n [findings]``."""
    return [_told(receipt) for receipt in receipts]


def _told(receipt: Receipt) -> str:
    words: list[str] = [receipt.event]
    if receipt.outcome is not None:
        words.append(receipt.outcome)
    if receipt.decided_by is not None:
        words.append(f"by {receipt.decided_by}")
    if receipt.proof is not None:
        words.append(f"({receipt.proof})")
    if receipt.operation_result is not None:
        words.append(f"({receipt.operation_result})")
    if receipt.round > 1:
        words.append(f"round {receipt.round}")
    if receipt.findings:
        words.append(f"[{' '.join(sorted(findings(receipt)))}]")
    return " ".join(words)


def findings(receipt: Receipt) -> set[FindingName]:
    """The names of the findings on a receipt."""
    return {finding.name for finding in receipt.findings}


def failures(receipt: Receipt) -> list[tuple[str | None, str]]:
    """What failed validation: field (None: the object) and keyword."""
    failed = receipt.validation.failed if receipt.validation else ()
    return [(item.field, item.keyword.value) for item in failed]


# Messages of both sides


def request(id_: Json, method: str, params: Json = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id_, "method": method}
    return message if params is None else {**message, "params": params}


def notification(method: str, **params: Json) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def result(id_: Json, **members: Json) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": members}


def error(id_: Json, code: int, text: str = "no", data: Json = None) -> dict[str, Any]:
    members = {"code": code, "message": text}
    return {
        "jsonrpc": "2.0",
        "id": id_,
        "error": members if data is None else {**members, "data": data},
    }


def cancelled(request_id: Json) -> dict[str, Any]:
    """Either side gives up a request of its own."""
    return notification("notifications/cancelled", requestId=request_id)


# Messages of the client


def call(id_: Json, arguments: Json = None, tool: str = "deploy") -> dict[str, Any]:
    """A client calls a tool: an operation begins."""
    return request(id_, "tools/call", {"name": tool, "arguments": arguments or {}})


def retry(
    id_: Json,
    answers: dict[str, Any] | None = None,
    state: Json = None,
    arguments: Json = None,
    tool: str = "deploy",
) -> dict[str, Any]:
    """A client calls again with its answers (2026-07-28)."""
    message = call(id_, arguments, tool)
    if answers is not None:
        message["params"]["inputResponses"] = answers
    if state is not None:
        message["params"]["requestState"] = state
    return message


def accepted(content: Json = None) -> dict[str, Any]:
    """An ``ElicitResult``: accepted."""
    return {"action": "accept"} if content is None else {"action": "accept", "content": content}


DECLINED: Final = {"action": "decline"}
CANCELLED: Final = {"action": "cancel"}


def answer(id_: Json, given: Json) -> dict[str, Any]:
    """A client's response with the ``ElicitResult`` ``given``."""
    return {"jsonrpc": "2.0", "id": id_, "result": given}


def accept(id_: Json, content: Json = None) -> dict[str, Any]:
    return answer(id_, accepted(content))


def decline(id_: Json) -> dict[str, Any]:
    return answer(id_, DECLINED)


def cancel(id_: Json) -> dict[str, Any]:
    return answer(id_, CANCELLED)


# Messages of the server


def form_params(
    message: str = "Which branch?", properties: Json = BRANCH, required: Sequence[str] = ()
) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"mode": "form", "message": message, "requestedSchema": schema}


def url_params(
    elicitation_id: str | None = "ceremony",
    url: str = "https://pay.example/start",
    message: str = "Pay to continue",
) -> dict[str, Any]:
    params = {"mode": "url", "message": message, "url": url}
    return params if elicitation_id is None else {**params, "elicitationId": elicitation_id}


def question(id_: Json, params: Json) -> dict[str, Any]:
    """A server asks by a request of its own."""
    return request(id_, "elicitation/create", params)


def form(
    id_: Json,
    message: str = "Which branch?",
    properties: Json = BRANCH,
    required: Sequence[str] = (),
) -> dict[str, Any]:
    return question(id_, form_params(message, properties, required))


def url(id_: Json, elicitation_id: str | None = "ceremony", **params: str) -> dict[str, Any]:
    return question(id_, url_params(elicitation_id, **params))


def completion(elicitation_id: Json = "ceremony") -> dict[str, Any]:
    """A server says that a URL ceremony is complete (2025-11-25)."""
    return notification("notifications/elicitation/complete", elicitationId=elicitation_id)


def interim(
    id_: Json, questions: dict[str, Any] | None = None, state: Json = None
) -> dict[str, Any]:
    """A server answers a call with questions (2026-07-28)."""
    members: dict[str, Any] = {"resultType": "input_required"}
    if questions is not None:
        members["inputRequests"] = {
            key: {"method": "elicitation/create", "params": params}
            for key, params in questions.items()
        }
    if state is not None:
        members["requestState"] = state
    return result(id_, **members)


def url_required(id_: Json, *entries: Json) -> dict[str, Any]:
    """A server answers a call with -32042 (2025-11-25)."""
    return error(id_, -32042, data={"elicitations": list(entries)})


def success(id_: Json) -> dict[str, Any]:
    return result(id_, content=[{"type": "text", "text": "done"}])


def tool_error(id_: Json, text: str = "failed") -> dict[str, Any]:
    return result(id_, content=[{"type": "text", "text": text}], isError=True)


def _text(message: Sent) -> str:
    return message if isinstance(message, str) else json.dumps(message)


def _counting() -> Any:
    """Bytes that never repeat, the same in every run: ids that can be told apart."""
    numbers: Iterator[int] = count(1)
    return lambda size: next(numbers).to_bytes(size, "big")
