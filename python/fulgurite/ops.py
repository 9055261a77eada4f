"""Every operator by PyTorch's name: `ops.softmax(x, dim=-1)`. `ops.names()` lists them, `help(ops.softmax)` describes
one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from . import _core

_functions: dict[str, Callable[..., Any]] = {}
_EMPTY = inspect.Parameter.empty
_LITERALS = {"None": None, "True": True, "False": False}
# Creators spell their sizes as PyTorch does: one list, or one after another.
_SIZES_FIRST = frozenset({"zeros", "ones", "empty", "rand", "randn"})


def _default(text: str) -> Any:
    if not text:
        return _EMPTY
    if text in _LITERALS:
        return _LITERALS[text]
    try:
        return float(text) if any(c in text for c in ".e") else int(text)
    except ValueError:
        return text.strip("'\"")


def _signature(name: str) -> inspect.Signature:
    parameters = []
    for parameter, _, _, keyword_only, default in _core.parameters(name):
        kind = inspect.Parameter.KEYWORD_ONLY if keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(parameter, kind, default=_default(default)))
    try:
        return inspect.Signature(parameters)
    except ValueError:  # a parameter that must be given behind one that need not
        return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])


def _taken(kwargs: dict[str, Any]) -> bool:
    """Takes `requires_grad` and `device` of creators out of the keywords; tells whether a gradient is asked for."""
    device = kwargs.pop("device", None)
    if device is not None and str(device) != "cpu":
        raise _core.Error(f"device {device}: fulgurite runs on the CPU")
    return bool(kwargs.pop("requires_grad", False))


def _make_creator(name: str) -> Callable[..., Any]:
    def creator(*args: Any, **kwargs: Any) -> Any:
        needs_gradient = _taken(kwargs)
        if name in _SIZES_FIRST and not (args and isinstance(args[0], (list, tuple))) and "size" not in kwargs:
            args = (list(args),)
        result = _core.call(name, args, kwargs)
        return result.requires_grad_() if needs_gradient else result

    return creator


def _make(name: str) -> Callable[..., Any]:
    if not _core.has_operator(name):
        base = name[:-1] if name.endswith("_") and not name.endswith("__") else ""
        if not (base and _core.has_operator(base)):
            raise AttributeError(f"there is no operator {name!r}; fulgurite.ops.names() lists them")
        described = base
    else:
        described = name
    parameters = _core.parameters(described)
    if not any(kind in ("tensor", "operand", "tensors") for _, kind, *_ in parameters):
        function = _make_creator(name)
    else:

        def function(*args: Any, **kwargs: Any) -> Any:
            return _core.call(name, args, kwargs)

    function.__name__ = function.__qualname__ = name.rsplit(".", 1)[-1]
    function.__module__ = "fulgurite.ops"
    function.__doc__ = f"{_core.signature(described)}\n\n{_core.documentation(described)}"
    function.__signature__ = _signature(described)  # type: ignore[attr-defined]
    return function


def operator(name: str) -> Callable[..., Any]:
    """The function of an operator by its whole name: "prims.add", "nn.functional.gelu", "relu_"."""
    if name == "copy_":
        return _core.Tensor.copy_
    found = _functions.get(name)
    if found is None:
        found = _functions[name] = _make(name)
    return found


def names() -> list[str]:
    """The whole names of all operators."""
    return sorted(_core.operator_names())


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(name)
    for candidate in (name, f"nn.functional.{name}"):
        try:
            return operator(candidate)
        except AttributeError:
            continue
    raise AttributeError(f"there is no operator {name!r}; fulgurite.ops.names() lists them")


def __dir__() -> list[str]:
    return sorted({n.rsplit(".", 1)[-1] for n in _core.operator_names() if not n.startswith("prims.")})
