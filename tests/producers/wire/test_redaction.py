"""No value gets into a receipt: whatever is marked on the wire is in no receipt, log or error."""

from __future__ import annotations

import base64
import io
import json
import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from random import Random
from typing import Any

import pytest
from conversation import (
    BOTH_MODES,
    FIRST,
    MODERN,
    SECOND,
    Conversation,
    accept,
    answer,
    call,
    cancelled,
    completion,
    error,
    findings,
    form,
    form_params,
    interim,
    notification,
    question,
    request,
    result,
    retry,
    success,
    tool_error,
    url,
    url_params,
    url_required,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation_receipts.leaks import LeakSearch
from elicitation_receipts.schemas import codec
from elicitation_receipts.schemas.identifiers import is_identifier, is_version
from elicitation_receipts.schemas.keys import Key
from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import Event, FindingName, RedactionStatus

QUICK = settings(max_examples=12, deadline=None)
SEEDS = st.integers(0, 2**32)
THOROUGH = settings(max_examples=100, deadline=None)

#: What marks are made of beside their digits; the awkward ones look different everywhere.
LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
AWKWARD = LETTERS + ' "\\/<&%äß漢🙂\n'


def mark(random: Random, alphabet: str = LETTERS) -> str:
    """A text of 14 to 30 characters with six digits in a row: never a safe identifier."""
    before, after = ("".join(random.choices(alphabet, k=random.randint(4, 12))) for _ in "ab")
    return f"{before}{random.randint(100_000, 999_999)}{after}"


def found(planted: Iterable[str], haystack: bytes) -> list[str]:
    """The marks of which some form stands in ``haystack``."""
    return [text for text in planted if seen([text], haystack)]


def seen(planted: Iterable[str], haystack: bytes) -> bool:
    """Whether any form of any mark stands in ``haystack``."""
    search = LeakSearch(
        form for text in planted for form in (text, text.lower(), text.upper(), repr(text)[1:-1])
    )
    search.look("receipts", haystack)
    return search.places != []


class Planter:
    """Gives marks, and remembers each. Equal seeds, equal marks."""

    def __init__(self, seed: int) -> None:
        self.planted: list[str] = []
        self._random = Random(seed)

    def __call__(self, *, awkward: bool = True) -> str:
        self.planted.append(mark(self._random, AWKWARD if awkward else LETTERS))
        return self.planted[-1]

    def number(self) -> int:
        number = self._random.randint(10**13, 10**15)
        self.planted.append(str(number))
        return number

    def one_of(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def several(self, least: int, most: int) -> range:
        return range(self._random.randint(least, most))

    # The places a value can be

    def field(self, kind: str) -> dict[str, Any]:
        texts = {"title": self(), "description": self(), "x-note": self()}
        match kind:
            case "string":
                return {**texts, "type": "string", "default": self(), "pattern": self()}
            case "choice":
                return {**texts, "type": "string", "enum": [self(), self()], "enumNames": [self()]}
            case "titled":
                return {**texts, "type": "string", "oneOf": [{"const": self(), "title": self()}]}
            case "several":
                return {**texts, "type": "array", "items": {"type": "string", "enum": [self()]}}
            case "number":
                return {**texts, "type": "integer", "minimum": self.number()}
            case _:
                return {**texts, "const": self(), self(): self(), "default": {self(): [self()]}}

    def form(self) -> dict[str, Any]:
        every = ("string", "choice", "titled", "several", "number", "odd")
        kinds = [self.one_of(*every) for _ in self.several(0, 4)]
        properties = {self(): self.field(kind) for kind in kinds}
        required = [*list(properties)[:1], self()]
        schema = {
            "type": "object",
            "title": self(),
            "description": self(),
            "$schema": self(),
            "properties": properties,
            "required": required,
            self(): self(),
        }
        return {
            "message": self(),
            "requestedSchema": schema,
            "_meta": {self(): self()},
            self(): self(),
        }

    def address(self) -> dict[str, Any]:
        host = self.one_of("a.example", "xn--bcher-kva.example", "192.0.2.7", "[::1]:8443")
        if self.one_of(True, False):
            host = f"{self(awkward=False)}.example"
        user = self(awkward=False)
        scheme = self.one_of("https", "http", "ftp", "javascript", "odd-scheme")
        address = (
            f"{scheme}://{user}:{self(awkward=False)}@{host}/{self()}?{self()}={self()}#{self()}"
        )
        return {
            "mode": "url",
            "message": self(),
            "url": self.one_of(address, self()),
            "elicitationId": self(),
            "_meta": {self(): self()},
        }

    def unknown(self) -> dict[str, Any]:
        return {**self.form(), "mode": self()}

    def asking(self) -> dict[str, Any]:
        kind = self.one_of("form", "form", "url", "unknown")
        asking: dict[str, Any] = {
            "form": self.form,
            "url": self.address,
            "unknown": self.unknown,
        }[kind]()
        return asking

    def content(self, asked: dict[str, Any]) -> Any:
        properties = asked.get("requestedSchema", {}).get("properties", {})
        values: dict[str, Any] = {name: self.value() for name in properties}
        values[self()] = self.value()
        return self.one_of(values, values, self(), [self()], {})

    def value(self) -> Any:
        kind = self.one_of("text", "number", "texts", "object")
        if kind == "number":
            return self.number()
        return {"text": self(), "texts": [self(), self()], "object": {self(): self()}}[kind]

    def given(self, asked: dict[str, Any]) -> Any:
        action = self.one_of("accept", "accept", "decline", "cancel", self())
        answers: dict[str, Any] = {
            "action": action,
            "content": self.content(asked),
            "_meta": {self(): self()},
            self(): self(),
        }
        return self.one_of(answers, answers, self(), [self()])

    def error(self, id_: Any) -> dict[str, Any]:
        code = self.one_of(-32602, -32603, 0, self.number())
        return error(id_, code, self(), {self(): [self()]})

    def id(self) -> Any:
        return self.one_of(self(), self.number())


def play_second(plant: Planter, revision: str) -> Conversation:
    """Questions as server requests and as -32042, every value marked."""
    talk = Conversation(
        revision,
        capabilities={**BOTH_MODES, plant(): {plant(): plant()}},
        client={"name": plant(), "version": plant(), "title": plant()},
        server={"name": plant(), "version": plant(), plant(): plant()},
    )
    method, operation = plant.one_of(
        ("tools/call", {"name": plant(), "arguments": {plant(): plant()}}),
        ("prompts/get", {"name": plant(), "arguments": {plant(): plant()}}),
        ("resources/read", {"uri": f"https://x.example/{plant(awkward=False)}"}),
    )
    call_id, retry_id = plant.id(), plant.id()
    talk.client(request(call_id, method, {**operation, "_meta": {plant(): plant()}}))
    if plant.one_of(True, False):
        entries: list[Any] = [plant.address(), plant.asking(), plant()]
        talk.server(url_required(call_id, *entries))
        talk.wait(seconds=5)
        talk.client(request(retry_id, method, operation))
        talk.server(completion(entries[0]["elicitationId"]))
        call_id = retry_id
    for _ in plant.several(1, 3):
        asked, question_id = plant.asking(), plant.id()
        talk.server(question(question_id, asked))
        talk.wait(seconds=plant.one_of(0, 5))
        reply = plant.one_of("answer", "error", "nothing", "cancel", "both", "unknown")
        match reply:
            case "answer":
                talk.client(answer(question_id, plant.given(asked)))
            case "error":
                talk.client(plant.error(question_id))
            case "cancel":
                talk.server({**cancelled(question_id), "reason": plant()})
            case "both":
                talk.client({**plant.error(question_id), "result": plant.given(asked)})
            case "unknown":
                talk.client(answer(plant.id(), plant.given(asked)))
            case _:
                pass
    talk.server(completion(plant()))
    talk.server(notification(plant(), **{plant(): plant()}))
    final = plant.one_of(tool_error(call_id, plant()), plant.error(call_id))
    talk.server(final)
    talk.close()
    return talk


def play_modern(plant: Planter) -> Conversation:
    """Questions in interim results, every value marked."""
    talk = Conversation(
        MODERN,
        capabilities={**BOTH_MODES, plant(): plant()},
        client={"name": plant(), "version": plant()},
    )
    tool, arguments = plant(), {plant(): plant()}
    number, state = plant.id(), None
    talk.client(call(number, arguments, tool))
    for _ in plant.several(1, 3):
        questions = {plant(): plant.asking() for _ in plant.several(1, 3)}
        state = plant.one_of(None, plant())
        message = interim(number, questions, state)
        message["result"]["_meta"] = {
            "io.modelcontextprotocol/serverInfo": {"name": plant(), "version": plant()},
            plant(): plant(),
        }
        talk.server(message)
        talk.wait(seconds=5)
        number = plant.id()
        answers = {key: plant.given(asked) for key, asked in questions.items()}
        answers[plant()] = plant.given({})
        echoed = plant.one_of(state, state, None, plant())
        changed = plant.one_of(arguments, arguments, {plant(): plant()})
        talk.client(retry(number, answers, echoed, changed, tool))
    talk.server(
        plant.one_of(
            tool_error(number, plant()),
            plant.error(number),
            error(number, -32021, plant(), {"requiredCapabilities": {plant(): plant()}}),
        )
    )
    talk.close()
    return talk


class Heard(logging.Handler):
    """Every log record of any level, as text."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


@contextmanager
def overheard() -> Iterator[list[str]]:
    """What is logged or printed meanwhile."""
    root, heard, printed = logging.getLogger(), Heard(), io.StringIO()
    level = root.level
    root.addHandler(heard)
    root.setLevel(logging.NOTSET)
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            yield heard.texts
    finally:
        root.removeHandler(heard)
        root.setLevel(level)
        heard.texts.append(printed.getvalue())


def assert_no_mark(planted: list[str], receipts: list[Receipt], texts: list[str]) -> None:
    haystack = b"\n".join(
        [
            *(codec.encode(receipt) for receipt in receipts),
            *(repr(receipt).encode() for receipt in receipts),
            *(text.encode("utf-8", "replace") for text in texts),
        ]
    )
    if seen(planted, haystack):
        assert found(planted, haystack) == []


@given(seed=SEEDS, alphabet=st.sampled_from([LETTERS, AWKWARD]))
def test_a_mark_is_never_a_safe_identifier(seed: int, alphabet: str) -> None:
    text = mark(Random(seed), alphabet)
    assert len(text) >= 14
    assert not is_identifier(text)
    assert not is_version(text)


@given(seed=SEEDS, before=st.binary(max_size=5))
def test_a_mark_would_be_found(seed: int, before: bytes) -> None:
    plant = Planter(seed)
    text = [plant(), plant()][0]
    for hidden in (
        text.encode(),
        text.upper().encode(),
        json.dumps({"a": text}).encode(),
        text.encode().hex().encode(),
        base64.b64encode(before + text.encode() + b"!"),
    ):
        assert found(plant.planted, hidden) == [text]


def assert_nothing_leaks(seed: int, revision: str) -> None:
    plant = Planter(seed)
    with overheard() as texts:
        talk = play_modern(plant) if revision == MODERN else play_second(plant, revision)
    assert talk.of(Event.REQUESTED) != []
    assert_no_mark(plant.planted, talk.receipts, texts)


@pytest.mark.parametrize("revision", [FIRST, SECOND, MODERN])
@QUICK
@given(seed=SEEDS)
def test_no_mark_of_a_session_is_in_a_receipt(revision: str, seed: int) -> None:
    assert_nothing_leaks(seed, revision)


@pytest.mark.slow
@pytest.mark.parametrize("revision", [FIRST, SECOND, MODERN])
@THOROUGH
@given(seed=SEEDS)
def test_no_mark_of_very_many_sessions_is_in_a_receipt(revision: str, seed: int) -> None:
    assert_nothing_leaks(seed, revision)


def test_what_is_held_in_memory_is_not_shown_by_an_error() -> None:
    """A schema that provokes the validator: its words repeat the value, ours do not."""
    text = "Ada198004128765"
    with overheard() as texts:
        talk = Conversation()
        talk.client(call(1, {"secret": text}))
        for number, schema in enumerate(
            (
                {"type": "object", "properties": {text: {"$ref": f"#/{text}"}}},
                {"type": "object", "properties": {text: {"pattern": f"({text}"}}},
                {"type": "object", "properties": {text: {"type": text}}},
                {"type": "object", "properties": {text: {"format": text}}},
                {"type": "object", "properties": {text: {"minimum": text}}},
            )
        ):
            talk.server(question(number, {"message": text, "requestedSchema": schema}))
            talk.wait(seconds=5)
            talk.client(accept(number, {text: text}))
    assert len(talk.of(Event.ANSWERED)) == 5
    assert_no_mark([text], talk.receipts, texts)


# Redaction that fails


def broken(*_: object) -> bytes:
    raise OSError("the keys are gone; the secret was hunter2hunter2")


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Key, "mac", broken)


CONTENT_FIELDS = (
    "server_name",
    "server_version",
    "client_name",
    "client_version",
    "protocol_version",
    "declared_modes",
    "capability_digest",
    "operation_method",
    "tool",
    "session_ref",
    "url_origin",
    "validation",
    "question_digest",
    "payload_digest",
    "subject_ref",
)


def assert_failed(receipt: Receipt) -> None:
    assert receipt.redaction_status is RedactionStatus.FAILED
    assert FindingName.REDACTION_FAILED in findings(receipt)
    assert {name: getattr(receipt, name) for name in CONTENT_FIELDS} == dict.fromkeys(
        CONTENT_FIELDS
    )
    assert receipt.correlation_refs == ()


@pytest.mark.usefixtures("no_keys")
def test_if_redaction_fails_the_receipts_are_still_emitted() -> None:
    with overheard() as texts:
        talk = Conversation()
        talk.client(call(1))
        talk.server(form(7))
        talk.server(url(8))
        talk.wait(seconds=5)
        talk.client(accept(7, {"branch": 5}))
        talk.client(accept(8))
        talk.server(completion())
        talk.server(success(1))
        talk.client(accept(99))
        talk.client(call(2))
        talk.server(url_required(2, url_params("pay")))
        talk.close()
    assert talk.story == [
        "requested open [redaction_failed]",
        "requested open [redaction_failed]",
        "answered invalid by person_claimed [accept_schema_mismatch redaction_failed]",
        "answered consented by person_claimed [redaction_failed]",
        "completed completed by runtime (server_notification) [redaction_failed]",
        "resumed (success) [redaction_failed]",
        "resumed (success) [redaction_failed]",
        "noted [redaction_failed unknown_response_id]",
        "requested open [redaction_failed]",
        "abandoned abandoned by runtime [redaction_failed unanswered]",
    ]
    for receipt in talk.receipts:
        assert_failed(receipt)
    assert_no_mark(["hunter2hunter2"], talk.receipts, texts)


@pytest.mark.usefixtures("no_keys")
def test_if_redaction_fails_a_modern_session_is_still_followed() -> None:
    talk = Conversation(MODERN)
    talk.client(call(1))
    talk.server(interim(1, {"k": form_params()}, "s"))
    talk.wait(seconds=5)
    talk.client(retry(2, {"k": {"action": "decline"}}, "s"))
    talk.server(success(2))
    assert talk.story == [
        "requested open [redaction_failed]",
        "answered declined by person_claimed [redaction_failed]",
        "resumed (success) [redaction_failed]",
    ]
    for receipt in talk.receipts:
        assert_failed(receipt)


def test_redaction_that_fails_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    with monkeypatch.context() as broken_keys:
        broken_keys.setattr(Key, "mac", broken)
        talk.wait(seconds=5)
        talk.client(accept(7, {}))
    talk.server(success(1))
    assert [r.redaction_status for r in talk.receipts] == [
        RedactionStatus.APPLIED,
        RedactionStatus.FAILED,
        RedactionStatus.APPLIED,
    ]
    assert len({r.elicitation_id for r in talk.receipts}) == 1


def test_content_without_a_canonical_form_fails_redaction_of_its_receipt_only() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7))
    talk.wait(seconds=5)
    talk.client(accept(7, {"branch": "\ud800"}))
    talk.server(success(1))
    assert talk.story[1:] == [
        "answered accepted by person_claimed [redaction_failed]",
        "resumed (success)",
    ]
    assert_failed(talk.receipts[1])


def test_whole_numbers_too_large_to_be_exact_are_still_digested() -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(form(7, properties={"n": {"type": "integer", "title": "N"}}))
    talk.wait(seconds=5)
    talk.client(accept(7, {"n": 10**30}))
    assert talk.last.payload_digest is not None


def test_the_same_answer_has_another_digest_each_time() -> None:
    digests = set()
    talk = Conversation()
    for number in range(3):
        talk.client(call(number))
        talk.server(form(f"q{number}"))
        talk.wait(seconds=5)
        talk.client(accept(f"q{number}", {"branch": "main"}))
        talk.server(success(number))
        (answered,) = talk.of(Event.ANSWERED)[number:]
        assert answered.payload_digest is not None
        digests.add(answered.payload_digest.value)
    assert len(digests) == 3


def test_nothing_is_printed_or_logged() -> None:
    with overheard() as texts:
        talk = Conversation()
        talk.client(call(1))
        talk.server(b"no json")
        talk.server(form(7, properties={"a": {"pattern": "(?<=bad", "title": "A"}}))
        talk.client(accept(7, {"a": "x"}))
        talk.server(result(1))
        talk.close()
    assert [text for text in texts if text] == []
    assert sys.exc_info() == (None, None, None)
