"""Whatever lives there are, each report says what counting them one by one says."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lives import (
    AUTOMATIC,
    DAY,
    PERSON,
    POLICY,
    RUNTIME,
    SECOND,
    START,
    UNKNOWN,
    Lives,
    Step,
    answered,
    completed,
    ended,
    refused,
    requested,
    resumed,
)

from elicitation_receipts.queries.catalogue import Catalogue
from elicitation_receipts.schemas.vocabulary import (
    Carrier,
    DecidedBy,
    Fidelity,
    Keyword,
    Mode,
    Outcome,
    Vantage,
)

pytestmark = pytest.mark.slow

ANSWERS = (Outcome.ACCEPTED, Outcome.INVALID, Outcome.DECLINED, Outcome.CANCELLED)
#: How a round can end that nobody answered; BLOCKED and OPEN come once a life.
SILENT = {
    (Outcome.UNSUPPORTED, RUNTIME),
    (Outcome.ERRORED, RUNTIME),
    (Outcome.BLOCKED, POLICY),
    (Outcome.WITHDRAWN, RUNTIME),
    (Outcome.WITHDRAWN, UNKNOWN),
    (Outcome.EXPIRED, RUNTIME),
    (Outcome.ABANDONED, RUNTIME),
    (Outcome.OPEN, None),
}
WATCHERS = (
    (Vantage.STDIO, Fidelity.BYTES),
    (Vantage.ASGI, Fidelity.PARSED),
    (Vantage.SERVER, Fidelity.PARSED),
    (Vantage.REPLAY, Fidelity.BYTES),
)


@dataclass(frozen=True)
class Round:
    outcome: Outcome
    by: DecidedBy | None
    gap: int
    wait: int
    failed: tuple[tuple[str | None, Keyword], ...]

    @property
    def is_answered(self) -> bool:
        return (self.outcome, self.by) not in SILENT


@dataclass(frozen=True)
class Life:
    """What happened, said in a way a child could count."""

    mode: Mode
    server: str | None
    day: int
    watcher: tuple[Vantage, Fidelity]
    session: str | None
    attributed: bool
    worded: bool
    rounds: tuple[Round, ...]
    ceremony: int | None
    unproven: bool
    resumed: int | None

    @property
    def last(self) -> Round:
        return self.rounds[-1]

    @property
    def nobody_asked(self) -> bool:
        return not self.worded

    @property
    def state(self) -> Outcome:
        if self.last.outcome is not Outcome.CONSENTED:
            return self.last.outcome
        if self.ceremony is not None:
            return Outcome.COMPLETED
        return Outcome.UNPROVEN if self.unproven else Outcome.CONSENTED

    @property
    def answered_by(self) -> DecidedBy | None:
        return next((r.by for r in reversed(self.rounds) if r.is_answered), None)

    @property
    def standing(self) -> str:
        if self.state is Outcome.CONSENTED:
            return "open"
        if self.state in (*ANSWERS, Outcome.COMPLETED):
            if self.answered_by is AUTOMATIC:
                return "automatic"
            if self.answered_by is UNKNOWN:
                return "unknown"
        return self.state.value

    @property
    def decider(self) -> str | None:
        """The column of `declines`, where it is one that no person decided."""
        if self.standing in ("automatic", "unknown"):
            return self.standing
        if self.state in (Outcome.COMPLETED, Outcome.CONSENTED, Outcome.OPEN):
            return None
        by = RUNTIME if self.state is Outcome.UNPROVEN else self.last.by
        return by.value if by in (RUNTIME, POLICY, UNKNOWN) else None

    @property
    def put(self) -> bool:
        return self.state is not Outcome.BLOCKED and not self.nobody_asked

    @property
    def intervals(self) -> dict[str, int | None]:
        heard = [r for r in self.rounds if r.is_answered]
        wait = sum(r.wait for r in heard) if heard else None
        gaps = [r.gap for place, r in enumerate(self.rounds) if place and r.is_answered]
        total = sum(r.gap + r.wait for r in self.rounds) + (self.ceremony or 0)
        silence = 0 if self.last.is_answered else self.last.gap + self.last.wait
        went_on = self.resumed is not None and bool(heard)
        return {
            "human_wait": wait,
            "between_rounds": sum(gaps) if gaps else None,
            "ceremony": self.ceremony,
            "resume": silence + (self.resumed or 0) if went_on else None,
            "time_to_resume": total + (self.resumed or 0) if went_on else None,
        }

    def steps(self) -> Iterable[Step]:
        for number, r in enumerate(self.rounds):
            worded = {} if self.worded else {"question_digest": None}
            yield requested(after=r.gap if number else 0, **worded)
            if r.is_answered:
                assert r.by is not None
                yield answered(r.outcome, r.by, r.wait, r.failed)
            elif r.outcome in (Outcome.EXPIRED, Outcome.ABANDONED):
                yield ended(r.outcome, r.wait)
            elif r.outcome is not Outcome.OPEN:
                assert r.by is not None
                yield refused(r.outcome, r.by, r.wait)
        if self.ceremony is not None:
            yield completed(self.ceremony)
        elif self.unproven:
            yield ended(Outcome.UNPROVEN, SECOND)
        if self.resumed is not None:
            yield resumed(self.resumed)


@st.composite
def life(draw: st.DrawFn) -> Life:
    mode = draw(st.sampled_from(Mode))
    micros = st.integers(1, 1000 * SECOND)

    def one_round(outcomes: Iterable[tuple[Outcome, DecidedBy | None]], gap: int) -> Round:
        outcome, by = draw(st.sampled_from(list(outcomes)))
        failed: tuple[tuple[str | None, Keyword], ...] = ()
        if outcome is Outcome.INVALID:
            field = st.sampled_from(["email", "[2]", None])
            keyword = st.sampled_from([Keyword.TYPE, Keyword.FORMAT])
            failed = tuple(draw(st.lists(st.tuples(field, keyword), max_size=3)))
        return Round(outcome, by, gap, draw(micros), failed)

    people = (PERSON, AUTOMATIC, UNKNOWN)
    words = (Outcome.CONSENTED, *ANSWERS[2:]) if mode is Mode.URL else ANSWERS
    spoken = [(word, by) for word in words for by in people]
    again = [ending for ending in spoken if ending[0] is not Outcome.CONSENTED]
    garbled = [(Outcome.MALFORMED, UNKNOWN), (Outcome.AMBIGUOUS, UNKNOWN)]
    attributed = draw(st.booleans())
    worded = draw(st.integers(0, 9)) > 0
    if worded:
        earlier = draw(st.integers(0, 2)) if attributed else 0
        rounds = [one_round(again, draw(micros) if number else 0) for number in range(earlier)]
        rounds.append(
            one_round([*spoken, *garbled, *sorted(SILENT, key=str)], draw(micros) if earlier else 0)
        )
    else:
        rounds = [one_round([(Outcome.UNSUPPORTED, RUNTIME)], 0)]
    consented = rounds[-1].outcome is Outcome.CONSENTED
    ceremony = draw(micros) if consented and draw(st.booleans()) else None
    unproven = consented and ceremony is None and draw(st.booleans())
    over = rounds[-1].outcome not in (Outcome.OPEN, Outcome.ABANDONED) and not unproven
    goes_on = attributed and worded and over and (not consented or ceremony is not None)
    return Life(
        mode=mode,
        server=draw(st.sampled_from(["a", "b", None])),
        day=draw(st.integers(0, 1)),
        watcher=draw(st.sampled_from(WATCHERS)),
        session=draw(st.sampled_from(["one", "two", None])),
        attributed=attributed,
        worded=worded,
        rounds=tuple(rounds),
        ceremony=ceremony,
        unproven=unproven,
        resumed=draw(micros) if goes_on and draw(st.booleans()) else None,
    )


def eligible(lives: list[Life]) -> list[Life]:
    """Live ones if there are any; of a session those of one watcher, the earliest of WATCHERS."""
    alive = [life for life in lives if life.watcher[0] is not Vantage.REPLAY] or lives
    # WATCHERS stand in the order in which they are preferred.
    best: dict[str, int] = {}
    for life in alive:
        if life.session is not None:
            rank = WATCHERS.index(life.watcher)
            best[life.session] = min(rank, best.get(life.session, rank))
    return [
        life
        for life in alive
        if life.session is None or WATCHERS.index(life.watcher) == best[life.session]
    ]


#: Where an elicitation can stand in `completion`.
COLUMNS = (
    "accepted",
    "completed",
    "automatic",
    "unknown",
    "declined",
    "cancelled",
    "invalid",
    "malformed",
    "ambiguous",
    "unsupported",
    "errored",
    "blocked",
    "withdrawn",
    "expired",
    "abandoned",
    "unproven",
    "open",
)


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def completion(lives: list[Life]) -> dict[str, Any]:
    standing = Counter(life.standing for life in lives)
    put = sum(life.put for life in lives)
    done = sum(
        life.standing == "completed"
        or (life.standing == "accepted" and life.mode in (Mode.FORM, Mode.TASK_INPUT))
        for life in lives
    )
    rounds = sum(len(life.rounds) for life in lives if life.put)
    return {
        "put": put,
        **{name: standing[name] for name in COLUMNS},
        "rounds": rounds,
        "completion_rate": share(done, put),
    }


def declines(lives: list[Life]) -> dict[str, Any]:
    put = sum(life.put for life in lives)
    declined = sum(life.standing == "declined" for life in lives)
    cancelled = sum(life.standing == "cancelled" for life in lives)
    nobody = Counter(life.decider for life in lives)
    return {
        "put": put,
        "declined": declined,
        "cancelled": cancelled,
        **{name: nobody[name] for name in ("automatic", "runtime", "policy", "unknown")},
        "rounds": sum(len(life.rounds) for life in lives if life.put),
        "decline_rate": share(declined, put),
        "cancel_rate": share(cancelled, put),
    }


def validation(lives: list[Life]) -> dict[Hashable, dict[str, Any]]:
    answers: Counter[int] = Counter()
    failures: dict[Any, Counter[DecidedBy | None]] = defaultdict(Counter)
    for life in lives:
        for number, r in enumerate(life.rounds, 1):
            answers[number] += r.by is PERSON and r.outcome in (Outcome.ACCEPTED, Outcome.INVALID)
            if r.outcome is Outcome.INVALID:
                for field, keyword in set(r.failed) or {(None, None)}:
                    failures[keyword, field, number][r.by] += 1
    return {
        key: {
            "failures": by[PERSON],
            "automatic": by[AUTOMATIC],
            "unknown": by[UNKNOWN],
            "answers": answers[key[2]],
            "failure_rate": share(by[PERSON], answers[key[2]]),
        }
        for key, by in failures.items()
    }


def resume(lives: list[Life]) -> dict[Hashable, dict[str, Any]]:
    rows: dict[Hashable, dict[str, Any]] = {}
    for name in ("human_wait", "between_rounds", "ceremony", "resume", "time_to_resume"):
        measured = [(life.intervals[name], life.answered_by) for life in lives]
        counted = sorted(us / 1e6 for us, by in measured if us is not None and by in (PERSON, None))

        def rank(share: float, counted: list[float] = counted) -> float | None:
            return counted[math.ceil(share * len(counted)) - 1] if counted else None

        rows[(name,)] = {
            "count": len(counted),
            "p50_seconds": rank(0.5),
            "p90_seconds": rank(0.9),
            "p99_seconds": rank(0.99),
            "max_seconds": rank(1),
            "automatic": sum(us is not None and by is AUTOMATIC for us, by in measured),
            "unknown": sum(us is not None and by is UNKNOWN for us, by in measured),
            "wall_clock": 0,
            "unattributed": sum(life.put and not life.attributed for life in lives),
        }
    return rows


#: How each question is counted, and which columns name a row within its group.
COUNTED: dict[str, tuple[Callable[[list[Life]], Any], tuple[str, ...]]] = {
    "completion": (lambda lives: {(): completion(lives)}, ()),
    "declines": (lambda lives: {(): declines(lives)}, ()),
    "validation": (validation, ("keyword", "field", "round")),
    "resume": (resume, ("interval",)),
}


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    # A dozen at least: what makes two lives differ shows only where both are there.
    lived=st.lists(life(), min_size=12, max_size=40),
    by=st.sampled_from([[], ["server"], ["mode", "day"]]),
)
def test_counting_one_by_one_gives_the_same(
    lived: list[Life], by: list[str], lives: Lives, catalogue: Catalogue
) -> None:
    lives.clear()
    for one in lived:
        land(one, lives)
    groups: dict[tuple[Any, ...], list[Life]] = defaultdict(list)
    for one in eligible(lived):
        named = {"server": one.server, "mode": one.mode.value, "day": one.day}
        groups[tuple(named[name] for name in by)].append(one)

    for question, (count, key) in COUNTED.items():
        expected = {
            (*group, *place): row
            for group, members in groups.items()
            for place, row in count(members).items()
        }
        result = catalogue.run(lives.connection, question, {"by": by})
        found = {}
        for cells in result.rows:
            row = dict(zip(result.columns, cells, strict=True))
            if "day" in row:
                row["day"] = row["day"].day - 1
            found[tuple(row.pop(name) for name in (*by, *key))] = row
        assert found == expected, question
        assert len(found) == len(result.rows), question


def land(one: Life, lives: Lives) -> None:
    lives.add(
        *one.steps(),
        at=START + one.day * DAY,
        session=one.session,
        mode=one.mode,
        carrier=Carrier.SERVER_REQUEST if one.worded else Carrier.MULTI_ROUND_TRIP,
        server_name=one.server,
        vantage=one.watcher[0],
        fidelity=one.watcher[1],
        operation_id=uuid4() if one.attributed else None,
    )
