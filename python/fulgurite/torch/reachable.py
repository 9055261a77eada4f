"""Objects that a function reaches without arguments: in its closure, its globals, its defaults and the objects and
modules among these."""

from __future__ import annotations

import argparse
import collections
import functools
import sys
import sysconfig
import types
from collections.abc import Iterator
from typing import Any

import torch

_LIMIT = 10_000  # objects that are looked at
_CONTAINERS = (dict, list, set, collections.deque)
_FOREIGN = frozenset(["torch", "numpy", "fulgurite"])
_STANDARD = sysconfig.get_path("stdlib")


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
    yield from (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())
    for name in _code_names(f.__code__):
        if name in f.__globals__:
            yield f.__globals__[name]


def _parts(thing: Any) -> Iterator[Any]:
    if is_a(thing, torch.nn.Module):
        yield from (*thing.parameters(), *thing.buffers())
        for part in thing.modules():
            yield from vars(part).values()
    elif is_a(thing, types.FunctionType):
        yield from _parts_of_function(thing)
    elif is_a(thing, types.MethodType):
        yield from (thing.__self__, thing.__func__)
    elif is_a(thing, functools.partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif is_a(thing, dict):
        yield from list(thing.values())
    elif is_a(thing, (list, tuple, set, frozenset)):
        yield from list(thing)
    elif _is_users_object(thing):
        yield from list(vars(thing).values())


def _is_users_object(thing: Any) -> bool:
    own = type(thing).__module__.split(".")[0]
    return hasattr(thing, "__dict__") and not is_a(thing, (type, types.ModuleType)) and own != "torch"


def tensors_with_gradient(target: Any) -> list[torch.Tensor]:
    """The tensors that need a gradient among those that `target`, a function, a module or an object, reaches; each
    once."""
    seen: set[int] = set()
    found: list[torch.Tensor] = []
    waiting: list[Any] = [target]
    if isinstance(target, torch.nn.Module):
        waiting.append(target.forward)
    while waiting and len(seen) < _LIMIT:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if not is_a(thing, torch.Tensor):
            waiting += _parts(thing)
        elif thing.requires_grad:
            found.append(thing)
    return found


def is_a(thing: Any, kinds: Any) -> bool:
    """isinstance() without asking the object for its class, which may run its own code."""
    return issubclass(type(thing), kinds)


def is_array(thing: Any) -> bool:
    """Returns True of NumPy's arrays of numbers."""
    kind = type(thing)
    return kind.__name__ == "ndarray" and kind.__module__ == "numpy" and not thing.dtype.hasobject


def is_foreign(thing: Any) -> bool:
    """Returns True of the objects of Python's library, of PyTorch and of NumPy, but for layers and plain holders of
    attributes: what these hold is not of the function."""
    if is_array(thing) or isinstance(
        thing, (*_CONTAINERS, tuple, frozenset, torch.nn.Module, argparse.Namespace, types.SimpleNamespace)
    ):
        return False
    if is_a(thing, types.ModuleType):
        name = thing.__name__
    else:
        kind = thing if is_a(thing, (type, types.FunctionType)) else type(thing)
        name = getattr(kind, "__module__", None) or ""
    root = name.split(".")[0]
    return root in _FOREIGN or (root in sys.stdlib_module_names and _is_standard(root))


def _is_standard(name: str) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is None or file.startswith(_STANDARD)


def slots_of(thing: Any) -> Iterator[str]:
    """The names in the `__slots__` of an object's classes."""
    for kind in type(thing).__mro__:
        names = vars(kind).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__"):
                yield f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") else name


def given_to(thing: Any) -> tuple[Any, ...]:
    """The default values of a function, and the arguments that `functools.partial` keeps."""
    if is_a(thing, types.FunctionType):
        return (*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values())
    return (*thing.args, *thing.keywords.values()) if is_a(thing, functools.partial) else ()


def is_iterator(thing: Any) -> bool:
    """Returns True of what gives another value each time that it is asked."""
    return hasattr(type(thing), "__next__")


def holders_of(thing: Any) -> list[tuple[Any, bool]]:
    """(what holds values that may be exchanged, True if these are attributes), of one object: dictionaries, lists,
    variables of closures, classes. An object that cannot be looked at, as a proxy outside of its context, has none."""
    try:
        return list(_holders_of(thing))
    except Exception:  # noqa: BLE001  it is the object's own
        return []


def _holders_of(thing: Any) -> Iterator[tuple[Any, bool]]:
    if is_a(thing, _CONTAINERS) or is_array(thing):
        yield thing, False
    elif is_a(thing, (tuple, frozenset)):
        for value in thing:
            yield from holders_of(value)
    elif is_a(thing, types.MethodType):
        yield from holders_of(thing.__self__)
        yield from holders_of(thing.__func__)
    elif is_a(thing, functools.partial):
        for value in (thing.func, *given_to(thing)):
            yield from holders_of(value)
    elif is_a(thing, types.FunctionType):
        if not is_foreign(thing):
            for cell in thing.__closure__ or ():
                yield cell, False
            for value in given_to(thing):
                yield from holders_of(value)
            yield vars(thing), True
    elif is_a(thing, (type, types.ModuleType)):
        if not is_foreign(thing):
            yield thing, True
    elif not is_a(thing, torch.Tensor) and not is_foreign(thing):
        if type(thing).__dictoffset__ != 0:  # asking an object for it could run its own code
            yield vars(thing), True
        if any(True for _ in slots_of(thing)):
            yield thing, True
        if not is_foreign(type(thing)):
            yield type(thing), True
