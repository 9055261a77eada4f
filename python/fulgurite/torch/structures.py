"""Structures of arguments and results: the common ones without the walk through PyTorch's trees, which takes longer
than a call of a small compiled function."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree

from .._compiled import TENSOR

_TENSORS = frozenset([torch.Tensor, torch.nn.Parameter])
# Constants of one of these types that are equal are the same.
_CONSTANTS = frozenset([int, bool, str, type(None), torch.dtype, torch.device, torch.memory_format])


def flat_arguments(args: Any, kwargs: Any) -> tuple[list[Any], list[torch.Tensor]] | None:
    """(what tells calls of different structures and constants apart, the tensors); None where an argument is neither a
    plain tensor nor a plain constant."""
    key: list[Any] = [len(args), *kwargs]  # a name is followed by no name, but by a type or a stand-in
    tensors: list[torch.Tensor] = []
    for x in (*args, *kwargs.values()) if kwargs else args:
        kind = type(x)
        if kind in _TENSORS:
            tensors.append(x)
            key.append(TENSOR)
        elif kind in _CONSTANTS:
            key.append(kind)
            key.append(x)
        elif kind is float:
            key.append(kind)
            key.append(x if x and x == x else repr(x))  # zeros have signs, and no NaN equals another
        else:
            return None
    return key, tensors


_first = operator.itemgetter(0)


def structure_of(spec: _pytree.TreeSpec) -> Callable[[list[Any]], Any]:
    """The function from leaves to the structure."""
    if spec.is_leaf():
        return _first
    if spec.type in (tuple, list) and all(part.is_leaf() for part in spec.children()):
        return spec.type
    return lambda leaves: _pytree.tree_unflatten(leaves, spec)
