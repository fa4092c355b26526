"""The tree: published vectors, and every small tree against the definition itself."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.evidence.tree import (
    EMPTY_ROOT,
    Frontier,
    Node,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    node_hash,
    root_from_inclusion,
    subtrees,
)
from elicitation_receipts.schemas.chain import leaf_hash

# The test vectors published with RFC 6962's reference implementation (certificate-transparency,
# merkletree): eight leaves, the root of each beginning, and proofs between them.
INPUTS = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
LEAVES = [leaf_hash(each) for each in INPUTS]
#: (index, size): the inclusion proof.
INCLUSIONS = {
    (0, 1): [],
    (0, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (5, 8): [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 3): ["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    (1, 5): [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}
#: (old, new): the consistency proof.
CONSISTENCIES = {
    (1, 1): [],
    (1, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}


def definition(leaves: list[bytes]) -> bytes:
    """MTH of RFC 9162 section 2.1.1, word for word."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return node_hash(definition(leaves[:k]), definition(leaves[k:]))


def frontier(leaves: list[bytes]) -> Frontier:
    tree = Frontier()
    for leaf in leaves:
        tree.append(leaf)
    return tree


def nodes(leaves: list[bytes]) -> list[Node]:
    return [Node(0, leaf) for leaf in leaves]


def test_the_empty_tree() -> None:
    assert Frontier().root() == EMPTY_ROOT == definition([])


@pytest.mark.parametrize("size", range(1, 9))
def test_the_published_roots(size: int) -> None:
    assert frontier(LEAVES[:size]).root().hex() == ROOTS[size - 1]


@pytest.mark.parametrize(("place", "proof"), INCLUSIONS.items())
def test_the_published_inclusion_proofs(place: tuple[int, int], proof: list[str]) -> None:
    index, size = place
    made = inclusion_proof(index, size, nodes(LEAVES))
    assert [each.hex() for each in made] == proof
    root = root_from_inclusion(index, size, LEAVES[index], made)
    assert root is not None
    assert root.hex() == ROOTS[size - 1]


@pytest.mark.parametrize(("sizes", "proof"), CONSISTENCIES.items())
def test_the_published_consistency_proofs(sizes: tuple[int, int], proof: list[str]) -> None:
    old, new = sizes
    made = consistency_proof(old, new, nodes(LEAVES))
    assert [each.hex() for each in made] == proof
    roots = [bytes.fromhex(ROOTS[size - 1]) for size in sizes]
    assert is_consistent(old, new, roots[0], roots[1], made)


leaves_of_a_tree = st.integers(1, 40).map(
    lambda size: [leaf_hash(number.to_bytes(2)) for number in range(size)]
)


@given(leaves_of_a_tree, st.data())
def test_every_tree_is_what_the_definition_says_and_proves_it(
    leaves: list[bytes], data: st.DataObject
) -> None:
    size = len(leaves)
    root = frontier(leaves).root()
    assert root == definition(leaves)
    index = data.draw(st.integers(0, size - 1))
    proof = inclusion_proof(index, size, nodes(leaves))
    assert root_from_inclusion(index, size, leaves[index], proof) == root
    assert root_from_inclusion(index, size, leaf_hash(b"another"), proof) != root
    old = data.draw(st.integers(1, size))
    proof = consistency_proof(old, size, nodes(leaves))
    old_root = definition(leaves[:old])
    assert is_consistent(old, size, old_root, root, proof)
    assert not is_consistent(old, size, leaf_hash(b"another"), root, proof)
    assert not is_consistent(old, size, old_root, leaf_hash(b"another"), proof)


@given(leaves_of_a_tree, st.data())
def test_subtrees_stand_for_the_leaves_they_cover(leaves: list[bytes], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(leaves)))
    end = data.draw(st.integers(first, len(leaves)))
    covering = subtrees(first, end, leaves[first:end])
    tree = frontier(leaves[:first])
    for node in covering:
        tree.add(node)
    for leaf in leaves[end:]:
        tree.append(leaf)
    assert tree.root() == definition(leaves)
    # What lies outside can still be proved.
    kept = [*nodes(leaves[:first]), *covering, *nodes(leaves[end:])]
    for index in {0, first - 1, end, len(leaves) - 1} & {*range(first), *range(end, len(leaves))}:
        proof = inclusion_proof(index, len(leaves), kept)
        assert root_from_inclusion(index, len(leaves), leaves[index], proof) == tree.root()


@given(leaves_of_a_tree, st.data())
def test_a_frontier_goes_on_from_its_peaks(leaves: list[bytes], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(leaves)))
    half = frontier(leaves[:at])
    tree = Frontier(half.size, half.peaks)
    for leaf in leaves[at:]:
        tree.append(leaf)
    assert tree.root() == definition(leaves)
