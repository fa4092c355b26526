"""One stream's check: bytes, places, links and tree, one receipt after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from elicitation_receipts.evidence.report import Check, Finding, Findings
from elicitation_receipts.evidence.seal import Seal
from elicitation_receipts.evidence.source import Item, Run
from elicitation_receipts.evidence.tree import Frontier
from elicitation_receipts.evidence.walk import Fault, head_of, walk
from elicitation_receipts.schemas.chain import leaf_hash
from elicitation_receipts.schemas.receipt import ZERO_HASH


class _Held(NamedTuple):
    """The newest receipt: its leaf hash, and the one its source keeps, where it differs."""

    sequence: int
    leaf: bytes
    kept: bytes | None


class StreamCheck:
    """Takes a stream's items in order; memory does not grow with them.

    ``start``: the tree before the first receipt that is here; ``sizes``: the tree sizes whose
    root is wanted; ``seals``: of segments that may have been dropped, in order. ``roots``:
    by size, for as far as the tree could be followed.
    """

    def __init__(
        self,
        stream_id: UUID,
        findings: Findings,
        sizes: Collection[int] = (),
        seals: Sequence[Seal] = (),
        start: Frontier | None = None,
    ) -> None:
        self.stream_id = stream_id
        self.roots: dict[int, bytes] = {}
        self.first = start.size if start else 0
        self.next = self.first
        self.receipts = 0
        self.expired = 0
        self._findings = findings
        self._sizes = frozenset(sizes)
        self._seals = list(seals)
        #: None: since something is missing, no root can be told any more.
        self._tree: Frontier | None = start or Frontier()
        #: The leaf hash before `next`; None: not known.
        self._before: bytes | None = ZERO_HASH if self.first == 0 else None
        self._held: _Held | None = None
        self._keep_root()

    def take(self, item: Item) -> None:
        """Check the next item of the stream."""
        if not self._comes_next(item.sequence):
            leaf = leaf_hash(item.message) if item.message is not None else item.leaf
            self._is_seen_again(item.sequence, leaf)
            return
        leaf, previous = self._look(item)
        self._link(item.sequence, leaf, previous, item.leaf)

    def take_run(self, run: Run) -> None:
        """Check the next receipts of the stream."""
        sequence, previous = run.first, run.previous
        leaves = iter(run.leaves)
        for leaf in leaves:
            if not self._comes_next(sequence):
                self._is_seen_again(sequence, leaf)
            else:
                self._link(sequence, leaf, previous, leaf)
                self._follow(leaves)
            sequence, previous = sequence + 1, leaf

    def _comes_next(self, sequence: int) -> bool:
        """Count a receipt, and step over what is missing before it; False: it was here before."""
        self.receipts += 1
        if sequence < self.next:
            return False
        if sequence > self.next:
            self._settle(None)
            self._step_over(sequence)
        return True

    def _link(
        self, sequence: int, leaf: bytes | None, previous: bytes | None, kept: bytes | None
    ) -> None:
        """Put a receipt behind the newest one; ``kept``: the leaf hash its source keeps."""
        self._settle(previous)
        if previous is not None and self._before is not None and previous != self._before:
            self._find(Check.ORDER, "broken_link", sequence, "previous_hash")
        self.next = sequence + 1
        if leaf is None:
            self._tree = self._before = None
        else:
            self._held = _Held(sequence, leaf, kept if kept != leaf else None)

    def _follow(self, leaves: Iterator[bytes]) -> None:
        """Put what is left of a run behind the receipt of it that was just linked."""
        for leaf in leaves:
            self._settle(leaf)
            self.receipts += 1
            self._held = _Held(self.next, leaf, None)
            self.next += 1

    def end(self) -> None:
        """The stream has no more items."""
        self._settle(None)
        self._step_over(None)

    def _look(self, item: Item) -> tuple[bytes | None, bytes | None]:
        """The leaf hash of an item and the one it names; None: it does not tell."""
        fault = item.fault
        if item.message is None:
            self._find(
                Check.INTEGRITY,
                fault.kind if fault else "no_receipt",
                item.sequence,
                fault.field if fault else None,
            )
            return item.leaf, None
        try:
            if not item.walked:
                walk(item.message)
            head = head_of(item.message)
        except Fault as found:
            self._find(Check.INTEGRITY, found.kind, item.sequence, found.field)
            return leaf_hash(item.message), None
        if fault:
            self._find(Check.INTEGRITY, fault.kind, item.sequence, fault.field)
        if (head.stream, head.sequence) != (item.stream, item.sequence):
            field = "sequence" if head.stream == item.stream else "stream_id"
            self._find(Check.ORDER, "misplaced", item.sequence, field)
        return leaf_hash(item.message), head.previous_hash

    def _settle(self, named: bytes | None) -> None:
        """Put the held receipt into the tree. ``named``: the hash the next one has for it."""
        if self._held is None:
            return
        sequence, leaf, kept = self._held
        self._held = None
        if kept is not None:
            # Either the row was changed or the hash beside it: what comes next tells.
            if named == leaf:
                self._find(Check.INTEGRITY, "altered", sequence, "leaf_hash")
            else:
                self._find(Check.INTEGRITY, "altered", sequence)
                leaf = kept
        self._before = leaf
        if self._tree is not None:
            self._tree.append(leaf)
            self._keep_root()

    def _keep_root(self) -> None:
        if self._tree is not None and self._tree.size in self._sizes:
            self.roots[self._tree.size] = self._tree.root()

    def _is_seen_again(self, sequence: int, leaf: bytes | None) -> None:
        held = self._held
        if held is None or sequence != held.sequence:
            kind = "out_of_order"
        else:
            kind = "duplicate" if leaf == held.leaf else "fork"
        self._find(Check.ORDER, kind, sequence)

    def _step_over(self, until: int | None) -> None:
        """Go on at ``until`` (None: the end): over sealed segments, else over a gap."""
        self._seals = [seal for seal in self._seals if seal.first >= self.next]
        while self._seals and self._seals[0].first == self.next:
            seal = self._seals[0]
            if until is not None and seal.last >= until:
                break
            self._seals.pop(0)
            if self._tree is not None:
                for node in seal.nodes:
                    self._tree.add(node)
                    self._keep_root()
            self.expired += seal.count
            self._before = seal.last_leaf
            self.next = seal.last + 1
        if until is not None and self.next < until:
            kind = "missing_head" if self.next == self.first else "gap"
            self._find(
                Check.COMPLETENESS,
                kind,
                self.next,
                None,
                f"sequences {self.next} to {until - 1} are missing",
            )
            self._tree = self._before = None
            self.next = until

    def _find(
        self,
        check: Check,
        kind: str,
        sequence: int,
        field: str | None = None,
        detail: str | None = None,
    ) -> None:
        self._findings.add(Finding(check, kind, self.stream_id, sequence, field, detail))
