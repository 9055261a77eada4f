"""Rules of draws that are written into a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core import Dtype, Tensor, Unsupported
from .aten import TABLE
from .calls import FLOATING, METHODS, At, call, convert, with_zero_gradient, write
from .rules import _handler, _overloads, rule

Draw = Callable[..., Tensor]


def _drawn(name: str) -> Callable[[Draw], Draw]:
    """Says that the method `name` writes what `f(at, x, ...)` draws over x."""

    def add(f: Draw) -> Draw:
        draw = _handler(name, f)

        def handler(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
            drawn = draw(args, kwargs, at)
            return write(args[0], convert(drawn, args[0].dtype, at), at)

        METHODS[name] = handler
        for target in _overloads(name):
            TABLE[target] = handler
        return f

    return add


def _uniform(x: Tensor, at: At) -> Tensor:
    """Numbers of 0 to 1 of the shape of x."""
    dtype = Dtype.float64 if x.dtype not in FLOATING or x.dtype == Dtype.float64 else Dtype.float32
    return call("rand", [list(x.shape)], {"dtype": dtype}, at)


def _normal(x: Tensor, at: At) -> Tensor:
    return call("randn", [list(x.shape)], {"dtype": Dtype.float64 if x.dtype == Dtype.float64 else Dtype.float32}, at)


def _moved(x: Tensor, scale: Any, start: Any, at: At) -> Tensor:
    return call("add", [call("mul", [x, scale], {}, at), start], {}, at)


def _need(condition: bool, name: str) -> None:
    if not condition:
        raise Unsupported(f"{name} with such parameters")


@_drawn("uniform_")
def uniform(at: At, x: Tensor, from_: float = 0.0, to: float = 1.0) -> Tensor:
    """Between two ends."""
    _need(from_ <= to, "uniform_")
    return _moved(_uniform(x, at), to - from_, from_, at)


@_drawn("normal_")
def normal(at: At, x: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """By the normal distribution."""
    _need(std >= 0 and x.dtype in FLOATING, "normal_")
    return _moved(_normal(x, at), std, mean, at)


@_drawn("log_normal_")
def log_normal(at: At, x: Tensor, mean: float = 1.0, std: float = 2.0) -> Tensor:
    """Numbers whose logarithms are normally distributed."""
    _need(std > 0 and x.dtype in FLOATING, "log_normal_")
    return call("exp", [_moved(_normal(x, at), std, mean, at)], {}, at)


@_drawn("exponential_")
def exponential(at: At, x: Tensor, lambd: float = 1.0) -> Tensor:
    """By the exponential distribution."""
    _need(lambd > 0 and x.dtype in FLOATING, "exponential_")
    return call("div", [call("log1p", [call("neg", [_uniform(x, at)], {}, at)], {}, at), -lambd], {}, at)


@_drawn("cauchy_")
def cauchy(at: At, x: Tensor, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """By the Cauchy distribution."""
    _need(sigma > 0 and x.dtype in FLOATING, "cauchy_")
    turned = call("tan", [_moved(_uniform(x, at), math.pi, -math.pi / 2, at)], {}, at)
    return _moved(turned, sigma, median, at)


@_drawn("geometric_")
def geometric(at: At, x: Tensor, p: float) -> Tensor:
    """The number of trials until a success."""
    _need(0 < p < 1, "geometric_")
    logarithms = call("log1p", [call("neg", [_uniform(x, at)], {}, at)], {}, at)
    return call("clamp_min", [call("ceil", [call("div", [logarithms, math.log1p(-p)], {}, at)], {}, at), 1.0], {}, at)


@rule("bernoulli")
def bernoulli_of(at: At, self: Tensor, p: Any = None) -> Tensor:
    """Ones with the probabilities that the elements are, or with one for all."""
    drawn = call("lt", [_uniform(self, at), self if p is None else p], {}, at)
    return with_zero_gradient(convert(drawn, self.dtype, at), self, at)


@_drawn("bernoulli_")
def bernoulli(at: At, x: Tensor, p: Any = 0.5) -> Tensor:
    """Ones with a probability, which may be one for each element."""
    _need(isinstance(p, Tensor) or 0 <= p <= 1, "bernoulli_")
    return call("lt", [_uniform(x, at), p], {}, at)
