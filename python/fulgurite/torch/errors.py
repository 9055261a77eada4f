"""Errors of the type that PyTorch raises for the same call."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree

from .. import _core
from .._core import Unsupported

# Functions of which PyTorch refuses arguments that our operators take.
CHECKED = frozenset(
    """amax amin aminmax index_add index_add_ group_norm multilabel_margin_loss
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
    adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d""".split()
)
_types: dict[tuple[type, type], type] = {}


def _without_data(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    with torch._C._DisableTorchDispatch():
        return torch.empty(value.shape, dtype=value.dtype, device="meta")


def eager_error(func: Any, args: Any, kwargs: Any) -> Exception | None:
    """The error that PyTorch raises for a call with tensors of these sizes and dtypes; None where it raises nothing, or
    depends on the elements."""
    args, kwargs = _pytree.tree_map(_without_data, (list(args), dict(kwargs)))
    try:
        with torch.no_grad():
            func(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  all of them are answers, but those about tensors without elements
        if "meta" in str(error).lower():
            return None
        # A rule of PyTorch's in Python asserts what its kernels refuse.
        return RuntimeError(str(error)) if isinstance(error, AssertionError) else error
    return None


def check(func: Any, args: Any, kwargs: Any) -> None:
    """Raises what PyTorch raises for a call."""
    error = eager_error(func, args, kwargs)
    if error is not None:
        raise error


def like_eager(error: _core.Error, func: Any, args: Any, kwargs: Any) -> _core.Error:
    """Our error, which is also one of the type that PyTorch raises for this call."""
    if isinstance(error, Unsupported):
        return error
    theirs = eager_error(func, args, kwargs)
    if theirs is None or isinstance(error, type(theirs)) or isinstance(theirs, _core.Error):
        return error
    pair = (type(error), type(theirs))
    made = _types.get(pair)
    if made is None:
        made = _types[pair] = type(type(theirs).__name__, pair, {"__module__": type(theirs).__module__})
    found = made(str(error))
    found.operation, found.source = error.operation, error.source  # type: ignore[attr-defined]
    return found
