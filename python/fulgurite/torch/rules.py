"""How an operator of ATen is recorded by a function of its arguments: one rule for the function of `torch`, the
method and the overloads."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F

from .._core import Unsupported
from .aten import TABLE, A
from .calls import DROPPED, FUNCTIONS, METHODS, At, Handler, write

Rule = Callable[..., Any]
_OTHER_NAMES = {"input": "self", "axis": "dim", "self": "x"}


def _handler(name: str, f: Rule) -> Handler:
    signature = inspect.signature(f)
    known = set(signature.parameters)

    def handler(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
        kept: dict[str, Any] = {}
        for key, value in kwargs.items():
            key = key if key in known else _OTHER_NAMES.get(key, key)
            if key in known:
                kept[key] = value
            elif value is not None and key not in DROPPED:
                raise Unsupported(f"{name}: {key}=")
        try:
            signature.bind(at, *args, **kept)
        except TypeError as reason:
            raise Unsupported(f"{name}: {reason}") from None
        return f(at, *args, **kept)

    return handler


def _spelled(name: str) -> Iterator[Any]:
    """The functions of `torch` that are the operator `name` of ATen."""
    places = [(torch, name), (torch._C._nn, name), (F, name), (torch._VF, name)]
    for prefix, module in (("linalg_", torch.linalg), ("special_", torch.special)):
        if name.startswith(prefix):
            places.append((module, name.removeprefix(prefix)))
    for module, spelled in places:
        found = getattr(module, spelled, None)
        if callable(found):
            yield found


def _overloads(name: str) -> Iterator[Any]:
    packet = getattr(A, name, None)
    for overload in packet.overloads() if packet is not None else ():
        target = getattr(packet, overload)
        if not any(argument.is_out for argument in target._schema.arguments):
            yield target


def _in_place(handler: Handler) -> Handler:
    return lambda args, kwargs, at: write(args[0], handler(args, kwargs, at), at)


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Says that `f(at, ...)`, which has the parameters of PyTorch's operators `names`, records them. Arguments that it
    does not have are PyTorch's to handle."""

    def add(f: Rule) -> Rule:
        for name in names:
            handler = _handler(name, f)
            for spelled, same in ((name, handler), (name + "_", _in_place(handler))):
                for target in _overloads(spelled):
                    TABLE[target] = same
                for function in _spelled(spelled):
                    FUNCTIONS[function] = same
                if hasattr(torch.Tensor, spelled):
                    METHODS[spelled] = same
        return f

    return add


def aten_rule(*targets: Any) -> Callable[[Rule], Rule]:
    """Says that `f(at, ...)` records these overloads only."""

    def add(f: Rule) -> Rule:
        for target in targets:
            TABLE[target] = _handler(str(target), f)
        return f

    return add
