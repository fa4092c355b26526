"""Loads a policy file: what it says, upon what the policy it extends says.

The merge rule: mappings are merged key by key; everything else (a number, a word, a list)
takes the place of what was there. ``operations`` come before those of the extended policy, so
that the nearest pattern counts first. Each operation is filled up from the ``defaults`` that
hold in the end. ``id``, ``version`` and ``effective`` are each file's own. Every chain ends in
the built-in policy.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Final

from elicitation_receipts.producers.policy.check import check_patterns, check_sense, check_shape
from elicitation_receipts.producers.policy.document import Policy
from elicitation_receipts.producers.policy.plain import from_plain
from elicitation_receipts.producers.policy.tree import MAX_BYTES, Node, read_tree
from elicitation_receipts.schemas.errors import PolicyError

#: Files one after the other that extend each other, at most.
MAX_FILES: Final = 16

_BUILT_IN: Final = "default_policy.yaml"
#: What a file does not hand on to those that extend it, nor to the document.
_OWN: Final = "extends"


def built_in() -> Policy:
    """The policy that holds where no file is given."""
    return _policy(_built_in_tree())


def load(path: Path, files: list[Path] | None = None) -> Policy:
    """The policy of a file, whole. Raises :class:`PolicyError`.

    ``files`` is given every file that was to be read, also where one is refused.
    """
    chain: list[Path] = []
    trees: list[Node] = []
    following: Path | None = path
    while following is not None:
        if files is not None:
            files.append(following)
        tree = read_file(following)
        if following.resolve() in chain:
            raise trees[-1].error(
                "policy_extends_cycle", (_OWN,), "the policies extend each other in a circle"
            )
        if len(chain) == MAX_FILES:
            raise trees[-1].error(
                "policy_extends_cycle", (_OWN,), f"more than {MAX_FILES} policies in a chain"
            )
        chain.append(following.resolve())
        check_shape(tree)
        check_patterns(tree)
        trees.append(tree)
        base = tree.value.get(_OWN)
        following = None if base is None else following.parent / base.value
    whole = _built_in_tree()
    for tree in reversed(trees):
        whole = _merge(whole, tree)
    policy = _policy(whole)
    check_sense(policy, whole)
    return policy


def changed(policy: Policy, changes: Node) -> Policy:
    """A policy with ``changes`` upon it, which are written as in a file that extends it.

    Raises :class:`PolicyError`.
    """
    base = read_tree(policy.canonical, policy.id)
    own = {key: base.value[key] for key in ("id", "version", "effective")}
    over = Node({**own, **changes.value}, changes.file, changes.line)
    check_shape(over)
    check_patterns(over)
    whole = _merge(base, over)
    result = _policy(whole)
    check_sense(result, whole)
    return result


def read_file(path: Path) -> Node:
    """The tree of a policy or fixture file. Raises :class:`PolicyError`."""
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = getattr(error, "strerror", None) or "no path"
        raise PolicyError(
            "policy_unreadable", f"cannot read {path} ({why}); check the path"
        ) from None
    return read_tree(text, str(path))


def _built_in_tree() -> Node:
    place = resources.files("elicitation_receipts.producers.policy") / _BUILT_IN
    return read_tree(place.read_bytes(), _BUILT_IN)


def _merge(base: Node, over: Node) -> Node:
    """``over`` upon ``base``, both checked."""
    merged = _merge_mappings(base, over)
    if "operations" in over.value:
        first = over.value["operations"]
        both = [*first.value, *base.value["operations"].value]
        merged.value["operations"] = Node(both, first.file, first.line)
    merged.value.pop(_OWN, None)
    return merged


def _merge_mappings(base: Node, over: Node) -> Node:
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    members = dict(base.value)
    for key, node in over.value.items():
        members[key] = _merge_mappings(members[key], node) if key in members else node
    return Node(members, over.file, over.line)


def _policy(tree: Node) -> Policy:
    document = tree.plain
    defaults = document["defaults"]
    document["operations"] = [{**defaults, **item} for item in document["operations"]]
    policy: Policy = from_plain(Policy, document)
    return policy
