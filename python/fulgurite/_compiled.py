"""`fulgurite.jit`: functions over tensors, compiled. Those of PyTorch go through `fulgurite.torch.direct`."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import _core, _pytree
from ._core import Function, Tensor, Trace


class Hole:
    """Stands for a tensor, or for a number that is a symbol, among the constants of a call."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


TENSOR, NUMBER = Hole("tensor"), Hole("number")


class Entry:
    """One program family of a compiled function: the same structure and the same constants, whatever the sizes of
    tensors."""

    def __init__(self, owner: Compiled, spec: _pytree.Spec, constants: list[Any], names: list[str]) -> None:
        self.target, self.spec, self.constants = owner.target, spec, constants
        self.results: list[tuple[_pytree.Spec, list[Any]]] = []
        self.function = owner.make_function(self.record, names, ())

    def record(self, values: list[Any], _members: list[Any]) -> list[Any]:
        """Runs the Python function on what stands for the arguments; the last result says which structure the results
        had."""
        given = iter(values)
        leaves = [next(given) if isinstance(c, Hole) else c for c in self.constants]
        args, kwargs = _pytree.unflatten(self.spec, iter(leaves))
        out: list[Any] = []
        spec = _pytree.flatten(self.target(*args, **kwargs), out)
        holes = [TENSOR if isinstance(x, (Tensor, _core.Int, _core.Float)) else x for x in out]
        self.results.append((spec, holes))
        return [x for x, hole in zip(out, holes) if hole is TENSOR] + [len(self.results) - 1]

    def __call__(self, values: list[Any]) -> Any:
        *results, which = self.function.call(values)
        spec, holes = self.results[int(which)]
        given = iter(results)
        return _pytree.unflatten(spec, iter([next(given) if hole is TENSOR else hole for hole in holes]))


class Compiled:
    """A compiled function or module: called like the original, compiled at the first call and for each new kind of
    arguments."""

    def __init__(self, target: Callable[..., Any], options: dict[str, Any]) -> None:
        self.target, self.options = target, options
        self.entries: dict[Any, Any] = {}
        self.last: Any = None
        self.torch_calls: Any = None
        self.is_symbolic = options["cache"] == "symbolic values"
        if not isinstance(target, type) and callable(target):
            functools.update_wrapper(
                self, target, assigned=("__name__", "__qualname__", "__doc__", "__module__"), updated=()
            )
        self.__wrapped__ = target
        self.parameter_names = _parameter_names(target)
        if _is_torch_module(target):
            self._use_torch_calls()

    def make_function(
        self, body: Callable[..., list[Any]], names: Sequence[str], members: Sequence[str], **more: Any
    ) -> Function:
        """The library's compiled function with this one's options."""
        options = {k: v for k, v in self.options.items() if k not in ("transforms", "argument_names", "fallback")}
        function = Function(body, list(names), list(members), **{**options, **more})
        return function.with_transforms(list(self.options["transforms"])) if self.options["transforms"] else function

    def _use_torch_calls(self) -> Any:
        from .torch.call_cache import CallCache

        self.torch_calls = CallCache(self)
        return self.torch_calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.torch_calls is not None:
            return self.torch_calls(args, kwargs)
        leaves: list[Any] = []
        spec = _pytree.flatten((args, kwargs), leaves)
        if "torch" in sys.modules and _holds_torch_tensor(leaves):
            return self._use_torch_calls()(args, kwargs)
        if _core.is_tracing():  # becomes part of the recording in progress
            return self.target(*args, **kwargs)
        return self._entry(spec, leaves)

    def _entry(self, spec: _pytree.Spec, leaves: list[Any]) -> Any:
        values, constants = [], []
        for leaf in leaves:
            leaf = _core.from_dlpack(leaf) if not isinstance(leaf, Tensor) and hasattr(leaf, "__dlpack__") else leaf
            hole = self._hole(leaf)
            if hole is not None:
                values.append(leaf)
            constants.append(leaf if hole is None else hole)
        key = (spec, tuple((type(c), _hashable(c)) for c in constants))
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = Entry(self, spec, constants, self._names(spec, constants))
        self.last = entry
        return entry(values)

    def _hole(self, leaf: Any) -> Hole | None:
        if isinstance(leaf, Tensor):
            return TENSOR
        return NUMBER if self.is_symbolic and type(leaf) in (int, float) else None

    def _names(self, spec: _pytree.Spec, constants: list[Any]) -> list[str]:
        args, kwargs = spec.parts
        names: list[str] = []
        for i, part in enumerate(args.parts):
            given = self.options["argument_names"] or self.parameter_names
            _add_names(part, given[i] if i < len(given) else str(i), names)
        for key, part in zip(kwargs.detail, kwargs.parts):
            _add_names(part, key, names)
        return [name for name, c in zip(names, constants) if isinstance(c, Hole)]

    def may_fall_back(self) -> bool:
        """Returns True if PyTorch is to run what cannot be recorded."""
        return self.options["fallback"] == "eager" and not self.options["fullgraph"]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "target" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.target, name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<fulgurite.jit of {getattr(self.target, '__name__', type(self.target).__name__)}>"


