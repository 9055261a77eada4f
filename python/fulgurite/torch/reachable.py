"""The tensors that need a gradient and that a function reaches without arguments: in its closure, its globals, its
defaults and the objects and modules among these."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

import torch

_LIMIT = 10_000  # objects that are looked at


def _code_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_names(constant)


def _parts_of_function(f: types.FunctionType) -> Iterator[Any]:
    for cell in f.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a variable that has no value yet
            continue
    yield from f.__defaults__ or ()
    yield from (f.__kwdefaults__ or {}).values()
    for name in _code_names(f.__code__):
        if name in f.__globals__:
            yield f.__globals__[name]


def _parts(thing: Any) -> Iterator[Any]:
    if isinstance(thing, torch.nn.Module):
        yield from thing.parameters()
        yield from thing.buffers()
    elif isinstance(thing, types.FunctionType):
        yield from _parts_of_function(thing)
    elif isinstance(thing, types.MethodType):
        yield from (thing.__self__, thing.__func__)
    elif isinstance(thing, functools.partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, dict):
        yield from thing.values()
    elif isinstance(thing, (list, tuple, set, frozenset)):
        yield from thing
    elif _is_users_object(thing):
        yield from vars(thing).values()


def _is_users_object(thing: Any) -> bool:
    own = type(thing).__module__.split(".")[0]
    return hasattr(thing, "__dict__") and not isinstance(thing, (type, types.ModuleType)) and own != "torch"


def tensors_with_gradient(target: Any) -> list[torch.Tensor]:
    """Those that `target`, a function, a module or an object, reaches; each once."""
    found: list[torch.Tensor] = []
    seen: set[int] = set()
    waiting = [target.forward, target] if isinstance(target, torch.nn.Module) else [target]
    while waiting and len(seen) < _LIMIT:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, torch.Tensor):
            found += [thing] if thing.requires_grad else []
        else:
            waiting += list(_parts(thing))
    return found
