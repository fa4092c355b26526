"""How the receipts of a batch fit into the chains of their streams, beside what has landed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

import duckdb

from elicitation_receipts.consumers.decode import Decoded
from elicitation_receipts.consumers.rows import now
from elicitation_receipts.schemas.receipt import ZERO_HASH


class Place(NamedTuple):
    """Where a receipt stands: in which stream (16 bytes), as which."""

    stream_id: bytes
    sequence: int

    @property
    def before(self) -> Place:
        return Place(self.stream_id, self.sequence - 1)

    @property
    def behind(self) -> Place:
        return Place(self.stream_id, self.sequence + 1)


class Link(NamedTuple):
    """What a receipt gives to its chain: its own leaf hash, and the one it names as before it."""

    leaf: bytes
    previous: bytes


class End(NamedTuple):
    """How far a stream has landed: its highest sequence, and that one's leaf hash."""

    last_sequence: int
    last_hash: bytes


class Break(NamedTuple):
    """A row of ``breaks``, as its table says."""

    place: Place
    kind: str
    expected: bytes | None
    found: bytes


@dataclass(slots=True)
class Fitted:
    """What to do with a batch. The lists of places are indexes into it, ascending."""

    fresh: list[int] = field(default_factory=list)
    forks: list[int] = field(default_factory=list)
    duplicates: int = 0
    breaks: list[Break] = field(default_factory=list)
    #: Receipts that had landed without the one before them, and have it now.
    healed: list[Place] = field(default_factory=list)
    #: How far the streams have landed with it, where that is further than before.
    ends: dict[bytes, End] = field(default_factory=dict)

    @property
    def gaps(self) -> list[Place]:
        """Where a gap has come or gone."""
        found = [one.place for one in self.breaks if one.kind == "gap"]
        return found + self.healed


_START: Final = End(-1, ZERO_HASH)


def fit(database: duckdb.DuckDBPyConnection, decoded: Decoded) -> Fitted:
    """Find what is new in a batch, what was there before, and where a chain does not hold.

    A stream that goes on where it had landed, receipt after receipt, needs no more than its
    end to be known. Only for the others are places looked up among the receipts.
    """
    fitted = Fitted()
    places_of: dict[bytes, list[int]] = defaultdict(list)
    for at, stream_id in enumerate(decoded.stream_ids):
        places_of[stream_id].append(at)
    ends = _read_ends(database, places_of)
    unsteady: list[int] = []
    for stream_id, places in places_of.items():
        if not _goes_on(decoded, places, ends.get(stream_id, _START)):
            unsteady += places
            continue
        fitted.fresh += places
        last = places[-1]
        fitted.ends[stream_id] = End(decoded.sequences[last], decoded.leaves[last])
    if unsteady:
        _look_up(database, decoded, sorted(unsteady), ends, fitted)
    fitted.fresh.sort()
    return fitted


def write_chains(database: duckdb.DuckDBPyConnection, fitted: Fitted) -> None:
    """Keep ``breaks`` and ``chain_ends`` up with a batch."""
    moment = now()
    if fitted.breaks:
        with database.appender("breaks") as appender:
            appender.append_rows(
                [
                    [*found.place, found.kind, found.expected, found.found, moment, None]
                    for found in fitted.breaks
                ]
            )
    if fitted.healed:
        database.execute(
            "UPDATE breaks SET healed_at = $now"
            " FROM (SELECT unnest($streams) AS stream_id, unnest($sequences) AS sequence) AS healed"
            " WHERE breaks.kind = 'gap' AND breaks.stream_id = healed.stream_id"
            " AND breaks.sequence = healed.sequence",
            {"now": moment, **_as_lists(fitted.healed)},
        )
    if fitted.ends:
        database.execute(
            "INSERT OR REPLACE INTO chain_ends"
            " SELECT unnest($streams), unnest($sequences), unnest($hashes)",
            {
                **_as_lists(
                    Place(stream, end.last_sequence) for stream, end in fitted.ends.items()
                ),
                "hashes": [end.last_hash for end in fitted.ends.values()],
            },
        )


def _read_ends(
    database: duckdb.DuckDBPyConnection, stream_ids: Iterable[bytes]
) -> dict[bytes, End]:
    rows = database.execute(
        "SELECT stream_id, last_sequence, last_hash FROM chain_ends"
        " SEMI JOIN (SELECT unnest($streams) AS stream_id) USING (stream_id)",
        {"streams": [UUID(bytes=stream_id) for stream_id in stream_ids]},
    ).fetchall()
    return {row[0].bytes: End(row[1], row[2]) for row in rows}