def _hashable(constant: Any) -> Any:
    if isinstance(constant, slice):
        return ("slice", constant.start, constant.stop, constant.step)
    if type(constant) is float and (constant == 0 or constant != constant):
        return repr(constant)  # zeros have signs, and no NaN equals another
    try:
        hash(constant)
    except TypeError:
        raise _core.Error(
            f"jit: an argument of type {type(constant).__name__} is neither a tensor nor a constant "
            "that can be compared; pass its tensors, or hold it in the function"
        ) from None
    return constant


def _add_names(spec: _pytree.Spec, name: str, names: list[str]) -> None:
    if spec.kind is _pytree.LEAF:
        names.append(name)
    keys = spec.detail if spec.kind is dict else range(len(spec.parts))
    for key, part in zip(keys, spec.parts):
        _add_names(part, f"{name}.{key}", names)


def _holds_torch_tensor(leaves: list[Any]) -> bool:
    """Returns True if one of these, or a data class among them, has a tensor of PyTorch's."""
    tensor = sys.modules["torch"].Tensor
    inner = [v for x in leaves if dataclasses.is_dataclass(x) and hasattr(x, "__dict__") for v in vars(x).values()]
    return any(isinstance(x, tensor) for x in leaves) or (bool(inner) and _holds_torch_tensor(inner))


def _is_torch_module(target: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(target, torch.nn.Module)


def _parameter_names(target: Any) -> list[str]:
    try:
        function = target.forward if _is_torch_module(target) else target
        return [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        return []


def jit(
    target: Callable[..., Any] | None = None,
    /,
    *,
    cache: str = "constant values",
    dynamic: bool | None = None,
    executors: Sequence[str] = (),
    transforms: Sequence[Callable[[Trace], Trace]] = (),
    fullgraph: bool = False,
    autocast: Any = None,
    memory_budget: int | None = None,
    associate_forward: bool = False,
    argument_names: Sequence[str] = (),
    fallback: str = "eager",
) -> Any:
    """`target` compiled: a function over tensors of Fulgurite, or a function or `nn.Module` of PyTorch. Also a
    decorator.

    Arguments are tensors, numbers, strings, None, and tuples, lists and dictionaries of these; a value that is not a
    tensor is a constant that the program is compiled for. With `cache="symbolic values"` (or `dynamic=True`) sizes
    and numbers are symbols. A function or module of PyTorch that cannot be recorded is run by PyTorch, with a line on
    stderr and in `fulgurite.torch.report()`; with `fallback="error"`, or `fullgraph=True`, that is an error.
    """
    if fallback not in ("eager", "error"):
        raise _core.Error(f"jit: fallback={fallback!r}; there are eager, error")
    if target is None:
        options = {
            "cache": cache,
            "dynamic": dynamic,
            "executors": executors,
            "transforms": transforms,
            "fullgraph": fullgraph,
            "autocast": autocast,
            "memory_budget": memory_budget,
            "associate_forward": associate_forward,
            "argument_names": argument_names,
            "fallback": fallback,
        }
        return lambda f: jit(f, **options)
    if not callable(target):
        raise TypeError(f"jit: an object of type {type(target).__name__} cannot be called")
    return Compiled(
        target,
        {
            "cache": "symbolic values" if dynamic else cache,
            "executors": list(executors),
            "transforms": list(transforms),
            "fullgraph": fullgraph,
            "autocast": None if autocast is None else _core.dtype(autocast),
            "memory_budget": memory_budget,
            "associate_forward": associate_forward,
            "argument_names": list(argument_names),
            "fallback": fallback,
        },
    )


def with_transforms(f: Compiled, transforms: Sequence[Callable[[Trace], Trace]]) -> Compiled:
    """`f` with transforms of traces of its own, run behind the gradient's and before the executors. Nothing compiled
    is shared."""
    return Compiled(f.target, {**f.options, "transforms": [*f.options["transforms"], *transforms]})


def function_of(f: Any) -> Function:
    """The library's function that the last call of `f` ran."""
    if isinstance(f, Function):
        return f
    last = getattr(f, "last", None)
    if last is None:
        reasons = getattr(getattr(f, "torch_calls", None), "announced", None)
        if reasons:
            raise _core.Error(f"PyTorch runs this function: {sorted(reasons)[0]}")
        raise _core.Error("the function was not called yet, or is none that fulgurite compiled")
    return last.function


def last_traces(f: Any) -> list[Trace]:
    """The stages of the last call's forward: the first as recorded, the last as run."""
    return function_of(f).last_traces()


def last_backward_traces(f: Any) -> list[Trace]:
    """The stages of its backward; empty where nothing needed a gradient."""
    return function_of(f).last_backward_traces()


def last_prologue_traces(f: Any) -> list[Trace]:
    """The steps that flatten the arguments and check them."""
    return function_of(f).last_prologue_traces()


def explain(f: Any) -> str:
    """Every compile: when, why, how long, which line; and what was captured."""
    return function_of(f).explain()


def cache_hits(f: Any) -> int:
    """Calls that found a program, of the kind of arguments that came last."""
    return function_of(f).cache_hits()


def cache_misses(f: Any) -> int:
    """Calls that compiled."""
    return function_of(f).cache_misses()


def compile_stats(f: Any) -> dict[str, float]:
    """Counts, milliseconds of compiles and microseconds of calls."""
    return function_of(f).stats()
