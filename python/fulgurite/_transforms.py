"""Gradients of functions over `fulgurite.Tensor`, as functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import _core, _pytree
from ._compiled import Compiled
from ._core import Tensor


class _Linearized:
    """A function's result at some arguments, and the way back from it."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], wrt: Sequence[int]
    ) -> None:
        leaves: list[Any] = []
        self.specs = []
        self.ranges = []  # of each argument among the leaves
        for argument in args:
            start = len(leaves)
            self.specs.append(_pytree.flatten(argument, leaves))
            self.ranges.append((start, len(leaves)))
        leaves = [x if isinstance(x, Tensor) or not hasattr(x, "__dlpack__") else _core.from_dlpack(x) for x in leaves]
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        self.places = [i for i, x in enumerate(leaves) if isinstance(x, Tensor)]
        wanted = [n for n, i in enumerate(self.places) if any(self.ranges[a][0] <= i < self.ranges[a][1] for a in wrt)]
        self.leaves = leaves

        def body(values: list[Any], _members: list[Any]) -> list[Any]:
            given = list(leaves)
            for place, value in zip(self.places, values):
                given[place] = value
            it = iter(given)
            out: list[Any] = []
            self.out_spec = _pytree.flatten(function(*[_pytree.unflatten(s, it) for s in self.specs], **kwargs), out)
            self.out = out
            return [x for x in out if isinstance(x, Tensor)]

        results, self.pull = _core.vjp(body, tensors, wanted)
        given = iter(results)
        self.out = [next(given) if isinstance(x, Tensor) else x for x in self.out]
        self.result = _pytree.unflatten(self.out_spec, iter(self.out))

    def gradients(self, cotangents: list[Tensor | None], wrt: Sequence[int]) -> list[Any]:
        """The gradients of the arguments `wrt`, each of the argument's structure; None where a leaf is not a tensor."""
        found: list[Any] = [None] * len(self.leaves)
        for place, gradient in zip(self.places, self.pull(cotangents)):
            found[place] = gradient
        return [_pytree.unflatten(self.specs[a], iter(found[slice(*self.ranges[a])])) for a in wrt]


def _function_of(f: Callable[..., Any]) -> Callable[..., Any]:
    return f.target if isinstance(f, Compiled) else f


def _places(argnums: int | Sequence[int], count: int, what: str) -> list[int]:
    places = [argnums] if isinstance(argnums, int) else list(argnums)
    for place in places:
        if not -count <= place < count:
            raise _core.Error(f"{what}: argnums names argument {place}, and the function was called with {count}")
    return [place % count for place in places]


def value_and_grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that gives `f`'s value and the gradient of its first result, a scalar, with respect to the arguments
    `argnums`."""

    @functools.wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        places = _places(argnums, len(args), "value_and_grad")
        linear = _Linearized(_function_of(f), args, kwargs, places)
        tensors = [x for x in linear.out if isinstance(x, Tensor)]
        if not tensors or tensors[0].numel() != 1 or not tensors[0].dtype.is_floating_point:
            raise _core.Error(
                "grad: the function's first result must be a floating tensor of one element; "
                "sum() or mean() it, or use vjp"
            )
        one = _core.call("ones_like", [tensors[0]])
        gradients = linear.gradients([one, *[None] * (len(tensors) - 1)], places)
        return linear.result, gradients[0] if isinstance(argnums, int) else tuple(gradients)

    return differentiated


def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that gives the gradient of `f`'s first result, a scalar, with respect to the arguments `argnums`. It
    nests."""
    both = value_and_grad(f, argnums)

    @functools.wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[1]

    return differentiated


def vjp(f: Callable[..., Any], *args: Any) -> tuple[Any, Callable[[Any], Any]]:
    """`f(*args)` and a function from cotangents of the result to those of all arguments."""
    places = list(range(len(args)))
    linear = _Linearized(_function_of(f), args, {}, places)

    def pull(cotangent: Any) -> Any:
        given: list[Any] = []
        _pytree.flatten(cotangent, given)
        cotangents = [c for c, x in zip(given, linear.out) if isinstance(x, Tensor)]
        return tuple(linear.gradients(cotangents, places))

    return linear.result, pull
