"""Functions of PyTorch that create tensors."""

from __future__ import annotations

import builtins
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from .. import _core
from .._core import Tensor
from .calls import FUNCTIONS, METHODS, At, Handler, call, check_device, convert, function, has_tensor, our_dtype


def _new(op: str) -> Handler:
    def handler(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
        x, rest = args[0], args[1:]
        check_device(kwargs.get("device"))
        dtype = {"dtype": our_dtype(kwargs["dtype"]) if kwargs.get("dtype") is not None else x.dtype}
        if op == "full":
            value = rest[1] if len(rest) > 1 else kwargs["fill_value"]
            return call("full", [list(rest[0]), value], dtype, at)
        sizes = (
            kwargs["size"]
            if "size" in kwargs
            else rest[0]
            if len(rest) == 1 and isinstance(rest[0], (tuple, list))
            else rest
        )
        return call(op, [list(sizes)], dtype, at)

    return handler


def _creator(op: str) -> Handler:
    def handler(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
        check_device(kwargs.get("device"))
        sizes = (
            args[0]
            if len(args) == 1 and isinstance(args[0], (tuple, list))
            else kwargs.get("size", args)
            if not args
            else args
        )
        return call(op, [list(sizes)], _dtype_keyword(kwargs), at)

    return handler


def _dtype_keyword(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {"dtype": our_dtype(kwargs["dtype"])} if kwargs.get("dtype") is not None else {}


for _name in ("zeros", "ones", "empty", "full"):
    METHODS["new_" + _name] = _new(_name)
for _name in ("zeros", "ones", "empty", "rand", "randn"):
    FUNCTIONS[builtins.getattr(torch, _name)] = _creator(_name)


@function(torch.tensor, torch.as_tensor, torch.scalar_tensor)
def tensor(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
    """New tensors from numbers; of tensors among them a stack."""
    data = args[0]
    check_device(kwargs.get("device"))
    if isinstance(data, Tensor):
        return convert(data, kwargs["dtype"], at) if kwargs.get("dtype") is not None else data
    if has_tensor([data]):
        parts = [p if isinstance(p, Tensor) else call("full", [[], p], {}, at) for p in data]
        return call("stack", [[call("reshape", [p, []], {}, at) for p in parts]], {}, at)
    leaves = tree_leaves(data)
    if any(isinstance(x, (_core.Int, _core.Float)) for x in leaves):
        hints = [x.hint() if isinstance(x, (_core.Int, _core.Float)) else x for x in leaves]
        return _of_symbols(data, our_dtype(kwargs.get("dtype") or torch.tensor(hints).dtype), at)
    return _core.from_dlpack(torch.tensor(data, dtype=kwargs.get("dtype")))


def _of_symbols(data: Any, dtype: _core.Dtype, at: At) -> Tensor:
    """A tensor of numbers of which some are symbols."""
    if isinstance(data, (list, tuple)):
        return call("stack", [[_of_symbols(x, dtype, at) for x in data]], {}, at)
    return call("full", [[], data], {"dtype": dtype}, at)