def _goes_on(decoded: Decoded, places: Sequence[int], end: End) -> bool:
    """Whether a stream's receipts follow its end and each other, every link in place."""
    sequences = [decoded.sequences[at] for at in places]
    leaves = [decoded.leaves[at] for at in places]
    due = end.last_sequence + 1
    return sequences == list(range(due, due + len(places))) and [
        decoded.previous_hashes[at] for at in places
    ] == [end.last_hash, *leaves[:-1]]


def _look_up(
    database: duckdb.DuckDBPyConnection,
    decoded: Decoded,
    places: Sequence[int],
    ends: Mapping[bytes, End],
    fitted: Fitted,
) -> None:
    """Fit receipts in by what stands at their places, and next to them."""
    arrivals = [
        (
            at,
            Place(decoded.stream_ids[at], decoded.sequences[at]),
            Link(decoded.leaves[at], decoded.previous_hashes[at]),
        )
        for at in places
    ]
    there = _links_around(database, [place for _, place, _ in arrivals])
    dropped = _read_dropped(database, {place.stream_id for _, place, _ in arrivals})
    there |= {
        Place(stream, one.last): Link(one.last_hash, b"")
        for stream, segments in dropped.items()
        for one in segments
    }
    links = dict(there)
    fresh: list[tuple[Place, Link]] = []
    for at, place, link in arrivals:
        if any(one.first <= place.sequence <= one.last for one in dropped.get(place.stream_id, ())):
            fitted.duplicates += 1
            continue
        landed = links.setdefault(place, link)
        if landed is link:
            fresh.append((place, link))
            fitted.fresh.append(at)
        elif landed.leaf == link.leaf:
            fitted.duplicates += 1
        else:
            fitted.forks.append(at)
    fitted.breaks += _breaks(fresh, there, links)
    fitted.healed += [place.behind for place, _ in fresh if place.behind in there]
    for place, link in fresh:
        end = fitted.ends.get(place.stream_id) or ends.get(place.stream_id, _START)
        if place.sequence > end.last_sequence:
            fitted.ends[place.stream_id] = End(place.sequence, link.leaf)


class Dropped(NamedTuple):
    """A segment that retention has dropped. ``last_hash``: leaf hash of its last receipt."""

    first: int
    last: int
    last_hash: bytes


def _read_dropped(
    database: duckdb.DuckDBPyConnection, stream_ids: Iterable[bytes]
) -> dict[bytes, list[Dropped]]:
    rows = database.execute(
        "SELECT stream_id, first_sequence, last_sequence, last_hash FROM dropped_segments"
        " SEMI JOIN (SELECT unnest($streams) AS stream_id) USING (stream_id)",
        {"streams": [UUID(bytes=stream_id) for stream_id in stream_ids]},
    ).fetchall()
    dropped: dict[bytes, list[Dropped]] = defaultdict(list)
    for stream_id, *segment in rows:
        dropped[stream_id.bytes].append(Dropped(*segment))
    return dropped


def _links_around(
    database: duckdb.DuckDBPyConnection, places: Iterable[Place]
) -> dict[Place, Link]:
    """What has landed before at these places, and next to them."""
    asked = {near for place in places for near in (place.before, place, place.behind)}
    rows = database.execute(
        "SELECT stream_id, sequence, leaf_hash, previous_hash FROM receipts"
        " SEMI JOIN (SELECT unnest($streams) AS stream_id, unnest($sequences) AS sequence)"
        " USING (stream_id, sequence)",
        _as_lists(asked),
    ).fetchall()
    return {Place(row[0].bytes, row[1]): Link(row[2], row[3]) for row in rows}


def _breaks(
    fresh: Iterable[tuple[Place, Link]], there: Mapping[Place, Link], links: Mapping[Place, Link]
) -> Iterator[Break]:
    """Where the chains do not hold, now that ``fresh`` receipts are in them.

    ``there``: what had landed before; ``links``: that and the fresh ones.
    """
    for place, link in fresh:
        if place.sequence == 0:
            if link.previous != ZERO_HASH:
                yield Break(place, "broken_link", ZERO_HASH, link.previous)
        elif place.before not in links:
            yield Break(place, "gap", None, link.previous)
        elif links[place.before].leaf != link.previous:
            yield Break(place, "broken_link", links[place.before].leaf, link.previous)
        # One that landed before its predecessor was checked against nothing until now.
        if place.behind in there and there[place.behind].previous != link.leaf:
            yield Break(place.behind, "broken_link", link.leaf, there[place.behind].previous)


def _as_lists(places: Iterable[Place]) -> dict[str, list[object]]:
    streams, sequences = zip(*places, strict=True)
    return {"streams": [UUID(bytes=stream) for stream in streams], "sequences": list(sequences)}
