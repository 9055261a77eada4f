"""Rules of pointwise operators, reductions and quantiles."""

from __future__ import annotations

import math
from typing import Any

import torch

from .._core import Dtype, Tensor, Unsupported, compositions
from .aten import A
from .calls import (
    FLOATING,
    FUNCTIONS,
    At,
    Handler,
    about_to_read,
    by_name,
    call,
    convert,
    our_dtype,
    reading,
    with_zero_gradient,
)
from .rules import aten_rule, rule

_POLYNOMIALS = [
    f"{kind}_polynomial_{letter}"
    for kind, letters in (
        ("chebyshev", "tuvw"),
        ("shifted_chebyshev", "tuvw"),
        ("hermite", ("h", "he")),
        ("laguerre", "l"),
        ("legendre", "p"),
    )
    for letter in letters
]


def _polynomial(name: str) -> Any:
    function = getattr(compositions, f"special_{name}")

    def record(at: At, x: Any, n: Any) -> Tensor:
        if not isinstance(x, Tensor):
            x = call("full", [[], x], {"dtype": _floating(n, at).dtype}, at)
        x = _floating(x, at)
        if not isinstance(n, Tensor):
            return function(x, int(n), at)
        degrees = convert(n, Dtype.int64, at)
        about_to_read()
        out = call("mul", [call("zeros_like", [degrees], {"dtype": x.dtype}, at), x], {}, at)
        for degree in sorted(set(_flat(degrees.tolist()))):  # the degrees are read
            here = call("eq", [degrees, degree], {}, at)
            out = call("where", [here, function(x, degree, at), out], {}, at)
        return out

    return record


def _flat(numbers: Any) -> list[int]:
    return [n for part in numbers for n in _flat(part)] if isinstance(numbers, list) else [numbers]


for _name in _POLYNOMIALS:
    rule(f"special_{_name}")(_polynomial(_name))


def _floating(x: Tensor, at: At) -> Tensor:
    """`x`, integers in PyTorch's default dtype."""
    return x if x.dtype in FLOATING else convert(x, torch.get_default_dtype(), at)


@rule("special_log_ndtr")
def log_ndtr(at: At, self: Tensor) -> Tensor:
    """log of the normal distribution function."""
    return compositions.special_log_ndtr(_floating(self, at), at)


@rule("special_airy_ai")
def airy_ai(at: At, x: Tensor) -> Tensor:
    """The Airy function, which has no gradient in PyTorch."""
    return compositions.special_airy_ai(call("detach", [_floating(x, at)], {}, at), at)


@rule("nextafter")
def nextafter(at: At, self: Tensor, other: Tensor) -> Tensor:
    """The neighbouring numbers."""
    return with_zero_gradient(compositions.nextafter(self, other, at), other, at)


@rule("special_spherical_bessel_j0")
def spherical_bessel_j0(at: At, self: Tensor) -> Tensor:
    """sin(x) / x, and more exact near 0."""
    return compositions.special_spherical_bessel_j0(_floating(self, at), at)


@rule("angle")
def angle(at: At, self: Tensor) -> Tensor:
    """0 or pi, and NaN of NaN."""
    x = _floating(self, at)
    turned = call("full_like", [x, math.pi], {}, at)
    value = call("where", [call("lt", [x, 0], {}, at), turned, call("zeros_like", [x], {}, at)], {}, at)
    return with_zero_gradient(call("where", [call("isnan", [x], {}, at), x, value], {}, at), x, at)


@rule("round")
def round_(at: At, self: Tensor, *, decimals: int = 0) -> Tensor:
    """To so many decimals."""
    if decimals == 0:
        return call("round", [self], {}, at)
    if self.dtype not in FLOATING:
        raise Unsupported("round of integers to decimals")
    scale = 10.0 ** abs(decimals)
    first, last = ("mul", "div") if decimals > 0 else ("div", "mul")
    return call(last, [call("round", [call(first, [self, scale], {}, at)], {}, at), scale], {}, at)


