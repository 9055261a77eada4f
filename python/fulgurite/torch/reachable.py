"""The tensors that a function reaches without arguments: in its closure, its globals, its defaults and the objects and
modules among these."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

import torch

from .direct import Proxy

_LIMIT = 10_000  # objects that are looked at


def _code_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_names(constant)


_CELL = object()  # in the place of a key: the holder is a variable of a closure
Part = tuple[Any, Any, Any]  # (holder, key, what it holds); a holder of None holds it for good


def _items(holder: Any) -> Iterator[Part]:
    for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
        yield holder, key, value


def _parts_of_function(f: types.FunctionType) -> Iterator[Part]:
    for cell in f.__closure__ or ():
        try:
            yield cell, _CELL, cell.cell_contents
        except ValueError:  # a variable that has no value yet
            continue
    for value in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
        yield None, None, value
    for name in _code_names(f.__code__):
        if name in f.__globals__:
            yield f.__globals__, name, f.__globals__[name]


def _parts(thing: Any) -> Iterator[Part]:
    if isinstance(thing, torch.nn.Module):
        for value in (*thing.parameters(), *thing.buffers()):
            yield None, None, value
        for part in thing.modules():
            yield from _items(vars(part))
    elif isinstance(thing, types.FunctionType):
        yield from _parts_of_function(thing)
    elif isinstance(thing, types.MethodType):
        for value in (thing.__self__, thing.__func__):
            yield None, None, value
    elif isinstance(thing, functools.partial):
        for value in (thing.func, *thing.args, *thing.keywords.values()):
            yield None, None, value
    elif isinstance(thing, (dict, list)):
        yield from _items(thing)
    elif isinstance(thing, (tuple, set, frozenset)):
        for value in thing:
            yield None, None, value
    elif _is_users_object(thing):
        yield from _items(vars(thing))


def _is_users_object(thing: Any) -> bool:
    own = type(thing).__module__.split(".")[0]
    return hasattr(thing, "__dict__") and not isinstance(thing, (type, types.ModuleType)) and own != "torch"


def _tensors(target: Any) -> Iterator[Part]:
    """The tensors that `target`, a function, a module or an object, reaches, each of their places once."""
    seen: set[int] = set()
    places: set[tuple[int, Any]] = set()
    waiting: list[Part] = [(None, None, target)]
    if isinstance(target, torch.nn.Module):
        waiting.append((None, None, target.forward))
    while waiting and len(seen) < _LIMIT:
        holder, key, thing = waiting.pop()
        if isinstance(thing, torch.Tensor):
            place = (id(holder), key) if holder is not None else (id(thing), None)
            if place not in places:
                places.add(place)
                yield holder, key, thing
        elif id(thing) not in seen:
            seen.add(id(thing))
            waiting += _parts(thing)


def tensors_with_gradient(target: Any) -> list[torch.Tensor]:
    """The tensors that need a gradient among those that `target` reaches; each once."""
    return list({id(t): t for _, _, t in _tensors(target) if t.requires_grad}.values())


class Bindings:
    """Names outside of a function that are bound to tensors: variables of its closure, globals, attributes."""

    def __init__(self, target: Any) -> None:
        stores = (
            {id(s) for part in target.modules() for s in (part._parameters, part._buffers)}
            if isinstance(target, torch.nn.Module)
            else set()
        )  # of what is looked up anew at each call
        self.parts = [
            (h, k, t)
            for h, k, t in _tensors(target)
            if h is not None and id(h) not in stores and not isinstance(t, Proxy)
        ]

    def find_changed(self) -> str:
        """A name that is bound to another tensor, or to none; empty if there is none. A value of a recording does not
        count: the recorded function binds it."""
        for holder, key, tensor in self.parts:
            try:
                now = holder.cell_contents if key is _CELL else holder[key]
            except (ValueError, LookupError):
                now = None
            if now is not tensor and not isinstance(now, Proxy):
                return "a variable" if key is _CELL else str(key)
        return ""
