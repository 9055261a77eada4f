"""Rules of operators that move elements, and of those whose results have sizes that depend on elements: for these the
recorded piece ends."""

from __future__ import annotations

from typing import Any

import torch

from .. import _core
from .._core import Dtype, Tensor, Unsupported, compositions
from .aten import A
from .calls import BOOL, FLOATING, FUNCTIONS, METHODS, At, call, convert, reading
from .rules import aten_rule, rule


@rule("nonzero")
@reading
def nonzero(at: At, self: Tensor, *, as_tuple: bool = False) -> Any:
    """The places of what is not zero."""
    x = call("unsqueeze", [self, 0], {}, at) if as_tuple and self.ndim == 0 else self
    places = compositions.nonzero(x, at)
    return tuple(call("unbind", [places, 1], {}, at)) if as_tuple else places


@rule("argwhere")
@reading
def argwhere(at: At, self: Tensor) -> Tensor:
    """Likewise."""
    return compositions.nonzero(self, at)


@rule("nonzero_static")
@reading
def nonzero_static(at: At, self: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Likewise, as many as are asked for."""
    return compositions.nonzero_static(self, size, fill_value, at)


@rule("masked_select")
@reading
def masked_select(at: At, self: Tensor, mask: Tensor) -> Tensor:
    """The elements under a mask."""
    return compositions.masked_select(self, mask, at)


@rule("masked_scatter")
def masked_scatter(at: At, self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Elements written under a mask."""
    return compositions.masked_scatter(self, mask, source, at)


def _asked(found: Any, inverse: bool, counts: bool, at: At) -> Any:
    nothing = call("zeros", [[0]], {"dtype": Dtype.int64}, at)
    return found[0], found[1] if inverse else nothing, found[2] if counts else nothing


@aten_rule(A._unique2.default)
@reading
def unique2(
    at: At, self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """Distinct elements."""
    return _asked(compositions.unique(self, sorted, None, at), return_inverse, return_counts, at)


@aten_rule(A._unique.default)
@reading
def unique(at: At, self: Tensor, sorted: bool = True, return_inverse: bool = False) -> Any:
    """Likewise."""
    return _asked(compositions.unique(self, sorted, None, at), return_inverse, False, at)[:2]


@aten_rule(A.unique_dim.default)
@reading
def unique_dim(
    at: At, self: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """Distinct slices."""
    return compositions.unique(self, sorted, dim, at)


@aten_rule(A.unique_consecutive.default)
@reading
def unique_consecutive(
    at: At, self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Runs of equal elements, or of slices."""
    found = compositions.unique_consecutive(self, dim, at)
    return found if dim is not None else _asked(found, return_inverse, return_counts, at)


@rule("histc")
@reading
def histc(at: At, self: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Counts in bins."""
    return compositions.histc(self, bins, float(min), float(max), at)


@rule("bincount")
@reading
def bincount(at: At, self: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each number occurs, or the sums of its weights; the largest is read."""
    if self.ndim != 1 or self.dtype in FLOATING or minlength < 0:
        raise Unsupported("bincount of such arguments")
    places = convert(self, Dtype.int64, at)
    if self.numel() == 0:
        return call("zeros", [[minlength]], {"dtype": Dtype.int64}, at)
    least = int(call("amin", [places], {}, at).item(at))
    if least < 0:
        raise _core.Error("bincount only supports 1-d non-negative integral inputs.")
    length = max(int(call("amax", [places], {}, at).item(at)) + 1, minlength)
    if weights is None:
        given = call("ones_like", [places], {}, at)
    else:
        given = weights if weights.dtype in (Dtype.float32, Dtype.float64) else convert(weights, Dtype.float64, at)
    nothing = call("zeros", [[length]], {"dtype": given.dtype}, at)
    return call("scatter_add", [nothing, 0, places, given], {}, at)


@aten_rule(A.histogram.bin_ct)
@reading
def histogram(
    at: At, self: Tensor, bins: int = 100, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """Counts in bins between two ends."""
    low, high = range if range is not None else (0.0, 0.0)
    return compositions.histogram(self, bins, low, high, weight, density, at)


@aten_rule(A.histogram.bins_tensor)
@reading
def histogram_between(at: At, self: Tensor, bins: Tensor, *, weight: Any = None, density: bool = False) -> Any:
    """Counts in bins whose edges are given."""
    return compositions.histogram_between(self, bins, weight, density, at)


@rule("index_fill")
def index_fill(at: At, self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A row that is named twice is filled once: the value's gradient counts it once."""
    if not isinstance(value, Tensor) or value.ndim:
        return call("index_fill", [self, dim, index, value], {}, at)
    none = call("zeros_like", [self], {"dtype": BOOL}, at)
    filled = call("index_fill", [none, dim, index, True], {}, at)
    return call("where", [filled, convert(value, self.dtype, at), self], {}, at)


@rule("gcd")
def gcd(at: At, self: Tensor, other: Tensor) -> Tensor:
    """Greatest common divisors."""
    return compositions.gcd(self, other, at)


@rule("lcm")
def lcm(at: At, self: Tensor, other: Tensor) -> Tensor:
    """Least common multiples."""
    return compositions.lcm(self, other, at)


@rule("put")
def put(at: At, self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Elements written at places of the flattened tensor."""
    return compositions.put(self, index, source, accumulate, at)


@rule("index_reduce")
def index_reduce(
    at: At, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Slices reduced into rows."""
    if self.ndim > 0:
        return compositions.index_reduce(self, dim, index, source, reduce, include_self, at)
    row, index, source = (call("reshape", [t, [-1]], {}, at) for t in (self, index, source))
    return call("reshape", [compositions.index_reduce(row, dim, index, source, reduce, include_self, at), []], {}, at)


@rule("diagonal_scatter")
def diagonal_scatter(at: At, self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy whose diagonal is written."""
    return compositions.diagonal_scatter(self, src, offset, dim1, dim2, at)


def _strided(function: Any, name: str, args: list[Any], storage_offset: int | None, at: At) -> Tensor:
    if args[0].ndim > 1:  # of which PyTorch's layout may be another than ours
        raise Unsupported(f"{name} of several dimensions: reshape(-1) first")
    try:
        return function(*args, storage_offset, at)
    except _core.Error as reason:
        if storage_offset is None:
            raise
        raise Unsupported(f"{name} with a storage_offset: {reason}") from None


@rule("as_strided")
def as_strided(at: At, self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of any sizes and strides of one dimension. Values of the function begin at the start of their storage; for
    arguments and views, of which it is not known, a storage_offset is refused."""
    return _strided(compositions.as_strided, "as_strided", [self, list(size), list(stride)], storage_offset, at)


@rule("as_strided_copy")
def as_strided_copy(at: At, self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Likewise, a copy."""
    return call("clone", [as_strided(at, self, size, stride, storage_offset)], {}, at)


@rule("as_strided_scatter")
def as_strided_scatter(
    at: At, self: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """A copy that is written at such a view."""
    given = [self, src, list(size), list(stride)]
    return _strided(compositions.as_strided_scatter, "as_strided_scatter", given, storage_offset, at)


@aten_rule(A.tensor_split.tensor_indices_or_sections)
@reading
def tensor_split(at: At, self: Tensor, tensor_indices_or_sections: Tensor, dim: int = 0) -> Any:
    """The places are read."""
    given = tensor_indices_or_sections.tolist()
    length = int(self.shape[dim])
    if isinstance(given, int):
        size, longer = divmod(length, given)
        ends = [size * (i + 1) + min(i + 1, longer) for i in range(given)]
    else:
        ends = [*[min(max(g + length if g < 0 else g, 0), length) for g in given], length]
    starts = [0, *ends[:-1]]
    return tuple(call("narrow", [self, dim, s, max(e - s, 0)], {}, at) for s, e in zip(starts, ends))


def _split_by_tensor(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
    places = args[1] if len(args) > 1 else kwargs.get("tensor_indices_or_sections")
    if not isinstance(places, Tensor):
        raise Unsupported("tensor_split at numbers")  # PyTorch's own, which is made of views
    return tensor_split(at, args[0], places, args[2] if len(args) > 2 else kwargs.get("dim", 0))


FUNCTIONS[torch.tensor_split] = METHODS["tensor_split"] = _split_by_tensor


@rule("segment_reduce")
@reading
def segment_reduce(
    at: At,
    data: Tensor,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """Reductions of runs of rows, whose lengths are read."""
    if indices is not None or axis != 0 or (lengths if offsets is None else offsets).ndim != 1:
        raise Unsupported("segment_reduce of such arguments")
    ends = offsets.tolist() if offsets is not None else [0]
    for length in lengths.tolist() if offsets is None else ():
        ends.append(ends[-1] + length)
    parts = [_reduced(data, s, e - s, reduce, initial, at) for s, e in zip(ends, ends[1:])]
    return call("stack", [parts], {}, at)


_EMPTY = {"sum": 0.0, "prod": 1.0, "mean": float("nan"), "max": float("-inf"), "min": float("inf")}


def _reduced(data: Tensor, start: int, length: int, reduce: str, initial: Any, at: At) -> Tensor:
    if length == 0:
        value = _EMPTY[reduce] if initial is None else initial
        return call("full", [list(data.shape[1:]), value], {"dtype": data.dtype}, at)
    rows = call("narrow", [data, 0, start, length], {}, at)
    if initial is not None:
        first = call("full", [[1, *data.shape[1:]], initial], {"dtype": data.dtype}, at)
        rows = call("cat", [[first, rows]], {}, at)
    if reduce == "mean":
        return call("div", [call("sum", [rows, [0]], {}, at), length], {}, at)
    if reduce == "prod":
        return call("prod", [rows, 0], {}, at)
    return call({"sum": "sum", "max": "amax", "min": "amin"}[reduce], [rows, [0]], {}, at)