@rule("frexp")
def frexp(at: At, self: Tensor) -> Any:
    """Mantissas and exponents."""
    return compositions.frexp(self, at)


@rule("fill")
def fill(at: At, self: Tensor, value: Any) -> Tensor:
    """One value everywhere, whose gradient with respect to what was there is zero."""
    if isinstance(value, Tensor):
        if value.ndim != 0:
            raise Unsupported("fill with a tensor that has dimensions")
        filled = call("expand", [convert(value, self.dtype, at), list(self.shape)], {}, at)
        filled = call("clone", [filled], {}, at)
    else:
        filled = call("full_like", [self, value], {}, at)
    return with_zero_gradient(filled, self, at)


@rule("zero")
def zero(at: At, self: Tensor) -> Tensor:
    """Zero everywhere."""
    return with_zero_gradient(call("zeros_like", [self], {}, at), self, at)


@rule("equal")
@reading
def equal(at: At, self: Tensor, other: Tensor) -> bool:
    """One truth value, for which the recorded piece ends."""
    if list(self.shape) != list(other.shape):
        return False
    return bool(call("all", [call("eq", [self, other], {}, at)], {}, at).item(at))


@rule("allclose")
@reading
def allclose(
    at: At, self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Likewise."""
    close = call("isclose", [self, other, rtol, atol, equal_nan], {}, at)
    return bool(call("all", [close], {}, at).item(at))


def _number(value: Any, at: At) -> Any:
    if not isinstance(value, Tensor):
        return value
    about_to_read()
    return value.item(at)


def _spaced(op: str) -> Handler:
    def handler(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
        given = dict(zip(("start", "end"), args)) | kwargs
        given |= {key: _number(given[key], at) for key in ("start", "end")}
        dtype = given.get("dtype")
        if dtype is not None and not dtype.is_floating_point:  # PyTorch converts the ends before
            given |= {key: int(given[key]) for key in ("start", "end")}
        return by_name(op, [given.pop("start"), given.pop("end"), *args[2:]], given, at)

    return handler


FUNCTIONS[torch.linspace] = _spaced("linspace")


@aten_rule(A.linspace.Tensor_Tensor, A.linspace.Tensor_Scalar, A.linspace.Scalar_Tensor)
def linspace(at: At, start: Any, end: Any, steps: int, *, dtype: Any = None) -> Tensor:
    """The ends are read."""
    given = {"dtype": our_dtype(dtype)} if dtype is not None else {}
    return call("linspace", [_number(start, at), _number(end, at), steps], given, at)


@rule("mode")
def mode(at: At, self: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent elements."""
    return compositions.mode(self, dim, keepdim, at)


@rule("norm")
def norm(at: At, self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """By a number or a name."""
    x = self if dtype is None else convert(self, dtype, at)
    if p == "nuc":
        dims = [0, 1] if dim is None else list(dim)
        if len(dims) != 2 or (dim is None and x.ndim != 2):
            raise Unsupported("the nuclear norm of a tensor that is not a matrix")
        return _nuclear(x, dims, keepdim, at)
    if isinstance(p, str) and p != "fro":
        raise Unsupported(f"norm with p={p!r}")
    order = 2.0 if p is None or p == "fro" else float(p)
    dims = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    out = call("linalg.vector_norm", [x, order, dims or list(range(x.ndim)), keepdim], {}, at)
    return with_zero_gradient(out, x, at) if order == 0 else out


@rule("linalg_norm")
def linalg_norm(at: At, self: Tensor, *more: Any, **given: Any) -> Tensor:
    """PyTorch's own, which is made of the norms of vectors and matrices."""
    raise Unsupported("linalg.norm of both kinds")


@rule("linalg_vector_norm")
def vector_norm(
    at: At, x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """A count of what is not zero has a zero gradient."""
    given = {} if dtype is None else {"dtype": our_dtype(dtype)}
    dims = [dim] if isinstance(dim, int) else dim if dim is None else list(dim)
    out = call("linalg.vector_norm", [x, ord, dims, keepdim], given, at)
    return with_zero_gradient(out, x, at) if ord == 0 else out


def _nuclear(x: Tensor, dims: list[int], keepdim: bool, at: At) -> Tensor:
    matrices = call("movedim", [x, dims, [-2, -1]], {}, at)
    values = call("linalg.svd", [matrices, False], {}, at)[1]
    total = call("sum", [values, [-1]], {}, at)
    for d in sorted(d % x.ndim for d in dims) if keepdim else ():
        total = call("unsqueeze", [total, d], {}, at)
    return total


def _ranks(ordered: Tensor, q: Tensor, ignore_nan: bool, at: At) -> Tensor:
    """The places of the quantiles, between elements; a row with NaN has its last element everywhere."""
    last = int(ordered.shape[-1]) - 1
    if ignore_nan:
        real = call("logical_not", [call("isnan", [ordered], {}, at)], {}, at)
        count = call("sub", [call("sum", [convert(real, ordered.dtype, at), [-1], True], {}, at), 1], {}, at)
        return call("mul", [q, call("clamp_min", [count, 0], {}, at)], {}, at)
    ends = call("isnan", [call("narrow", [ordered, -1, last, 1], {}, at)], {}, at)
    return call("where", [ends, float(last), call("mul", [q, last], {}, at)], {}, at)


_TO_PLACE = {"lower": "floor", "higher": "ceil", "nearest": "round"}


def _quantile(
    at: At, x: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, ignore_nan: bool
) -> Tensor:
    if interpolation not in (*_TO_PLACE, "linear", "midpoint") or x.numel() == 0:
        raise Unsupported("quantile of such arguments")
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise Unsupported("quantile outside of 0 to 1")
        points = call("full", [[1], q], {"dtype": x.dtype}, at)
    elif q.dtype != x.dtype or q.ndim > 1:
        raise Unsupported("quantile of such points")
    else:
        points = call("reshape", [q, [-1]], {}, at)
    is_many = isinstance(q, Tensor) and q.ndim == 1
    rows = (
        call("reshape", [x, [-1]], {}, at) if dim is None or x.ndim == 0 else call("movedim", [x, [dim], [-1]], {}, at)
    )
    ordered = call("sort", [rows, -1], {}, at)[0]
    ranks = _ranks(ordered, points, ignore_nan, at)
    ranks = call("expand", [ranks, [*ordered.shape[:-1], points.shape[0]]], {}, at)
    out = _between(ordered, ranks, interpolation, at)
    out = call("movedim", [out, [-1], [0]], {}, at)
    if keepdim:
        kept = [1] * x.ndim if dim is None else [1 if d == dim % max(x.ndim, 1) else n for d, n in enumerate(x.shape)]
        out = call("reshape", [out, [points.shape[0], *kept]], {}, at)
    return out if is_many else call("select", [out, 0, 0], {}, at)


def _between(ordered: Tensor, ranks: Tensor, interpolation: str, at: At) -> Tensor:
    def at_place(op: str) -> Tensor:
        places = convert(call(op, [ranks], {}, at), Dtype.int64, at)
        return call("gather", [ordered, -1, places], {}, at)

    if interpolation in _TO_PLACE:
        return at_place(_TO_PLACE[interpolation])
    low = at_place("floor")
    high = at_place("ceil")
    if interpolation == "midpoint":
        return call("lerp", [low, high, 0.5], {}, at)
    weight = call("sub", [ranks, call("floor", [ranks], {}, at)], {}, at)
    return call("lerp", [low, high, weight], {}, at)


@rule("quantile")
def quantile(
    at: At, self: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Quantiles of all elements, or along a dimension."""
    return _quantile(at, self, q, dim, keepdim, interpolation, False)


@rule("nanquantile")
def nanquantile(
    at: At, self: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Likewise, of the elements that are numbers."""
    return _quantile(at, self, q, dim, keepdim, interpolation, True)
