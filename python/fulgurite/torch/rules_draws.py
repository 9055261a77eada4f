"""Rules of draws that are written into a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .. import _core
from .._core import Dtype, Tensor, Unsupported
from .aten import TABLE
from .calls import FLOATING, FUNCTIONS, METHODS, At, call, check_device, convert, our_dtype, with_zero_gradient, write
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


@rule("multinomial")
def multinomial(at: At, self: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices of the last dimension with probabilities in the ratios of its elements, which are not checked."""
    if self.dtype not in FLOATING or self.ndim not in (1, 2) or num_samples < 1:
        raise Unsupported("multinomial of such arguments")
    if int(self.shape[-1]) > 2**24:
        raise _core.Error("multinomial: number of categories cannot exceed 2^24")
    x = self if self.dtype == Dtype.float64 else convert(self, Dtype.float32, at)
    x = call("detach", [x], {}, at)
    if not replacement:
        if num_samples > int(x.shape[-1]):
            raise Unsupported("multinomial of more than there are")
        # The first of exponential clocks whose rates are the elements rings for each with its probability.
        times = call("neg", [call("log1p", [call("neg", [_uniform(x, at)], {}, at)], {}, at)], {}, at)
        return call("topk", [call("div", [x, times], {}, at), num_samples], {}, at)[1]
    sums = call("cumsum", [x, -1], {}, at)
    total = call("narrow", [sums, -1, int(x.shape[-1]) - 1, 1], {}, at)
    drawn = call("rand", [[*x.shape[:-1], num_samples]], {"dtype": x.dtype}, at)
    return call("searchsorted", [sums, call("mul", [drawn, total], {}, at)], {"right": True}, at)


@rule("randint_like")
def randint_like(at: At, self: Tensor, low: Any, high: Any = None, *, dtype: Any = None) -> Tensor:
    """Whole numbers from the first to below the second; from 0 where only one is given."""
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        raise Unsupported("randint_like between tensors")
    first, last = (0, low) if high is None else (low, high)
    drawn = call("randint", [first, last, list(self.shape)], {}, at)
    return convert(drawn, self.dtype if dtype is None else dtype, at)


def _creator(*names: str) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """A function that draws a new tensor from numbers: f(at, *the function's own arguments)."""

    def add(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def handler(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
            check_device(kwargs.pop("device", None))
            for name in ("layout", "pin_memory", "requires_grad", "generator"):
                kwargs.pop(name, None)
            if kwargs.get("out") is not None:
                raise Unsupported(f"{names[0]} with out=")
            dtype = kwargs.pop("dtype", None)
            try:
                drawn = f(at, *args, **kwargs)
            except TypeError as mismatch:
                raise Unsupported(f"torch.{names[0]} with such arguments: {mismatch}") from None
            return drawn if dtype is None else convert(drawn, our_dtype(dtype), at)

        for name in names:
            FUNCTIONS[getattr(torch, name)] = handler
        return f

    return add


@_creator("randint")
def randint(at: At, *given: Any, low: Any = None, high: Any = None, size: Any = None) -> Tensor:
    """Whole numbers: (high, size) or (low, high, size)."""
    left = list(given)
    if size is None and left:
        size = left.pop()
    if high is None and left:
        high = left.pop()
    if low is None:
        low = left.pop() if left else 0
    if left or high is None or size is None:
        raise TypeError("it takes low, high and size")
    return call("randint", [low, high, list(size)], {}, at)


@_creator("randperm")
def randperm(at: At, n: Any) -> Tensor:
    """The numbers below n in the order of random ones."""
    return call("argsort", [call("rand", [[n]], {"dtype": Dtype.float64}, at)], {}, at)


@_creator("normal")
def normal_of(at: At, mean: Any = 0.0, std: Any = 1.0, size: Any = None) -> Tensor:
    """Normal numbers: of one mean and deviation and a size, or of those of each element."""
    tensors = [x for x in (mean, std) if isinstance(x, Tensor)]
    if not tensors:
        if size is None:
            raise TypeError("it takes a size")
        return _moved(call("randn", [list(size)], {}, at), std, mean, at)
    shape = call("add", [mean, std], {}, at) if len(tensors) == 2 else tensors[0]
    return convert(_moved(_normal(shape, at), std, mean, at), shape.dtype, at)


@rule("rrelu")
def rrelu(
    at: At, self: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Negative elements times slopes at random between two numbers, or their mean."""
    if lower > upper:
        raise _core.Error(f"rrelu: lower must not be above upper: {lower} and {upper}")
    slope: Any = (lower + upper) / 2
    if training:
        slope = convert(_moved(_uniform(self, at), upper - lower, lower, at), self.dtype, at)
    lowered = call("mul", [self, slope], {}, at)
    out = call("where", [call("gt", [self, 0], {}, at), self, lowered], {}, at)
    return write(self, out, at) if inplace else out
