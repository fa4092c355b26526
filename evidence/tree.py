"""The Merkle tree over a stream's leaf hashes: roots, subtrees, and proofs about them.

RFC 9162 section 2.1 (the hashes are those of RFC 6962): a leaf hash is SHA-256(0x00 ‖
message) (:func:`schemas.chain.leaf_hash`), a node SHA-256(0x01 ‖ left ‖ right). Nothing
here holds more than a few dozen hashes, however large the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

#: The root of the empty tree.
EMPTY_ROOT: Final = sha256(b"").digest()
_NODE_PREFIX: Final = b"\x01"


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 ‖ left ‖ right), 32 bytes."""
    return sha256(_NODE_PREFIX + left + right).digest()


class Node(NamedTuple):
    """The root of a whole subtree: of 2^``height`` leaves, aligned to that number. Leaf: 0."""

    height: int
    hash: bytes


class Frontier:
    """A tree that grows at its right edge, kept as the roots of its whole subtrees.

    ``peaks``: of a tree of ``size`` leaves, largest first, one for each bit of ``size``.
    """

    __slots__ = ("_peaks", "size")

    def __init__(self, size: int = 0, peaks: Sequence[bytes] = ()) -> None:
        if len(peaks) != size.bit_count():
            raise ValueError("a tree has one peak for each bit of its size")
        self.size = size
        self._peaks = list(peaks)

    @property
    def peaks(self) -> tuple[bytes, ...]:
        return tuple(self._peaks)

    def append(self, leaf: bytes) -> None:
        """Add one leaf hash."""
        node, size, peaks = leaf, self.size, self._peaks
        while size & 1:
            node = sha256(_NODE_PREFIX + peaks.pop() + node).digest()
            size >>= 1
        peaks.append(node)
        self.size += 1

    def add(self, node: Node) -> None:
        """Add a whole subtree. Raises ``ValueError`` where it cannot stand at this place."""
        width = 1 << node.height
        if self.size % width:
            raise ValueError("a subtree stands only at a multiple of its size")
        hash_, size = node.hash, self.size >> node.height
        while size & 1:
            hash_ = node_hash(self._peaks.pop(), hash_)
            size >>= 1
        self._peaks.append(hash_)
        self.size += width

    def root(self) -> bytes:
        """The Merkle tree hash of all leaves so far."""
        if not self._peaks:
            return EMPTY_ROOT
        *rest, root = self._peaks
        for peak in reversed(rest):
            root = node_hash(peak, root)
        return root


def cover(first: int, end: int) -> Iterator[int]:
    """The heights of the fewest whole subtrees that are exactly the leaves ``[first, end)``."""
    while first < end:
        height = (end - first).bit_length() - 1
        if first:
            height = min(height, (first & -first).bit_length() - 1)
        yield height
        first += 1 << height


def subtrees(first: int, end: int, leaves: Iterable[bytes]) -> list[Node]:
    """The subtrees of :func:`cover`, from the leaf hashes ``[first, end)`` in order."""
    following = iter(leaves)
    nodes = []
    for height in cover(first, end):
        tree = Frontier()
        for _ in range(1 << height):
            tree.append(next(following))
        nodes.append(Node(height, tree.root()))
    return nodes


def inclusion_proof(index: int, size: int, nodes: Iterable[Node]) -> list[bytes]:
    """PATH(index, tree of ``size``), RFC 9162 section 2.1.3.1: from the leaf's sibling up.

    ``nodes``: the tree from its first leaf on; what is not wanted one by one may come as
    whole subtrees. Read once. Raises ``ValueError`` where they are too few or too large.
    """
    if not 0 <= index < size:
        raise ValueError("no such leaf in this tree")
    return _roots(_siblings(index, size), nodes)


def consistency_proof(old: int, new: int, nodes: Iterable[Node]) -> list[bytes]:
    """PROOF(old, tree of ``new``), RFC 9162 section 2.1.4.1. ``nodes`` as above."""
    if not 0 < old <= new:
        raise ValueError("a tree is consistent with a smaller one that is not empty")
    return _roots(_steps(old, new), nodes)


def root_from_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes]) -> bytes | None:
    """The root that an inclusion proof leads to (RFC 9162 section 2.1.3.2); None: it is none."""
    if not 0 <= index < size:
        return None
    place, last, root = index, size - 1, leaf
    for hash_ in proof:
        if last == 0:
            return None
        if place & 1 or place == last:
            root = node_hash(hash_, root)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            root = node_hash(root, hash_)
        place, last = place >> 1, last >> 1
    return root if last == 0 else None


def is_consistent(
    old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]
) -> bool:
    """Whether the proof shows the old tree to be the beginning of the new (2.1.4.2)."""
    if not 0 < old <= new:
        return False
    if old == new:
        return not proof and old_root == new_root
    path = list(proof) if old & (old - 1) else [old_root, *proof]
    if not path:
        return False
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old_hash = new_hash = path[0]
    for hash_ in path[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old_hash, new_hash = node_hash(hash_, old_hash), node_hash(hash_, new_hash)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new_hash = node_hash(new_hash, hash_)
        place, last = place >> 1, last >> 1
    return last == 0 and (old_hash, new_hash) == (old_root, new_root)


_Range = tuple[int, int]


def _siblings(index: int, size: int) -> list[_Range]:
    """The leaves under each node of an inclusion proof, ``[start, end)``."""
    start, end, found = 0, size, list[_Range]()
    while end - start > 1:
        middle = start + _left(end - start)
        if index < middle:
            found.append((middle, end))
            end = middle
        else:
            found.append((start, middle))
            start = middle
    return found[::-1]


def _steps(old: int, new: int) -> list[_Range]:
    """The leaves under each node of a consistency proof (SUBPROOF)."""
    start, end, found = 0, new, list[_Range]()
    while old != end:
        middle = start + _left(end - start)
        if old <= middle:
            found.append((middle, end))
            end = middle
        else:
            found.append((start, middle))
            start = middle
    if start > 0:
        found.append((start, end))
    return found[::-1]


def _left(size: int) -> int:
    """How many leaves of a tree are under the root's left child."""
    return 1 << (size - 1).bit_length() - 1


def _roots(ranges: Sequence[_Range], nodes: Iterable[Node]) -> list[bytes]:
    """The root over each range of leaves, in one pass over the tree."""
    roots = {}
    following, at = iter(nodes), 0
    for start, end in sorted(ranges):
        tree = Frontier()
        while at < end:
            node = next(following, None)
            if node is None:
                raise ValueError("the tree ends before what is to be proved")
            width = 1 << node.height
            if at < start < at + width or at + width > end > at:
                raise ValueError("a subtree hides a part of what is to be proved")
            if at >= start:
                tree.add(node)
            at += width
        roots[start, end] = tree.root()
    return [roots[each] for each in ranges]
