"""Rules for all traffic: nothing escapes the core, every question is accounted for once."""

from __future__ import annotations

import json
from itertools import count
from random import Random
from typing import Any

import pytest
from accounting import check_life, lives
from conversation import (
    BOTH_MODES,
    CANCELLED,
    DECLINED,
    FIRST,
    FORM_ONLY,
    MODERN,
    NO_MODE,
    SECOND,
    Conversation,
    accepted,
    answer,
    call,
    cancelled,
    completion,
    error,
    findings,
    form_params,
    interim,
    question,
    request,
    success,
    tool_error,
    url_params,
    url_required,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation_receipts.schemas.receipt import Receipt
from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    DecidedBy,
    Event,
    FindingName,
    Outcome,
)

QUICK = settings(max_examples=30, deadline=None)
THOROUGH = settings(max_examples=500, deadline=None)
SEEDS = st.integers(0, 2**32)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "method", "params", "result", "error", "code", "data", "action", "content"]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)

ODD: tuple[Any, ...] = (None, True, 1.0, "x", [1], {"a": 1}, {})
FIELDS: tuple[dict[str, Any], ...] = (
    {},
    {"a": {"type": "string", "title": "A"}},
    {"b": {"type": "boolean", "maxLength": 2_000}},
    {"c": {"$ref": "#/nowhere"}},
    {f"f{n}": {"title": "F"} for n in range(12)},
)
TEXTS = ("Which?", "Where?", "See https://a.example")
ADDRESSES = (
    "https://a.example/",
    "http://u:p@[::1]/",
    "https://[::1",
    "https://xn--e1afmkfd.example/",
    "javascript:1",
)
CONTENTS: tuple[Any, ...] = (None, {}, {"a": "main"}, {"a": 5}, {"b": True}, {"z": "main"}, "x")
CODES = (-32600, -32601, -32602, -32603, 0)


