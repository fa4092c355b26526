"""The leaf hash is RFC 6962's."""

from __future__ import annotations

from elicitation_receipts.schemas.chain import leaf_hash


def test_the_leaf_of_nothing_is_the_published_one() -> None:
    # RFC 6962 test vectors of Certificate Transparency: the leaf hash of the empty string.
    assert leaf_hash(b"").hex() == (
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    )


def test_the_leaf_is_not_the_plain_hash_of_another_message() -> None:
    assert leaf_hash(b"\x00abc") != leaf_hash(b"abc")
