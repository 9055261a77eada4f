"""`torch.autograd.Function` in recordings: its forward, and the backward that it has of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.utils.checkpoint
from torch.utils import _pytree

from .. import _core
from .._core import Tensor, Unsupported
from .calls import RECORDING
from .lines import user_line

_lock = threading.Lock()
_recordings = 0  # that are in progress, of all threads


class FunctionContext:
    """The object that a function's forward and backward get as `ctx`."""

    def __init__(self, core: _core.FunctionContext, arguments: tuple[Any, ...]) -> None:
        self._core, self._kept = core, ()
        self.needs_input_grad = tuple(
            isinstance(a, torch.Tensor) and core.needs_input_grad(i) for i, a in enumerate(arguments)
        )

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors, and None, for the backward."""
        self._kept = tensors

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The kept tensors."""
        from .direct import wrap

        saved = iter(self._core.saved_tensors())
        return tuple(wrap(next(saved)) if isinstance(x, torch.Tensor) else x for x in self._kept)

    def mark_dirty(self, *tensors: Any) -> None:
        """Names the arguments that the forward wrote."""
        self._core.mark_dirty(_values(tensors))

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Names results without a gradient."""
        self._core.mark_non_differentiable(_values(tensors))

    def set_materialize_grads(self, value: bool) -> None:
        """False: the backward gets None for results without a gradient, not zeros."""
        self._core.set_materialize_grads(value)


def _values(tensors: Any) -> list[Tensor]:
    from .direct import unwrap

    return [unwrap(x) for x in tensors if isinstance(x, torch.Tensor)]


def apply(function: type[torch.autograd.Function], arguments: tuple[Any, ...], at: tuple[str, int]) -> Any:
    """Records a call: the operators of its forward, and those of its backward where a gradient is computed."""
    from .direct import Recorder, wrap

    of_call: dict[str, Any] = {}
    RECORDING.calls_custom_functions = True

    def forward(core: _core.FunctionContext, tensors: list[Tensor | None]) -> list[Tensor]:
        given = tuple(a if t is None else wrap(t) for t, a in zip(tensors, arguments))
        context = of_call["context"] = FunctionContext(core, given)
        if function.setup_context is torch.autograd.Function.setup_context:
            out = function.forward(context, *given)
        else:
            out = function.forward(*given)
            function.setup_context(context, given, out)
        results = of_call["results"] = out if isinstance(out, tuple) else (out,)
        of_call["is_tuple"] = isinstance(out, tuple)
        core.save_for_backward(_values(context._kept))
        return _values(results)

    def backward(core: _core.FunctionContext, gradients: list[Tensor | None]) -> list[Tensor | None]:
        context = of_call["context"]
        context._core = core
        given = iter(gradients)
        each = [next(given) if isinstance(x, torch.Tensor) else None for x in of_call["results"]]
        with Recorder():
            of_tensors = _backward_of(function)
            of_tensors = of_tensors.__wrapped__ if once else of_tensors  # the decorator makes errors for derivatives
            found = of_tensors(context, *[None if g is None else wrap(g) for g in each])
        found = found if isinstance(found, tuple) else (found,)
        return [_values([g])[0] if isinstance(g, torch.Tensor) else None for g in found[: len(arguments)]]

    inputs = [_values([a])[0] if isinstance(a, torch.Tensor) else None for a in arguments]
    once = _is_once_differentiable(function)
    made = iter(_core.custom_function(function.__name__, inputs, forward, backward, at, once))
    results = tuple(wrap(next(made)) if isinstance(x, torch.Tensor) else x for x in of_call["results"])
    return results if of_call["is_tuple"] else results[0]


def _checkpointed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Records a reentrant checkpoint, whose values are computed again when the backward needs them."""
    from .direct import wrap

    of_call: dict[str, Any] = {}

    def tensors() -> list[Tensor]:
        of_call["leaves"], of_call["spec"] = _pytree.tree_flatten(function(*arguments))
        return _values(of_call["leaves"])

    made = iter(_core.recomputed(tensors))
    leaves = [wrap(next(made)) if isinstance(x, torch.Tensor) else x for x in of_call["leaves"]]
    return _pytree.tree_unflatten(leaves, of_call["spec"])


def _is_once_differentiable(function: type[torch.autograd.Function]) -> bool:
    """True for a backward in PyTorch's decorator, whose results have no derivative."""
    code = getattr(_backward_of(function), "__code__", None)
    return code is not None and code.co_filename == torch.autograd.function.__file__


def _backward_of(function: type[torch.autograd.Function]) -> Callable[..., Any]:
    base = torch.autograd.Function
    if function.backward is not base.backward:
        return function.backward
    if function.vjp is not base.vjp:
        return function.vjp

    def missing(*_: Any) -> Any:
        raise Unsupported(f"{function.__name__} has no backward")

    return missing


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """Records calls of custom functions on proxies; others, also of other threads, are PyTorch's."""
    global _recordings
    with _lock:
        _recordings += 1
        if _recordings == 1:
            torch.autograd.Function.apply = classmethod(_apply_or_record)
    try:
        yield
    finally:
        with _lock:
            _recordings -= 1
            if _recordings == 0:
                torch.autograd.Function.apply = _APPLY


def _apply_or_record(cls: type[torch.autograd.Function], *args: Any, **kwargs: Any) -> Any:
    from .direct import Proxy

    if not any(isinstance(a, Proxy) for a in args):
        return _APPLY.__get__(None, cls)(*args, **kwargs)
    if kwargs:
        raise Unsupported(f"{cls.__name__}.apply with arguments by keyword")
    if cls is torch.utils.checkpoint.CheckpointFunction:
        return _checkpointed(args[0], args[2:])
    return apply(cls, args, user_line())


_APPLY: Any = torch.autograd.Function.__dict__["apply"]