class Rambling:
    """A conversation that is mostly sensible and often is not. Equal seeds, equal conversations."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.put = 0  # messages `elicitation/create` sent by the server
        revision = self._one_of(FIRST, SECOND, SECOND, MODERN, MODERN)
        capabilities = self._one_of(BOTH_MODES, BOTH_MODES, FORM_ONLY, NO_MODE)
        self.talk = Conversation(revision, capabilities, greet=self._odds(0.9))
        self._ids = count(1)
        self._calls: dict[Any, dict[str, Any]] = {}  # outstanding, by id
        self._waiting: list[tuple[dict[str, Any], list[str], Any]] = []  # call, keys, state
        self._questions: list[Any] = []
        self._ceremonies = ["never put"]
        for _ in range(self._random.randint(1, 60)):
            self._step()
        self.talk.close()

    def _step(self) -> None:
        modern = self.talk.revision == MODERN
        steps = {
            self._call: 1 if self._calls else 4,
            self._ask: 1 if modern else 5,
            self._ask_in_result: 6 if modern else 0,
            self._ask_in_error: 1 if modern else 2,
            self._answer: 6 if self._questions else 1,
            self._retry: 6 if self._waiting else 0,
            self._finish: 1,
            self._complete: 1,
            self._cancel: 1,
            self._noise: 1,
            self._pass_time: 4,
        }
        self._random.choices(list(steps), weights=list(steps.values()))[0]()

    def _call(self) -> None:
        self._send_call(call(self._id(), self._one_of({}, {"path": "/x"}), "deploy"))

    def _send_call(self, message: dict[str, Any]) -> None:
        if isinstance(message["id"], str | int):
            self._calls[message["id"]] = message
        self.talk.client(self._batched(message))

    def _ask(self) -> None:
        number = self._id()
        self._questions.append(number)
        self.put += 1
        self.talk.server(self._batched(question(number, self._params())))

    def _ask_in_result(self) -> None:
        if not self._calls:
            return
        number = self._some_call()
        keys = [key for key in ("k", "l") if self._odds(0.7)]
        state = self._one_of(None, "s", "t", 5)
        self._waiting.append((self._calls.pop(number), keys, state))
        self.talk.server(
            self._batched(interim(number, {key: self._params() for key in keys}, state))
        )

    def _ask_in_error(self) -> None:
        if not self._calls:
            return
        number = self._some_call()
        self._waiting.append((self._calls.pop(number), [], None))
        self.talk.server(self._batched(url_required(number, *(self._params() for _ in "ab"))))

    def _answer(self) -> None:
        number = self._id()
        if self._questions and self._odds(0.95):
            number = self._one_of(*self._questions)
        if self._odds(0.1):
            number = str(number)
        elif self._odds(0.8) and number in self._questions:
            self._questions.remove(number)
        given = answer(number, self._given())
        if self._odds(0.15):
            given = {**given, **error(number, self._one_of(*CODES))}
        if self._odds(0.8) and "error" in given:
            del given["result"]
        self.talk.client(self._batched(given))

    def _retry(self) -> None:
        if not self._waiting:
            return
        first, keys, state = self._one_of(*self._waiting)
        if self._odds(0.8):
            self._waiting.remove((first, keys, state))
        params = dict(first["params"])
        if keys and self._odds(0.9):
            params["inputResponses"] = {k: self._given() for k in keys if self._odds(0.9)}
        if self._odds(0.1):
            params["inputResponses"] = self._one_of(*ODD, {"z": self._given()})
        if state is not None and self._odds(0.9):
            params["requestState"] = state
        if self._odds(0.1):
            params["arguments"] = {"path": "/y"}
        number = self._one_of(first["id"], *[self._id()] * 9)
        self._send_call(request(number, "tools/call", params))

    def _finish(self) -> None:
        number = self._some_call() if self._calls else self._id()
        self._calls.pop(number, None)
        final = self._one_of(
            success(number),
            success(number),
            tool_error(number, "no main here"),
            error(number, -32603),
            error(number, -32021, data={"requiredCapabilities": {"elicitation": {"url": {}}}}),
        )
        self.talk.server(self._batched(final))

    def _complete(self) -> None:
        self.talk.server(completion(self._one_of(*self._ceremonies, None)))

    def _cancel(self) -> None:
        if self._odds(0.5):
            self.talk.client(cancelled(self._one_of(*self._calls, *ODD)))
        else:
            self.talk.server(cancelled(self._one_of(*self._questions, *ODD)))

    def _noise(self) -> None:
        send = self._one_of(self.talk.client, self.talk.server)
        send(self._one_of(b"", b"{", b"\xff", "5", "[]", "{}", '{"id":1}', '{"method":5}'))

    def _pass_time(self) -> None:
        self.talk.wait(self._one_of(0.1, *[5] * 20, 700, 4_000))

    def _params(self) -> Any:
        if self._odds(0.05):
            return self._one_of(*ODD)
        if self._odds(0.4):
            ceremony = self._one_of("pay", "sign", None)
            self._ceremonies.append(ceremony)
            params = url_params(ceremony, self._one_of(*[ADDRESSES[0]] * 5, *ADDRESSES))
        else:
            fields = self._one_of(*[FIELDS[1]] * 5, *FIELDS)
            params = form_params(
                self._one_of(*[TEXTS[0]] * 5, *TEXTS), fields, self._one_of([], ["a"])
            )
        if self._odds(0.1):
            params["mode"] = self._one_of("voice", *ODD)
        if self._odds(0.1):
            del params[self._one_of(*params)]
        return params

    def _given(self) -> Any:
        usual = accepted(self._one_of(*CONTENTS))
        given = self._one_of(usual, usual, usual, DECLINED, CANCELLED, {"action": "no"}, *ODD)
        if self._odds(0.1) and given in (DECLINED, CANCELLED):
            return {**given, "content": {"a": "main"}}
        return given

    def _batched(self, message: Any) -> Any:
        return [message] if self._odds(0.04) else message

    def _some_call(self) -> Any:
        return self._one_of(*self._calls)

    def _id(self) -> Any:
        return self._one_of(*[next(self._ids)] * 20, 1, "1", "02", *ODD)

    def _one_of(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def _odds(self, odds: float) -> bool:
        return self._random.random() < odds


# Nothing escapes


@QUICK
@given(frames=st.lists(st.tuples(st.booleans(), st.binary(max_size=60)), max_size=10))
def test_any_bytes_in_any_order(frames: list[tuple[bool, bytes]]) -> None:
    talk = Conversation()
    for from_client, frame in frames:
        (talk.client if from_client else talk.server)(frame)
    talk.close()
    assert all(r.event is Event.NOTED for r in talk.receipts)


@QUICK
@given(
    revision=st.sampled_from([SECOND, MODERN]),
    frames=st.lists(st.tuples(st.booleans(), JSON), max_size=10),
)
def test_any_json_in_any_order(revision: str, frames: list[tuple[bool, Any]]) -> None:
    talk = Conversation(revision)
    for from_client, value in frames:
        (talk.client if from_client else talk.server)(json.dumps(value))
    talk.close()
    assert talk.close() == []


@pytest.mark.parametrize("member", ["id", "method", "params", "result", "error"])
@QUICK
@given(value=JSON, from_client=st.booleans())
def test_any_value_of_any_member(member: str, value: object, from_client: bool) -> None:
    talk = Conversation()
    talk.client(call(1))
    talk.server(question(7, form_params()))
    for message in (call(2), question(8, url_params()), answer(7, DECLINED), success(1)):
        (talk.client if from_client else talk.server)(json.dumps({**message, member: value}))
    talk.close()
    assert talk.close() == []


# Every question is accounted for, once


def check_unanswered(life: list[Receipt]) -> None:
    """`unanswered`: ended abandoned, and the last round had no answer of any kind."""
    ended = next(r for r in reversed(life) if r.outcome is not None)
    answers = [r for r in life if r.round == ended.round and r.event is Event.ANSWERED]
    unanswered = ended.outcome is Outcome.ABANDONED and not answers
    assert (FindingName.UNANSWERED in findings(ended)) is unanswered


def check_who_decided(receipt: Receipt) -> None:
    names = findings(receipt)
    automatic = receipt.decided_by is DecidedBy.AUTOMATIC_SUSPECTED
    assert (FindingName.IMPLAUSIBLE_LATENCY in names) is automatic
    assert receipt.decided_by in DECIDED_BY[receipt.event]
    if receipt.outcome in (Outcome.MALFORMED, Outcome.AMBIGUOUS):
        assert receipt.decided_by is DecidedBy.UNKNOWN
    if receipt.event is Event.ANSWERED and FindingName.ID_NOT_VERBATIM in names:
        assert receipt.decided_by is DecidedBy.UNKNOWN
    if receipt.outcome is Outcome.INVALID:
        assert FindingName.ACCEPT_SCHEMA_MISMATCH in names
    if receipt.outcome is not None:
        assert receipt.outcome in OUTCOMES[receipt.event]


DECIDED_BY: dict[Event, set[DecidedBy | None]] = {
    Event.REQUESTED: {None},
    Event.NOTED: {None},
    Event.RESUMED: {None},
    Event.COMPLETED: {DecidedBy.RUNTIME},
    Event.ABANDONED: {DecidedBy.RUNTIME},
    Event.REFUSED: {DecidedBy.RUNTIME, DecidedBy.UNKNOWN},
    Event.ANSWERED: {
        DecidedBy.PERSON_CLAIMED,
        DecidedBy.AUTOMATIC_SUSPECTED,
        DecidedBy.UNKNOWN,
    },
}
OUTCOMES: dict[Event, set[Outcome]] = {
    Event.REQUESTED: {Outcome.OPEN},
    Event.NOTED: set(),
    Event.RESUMED: set(),
    Event.COMPLETED: {Outcome.COMPLETED},
    Event.ABANDONED: {Outcome.ABANDONED, Outcome.UNPROVEN},
    Event.REFUSED: {Outcome.UNSUPPORTED, Outcome.ERRORED, Outcome.WITHDRAWN},
    Event.ANSWERED: {
        Outcome.ACCEPTED,
        Outcome.DECLINED,
        Outcome.CANCELLED,
        Outcome.INVALID,
        Outcome.CONSENTED,
        Outcome.MALFORMED,
        Outcome.AMBIGUOUS,
    },
}


def check(seed: int) -> None:
    rambling = Rambling(seed)
    receipts = rambling.talk.receipts
    for life in lives(receipts):
        check_life(life)
        check_unanswered(life)
    for receipt in receipts:
        check_who_decided(receipt)
    requested = [r for r in receipts if r.event is Event.REQUESTED]
    assert sum(r.carrier is Carrier.SERVER_REQUEST for r in requested) == rambling.put
    assert len({r.receipt_id for r in receipts}) == len(receipts)
    assert rambling.talk.close() == []


@QUICK
@given(seed=SEEDS)
def test_every_question_is_accounted_for_once(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@THOROUGH
@given(seed=SEEDS)
def test_every_question_of_very_many_sessions_is_accounted_for_once(seed: int) -> None:
    check(seed)


@QUICK
@given(seed=SEEDS)
def test_equal_traffic_leaves_equal_receipts(seed: int) -> None:
    assert Rambling(seed).talk.receipts == Rambling(seed).talk.receipts


def test_the_conversations_checked_here_are_worth_checking() -> None:
    """Between them they show every outcome of these carriers, and later rounds."""
    receipts = [r for seed in range(60) for r in Rambling(seed).talk.receipts]
    shown = {r.outcome for r in receipts}
    assert set(Outcome) - shown == {Outcome.BLOCKED, Outcome.EXPIRED}
    assert {r.carrier for r in receipts} == {None, *Carrier} - {Carrier.TASK}
    assert max(r.round for r in receipts) >= 3
    assert len({name for r in receipts for name in findings(r)}) >= 40
