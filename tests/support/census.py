"""The census: what each report must say of a population, counted one by one, without SQL."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from datetime import date
from typing import Any

from lives import AUTOMATIC, DAY, PERSON, START, UNKNOWN
from population import Asked

from elicitation_receipts.schemas.vocabulary import Mode, Outcome, Proof

Rows = dict[Hashable, dict[str, Any]]

#: When ages are taken.
AS_OF = START + 10 * DAY

_LEFT = (Outcome.ABANDONED, Outcome.EXPIRED, Outcome.UNPROVEN)
_STANDINGS = (
    *("accepted", "completed", "automatic", "unknown", "declined", "cancelled", "invalid"),
    *("malformed", "ambiguous", "unsupported", "errored", "blocked", "withdrawn", "expired"),
    *("abandoned", "unproven", "open"),
)


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def rank(values: Iterable[int], part: float) -> int | None:
    """The smallest value that so many do not exceed."""
    ordered = sorted(values)
    return ordered[math.ceil(part * len(ordered)) - 1] if ordered else None


def seconds(values: Iterable[int], part: float) -> float | None:
    found = rank(values, part)
    return None if found is None else found / 1e6


def day(number: int) -> date:
    return date(2026, 11, 1 + number)


def standing(one: Asked) -> str:
    if one.outcome in (Outcome.OPEN, Outcome.CONSENTED):
        return "open"
    if one.outcome in (Outcome.UNPROVEN, Outcome.MALFORMED) or one.outcome in _LEFT:
        return one.outcome.value
    return {AUTOMATIC: "automatic", UNKNOWN: "unknown"}.get(one.by, one.outcome.value)  # type: ignore[arg-type]


def who(one: Asked) -> str:
    if standing(one) == "open":
        return "undecided"
    if one.outcome is Outcome.UNPROVEN:
        return "runtime"
    names = {PERSON: "person", AUTOMATIC: "automatic", UNKNOWN: "unknown"}
    return names.get(one.by, str(one.by))  # type: ignore[arg-type]


def is_put(one: Asked) -> bool:
    return one.outcome is not Outcome.BLOCKED


def rounds(one: Asked) -> int:
    return 2 if one.failed_first else 1


def completion(people: list[Asked]) -> Rows:
    stands = Counter(standing(one) for one in people)
    put = sum(map(is_put, people))
    done = stands["accepted"] + stands["completed"]
    return {
        (): {
            "put": put,
            **{name: stands[name] for name in _STANDINGS},
            "rounds": sum(rounds(one) for one in people if is_put(one)),
            "completion_rate": share(done, put),
        }
    }


def declines(people: list[Asked]) -> Rows:
    put = sum(map(is_put, people))
    stands, by = Counter(map(standing, people)), Counter(map(who, people))
    return {
        (): {
            "put": put,
            **{name: stands[name] for name in ("declined", "cancelled")},
            **{name: by[name] for name in ("automatic", "runtime", "policy", "unknown")},
            "rounds": sum(rounds(one) for one in people if is_put(one)),
            "decline_rate": share(stands["declined"], put),
            "cancel_rate": share(stands["cancelled"], put),
        }
    }


def outcomes(people: list[Asked]) -> Rows:
    rows: dict[Hashable, Counter[str]] = defaultdict(Counter)
    for one in people:
        rows[(one.outcome.value,)][who(one)] += 1
    columns = ("person", "automatic", "runtime", "policy", "unknown", "undecided")
    return {
        key: {"elicitations": by.total(), **{name: by[name] for name in columns}}
        for key, by in rows.items()
    }


def abandonment(people: list[Asked]) -> Rows:
    left = [one for one in people if one.outcome in _LEFT]
    ended = Counter(one.outcome for one in people)
    put = sum(map(is_put, people))
    took = [one.wait + one.ceremony * (one.outcome is Outcome.UNPROVEN) for one in left]
    return {
        (): {
            "put": put,
            "abandoned": ended[Outcome.ABANDONED],
            "expired": ended[Outcome.EXPIRED],
            "unproven": ended[Outcome.UNPROVEN],
            "left": len(left),
            "withdrawn": ended[Outcome.WITHDRAWN],
            "unanswered": ended[Outcome.ABANDONED] + ended[Outcome.EXPIRED],
            "abandonment_rate": share(len(left), put),
            "p50_seconds": seconds(took, 0.5),
            "p90_seconds": seconds(took, 0.9),
        }
    }


def open_(people: list[Asked]) -> Rows:
    rows: Rows = {}
    for kind in (Outcome.OPEN, Outcome.CONSENTED):
        ages = [AS_OF - one.at for one in people if one.outcome is kind]
        if ages:
            rows[(kind.value,)] = {
                "count": len(ages),
                "with_limit": 0,
                "overdue": 0,
                "p50_seconds": seconds(ages, 0.5),
                "max_seconds": seconds(ages, 1),
                "p50_left_seconds": None,
            }
    return rows


def validation(people: list[Asked]) -> Rows:
    answers: Counter[int] = Counter()
    failures: Counter[tuple[str, str, int]] = Counter()
    for one in people:
        answers[1] += one.failed_first
        if one.by is PERSON and one.outcome in (Outcome.ACCEPTED, Outcome.INVALID):
            answers[rounds(one)] += 1
        failures["format", "email", 1] += one.failed_first
        failures["minimum", "age", 1] += one.outcome is Outcome.INVALID
    return {
        key: {
            "failures": count,
            "automatic": 0,
            "unknown": 0,
            "answers": answers[key[2]],
            "failure_rate": share(count, answers[key[2]]),
        }
        for key, count in failures.items()
        if count
    }


def resume(people: list[Asked]) -> Rows:
    spans: dict[str, list[tuple[Asked, int]]] = {
        name: []
        for name in ("human_wait", "between_rounds", "ceremony", "resume", "time_to_resume")
    }
    for one in people:
        first = (3_000_000, 1_000_000) if one.failed_first else (0, 0)
        ceremony = one.ceremony if one.proof else 0
        if one.is_answered:
            spans["human_wait"].append((one, first[0] + one.wait))
            if one.failed_first:
                spans["between_rounds"].append((one, first[1]))
            if one.resume is not None:
                spans["resume"].append((one, one.resume))
                whole = sum(first) + one.wait + ceremony + one.resume
                spans["time_to_resume"].append((one, whole))
        if one.proof:
            spans["ceremony"].append((one, one.ceremony))
    rows: Rows = {}
    for name, measured in spans.items():
        counted = [us for one, us in measured if one.by is PERSON]
        rows[(name,)] = {
            "count": len(counted),
            "p50_seconds": seconds(counted, 0.5),
            "p90_seconds": seconds(counted, 0.9),
            "p99_seconds": seconds(counted, 0.99),
            "max_seconds": seconds(counted, 1),
            "automatic": sum(one.by is AUTOMATIC for one, _ in measured),
            "unknown": sum(one.by is UNKNOWN for one, _ in measured),
            "wall_clock": 0,
            "unattributed": 0,
        }
    return rows


def repeats(people: list[Asked]) -> Rows:
    asked = in_operation = in_session = after_refusal = again = 0
    seen: dict[tuple[str, int], bool] = {}
    puts: list[tuple[int, Asked, bool]] = []
    for one in people:
        puts.append((one.at, one, False))
        if one.failed_first:
            puts.append((one.at + 4_000_000, one, True))
    for _, one, is_second in sorted(puts, key=lambda put: put[0]):
        if not is_put(one):
            continue
        session = one.session or f"operation {one.number}"
        before = seen.get((session, one.question))
        asked += 1
        in_operation += is_second
        in_session += before is not None
        again += before is not None
        after_refusal += before is True
        first_of_two = one.failed_first and not is_second
        refusal = one.outcome in (Outcome.DECLINED, Outcome.CANCELLED)
        seen[session, one.question] = refusal and not first_of_two
    return {
        (): {
            "asked": asked,
            "in_operation": in_operation,
            "in_session": in_session,
            "in_day": 0,
            "with_subject": 0,
            "after_refusal": after_refusal,
            "repeats": again,
            "repeat_rate": share(again, asked),
        }
    }


def findings(people: list[Asked]) -> Rows:
    found = [one for one in people if one.finding]
    counted = {
        "elicitations": len(found),
        "receipts": sum(rounds(one) for one in found),
        "stray": 0,
    }
    return {("ux", "missing_description", "info"): counted} if found else {}


def urls(people: list[Asked]) -> Rows:
    rows: Rows = {}
    for origin in {one.origin for one in people if one.origin}:
        sent = [one for one in people if one.origin == origin]
        proofs = Counter(one.proof for one in sent)
        done = [one for one in sent if one.proof]
        rows[(origin,)] = {
            "put": len(sent),
            "consented": sum(one.outcome is not Outcome.DECLINED for one in sent),
            "completed": len(done),
            "automatic": 0,
            "unproven": sum(one.outcome is Outcome.UNPROVEN for one in sent),
            **{proof.value: proofs[proof] for proof in Proof},
            "completion_rate": share(len(done), len(sent)),
            "p50_seconds": seconds([one.ceremony for one in done], 0.5),
            "p90_seconds": seconds([one.ceremony for one in done], 0.9),
        }
    return rows


def policy(people: list[Asked]) -> Rows:
    """A version is in force for a day; of a question it decided last what it decided latest."""
    verdicts: dict[tuple[int, int], Asked] = {}
    for one in sorted(people, key=lambda one: one.at):
        verdicts[one.day, one.question] = one
    rows: Rows = {}
    for number in sorted({one.day for one in people}):
        judged = [one for one in people if one.day == number]
        blocked = sum(not is_put(one) for one in judged)
        changed = 0
        for one in judged:
            past = [
                verdicts[d, one.question] for d in range(number) if (d, one.question) in verdicts
            ]
            changed += bool(past) and is_put(past[-1]) != is_put(one)
        version = f"{number + 1}.0"
        rows["house", version, version.encode().ljust(32).hex()[:12]] = {
            "first_day": day(number),
            "last_day": day(number),
            "judged": len(judged),
            "allow": len(judged) - blocked,
            "warn": 0,
            "block": blocked,
            "not_evaluated": 0,
            "changed": changed,
        }
    return rows


def capabilities(people: list[Asked]) -> Rows:
    groups: dict[Hashable, list[Asked]] = defaultdict(list)
    for one in people:
        asked = "url" if one.mode is Mode.URL else "form"
        groups["+".join(sorted(mode.value for mode in one.declared)), asked].append(one)
    return {
        key: {
            "elicitations": len(group),
            "sessions": len({one.session for one in group if one.session}),
            "undeclared": sum(one.mode not in one.declared for one in group),
            "unsupported": sum(one.outcome is Outcome.UNSUPPORTED for one in group),
        }
        for key, group in groups.items()
    }


def sessions(people: list[Asked]) -> Rows:
    groups: dict[str, list[Asked]] = defaultdict(list)
    for one in people:
        if one.session:
            groups[one.session].append(one)
    refused = [
        sum(standing(one) in ("declined", "cancelled") for one in group)
        for group in groups.values()
    ]
    sizes = [len(group) for group in groups.values()]
    return {
        (): {
            "sessions": len(groups),
            "elicitations": sum(sizes),
            "without_session": len(people) - sum(sizes),
            "asked_once": sizes.count(1),
            "refused": sum(map(bool, refused)),
            "all_refused": sum(no == size for no, size in zip(refused, sizes, strict=True)),
            "p50": rank(sizes, 0.5),
            "p90": rank(sizes, 0.9),
            "max": rank(sizes, 1),
        }
    }


#: How each question is counted, and the columns that name a row within its group.
CENSUS: dict[str, tuple[Callable[[list[Asked]], Rows], tuple[str, ...]]] = {
    "completion": (completion, ()),
    "declines": (declines, ()),
    "outcomes": (outcomes, ("outcome",)),
    "abandonment": (abandonment, ()),
    "open": (open_, ("kind",)),
    "validation": (validation, ("keyword", "field", "round")),
    "resume": (resume, ("interval",)),
    "repeats": (repeats, ()),
    "findings": (findings, ("gate", "finding", "severity")),
    "urls": (urls, ("origin",)),
    "policy": (policy, ("policy", "version", "digest")),
    "capabilities": (capabilities, ("declared", "asked")),
    "sessions": (sessions, ()),
}
