"""Nested lists, tuples and dictionaries as flat lists, and back."""

from __future__ import annotations

from typing import Any, NamedTuple

LEAF = "leaf"


class Spec(NamedTuple):
    """The structure around the leaves: a kind of container, its keys or type, and the structures of its items."""

    kind: Any
    detail: Any
    parts: tuple[Any, ...]


_LEAF = Spec(LEAF, None, ())


def flatten(tree: Any, leaves: list[Any]) -> Spec:
    """Appends the leaves of `tree` in order, and gives what held them."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return Spec(kind, None, tuple([flatten(part, leaves) for part in tree]))
    if kind is dict:
        return Spec(dict, tuple(tree), tuple([flatten(part, leaves) for part in tree.values()]))
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return Spec(kind, "named", tuple([flatten(part, leaves) for part in tree]))
    leaves.append(tree)
    return _LEAF


def unflatten(spec: Spec, leaves: Any) -> Any:
    """The tree again; `leaves` is an iterator."""
    if spec.kind is LEAF:
        return next(leaves)
    parts = [unflatten(part, leaves) for part in spec.parts]
    if spec.kind is dict:
        return dict(zip(spec.detail, parts))
    if spec.detail == "named":
        return spec.kind(*parts)
    return spec.kind(parts)
