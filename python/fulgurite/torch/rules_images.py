"""Rules of images and volumes: resizing with a filter, and reading between elements."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

from .. import _core
from .._core import Dtype, Tensor, Unsupported
from .aten import A
from .calls import FLOATING, FUNCTIONS, At, by_name, call, convert
from .rules import aten_rule

# The half width of the filter, and the filter itself.
_FILTERS: dict[str, tuple[float, Any]] = {
    "bilinear": (1.0, lambda x: max(0.0, 1.0 - x)),
    "bicubic": (2.0, lambda x: (1.5 * x - 2.5) * x * x + 1.0 if x < 1 else ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0),
}


def _resizing(size: int, wanted: int, align_corners: bool, factor: float | None, mode: str) -> torch.Tensor:
    """The matrix [wanted, size] that resizes one dimension: each row is a filter as wide as the scale asks for."""
    if align_corners:
        scale = (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    else:
        scale = 1.0 / factor if factor else size / wanted
    half, shape = _FILTERS[mode]
    support, step = half * max(scale, 1.0), 1.0 / max(scale, 1.0)
    rows = torch.zeros(wanted, size, dtype=torch.float64)
    for i in range(wanted):
        center = scale * (i + 0.5)
        first, last = max(int(center - support + 0.5), 0), min(int(center + support + 0.5), size)
        weights = [shape(x) if x < half else 0.0 for x in (abs((j - center + 0.5) * step) for j in range(first, last))]
        total = sum(weights)
        for j, weight in zip(range(first, last), weights):
            rows[i, j] = weight / total if total else weight
    return rows


def _resized(x: Tensor, size: Any, align_corners: bool, factors: Any, mode: str, at: At) -> Tensor:
    if x.ndim != 4 or x.dtype not in FLOATING:
        raise Unsupported("resizing with antialias of an input other than a batch of floating images")
    wide = Dtype.float64 if x.dtype == Dtype.float64 else Dtype.float32
    out = convert(x, wide, at)
    for d in (3, 2):
        rows = _resizing(int(x.shape[d]), int(size[d - 2]), align_corners, factors[d - 2], mode)
        weights = convert(_core.from_dlpack(rows), wide, at)
        if d == 3:
            out = call("matmul", [out, call("transpose", [weights, 0, 1], {}, at)], {}, at)
        else:
            out = call("matmul", [weights, out], {}, at)
    return convert(out, x.dtype, at)


@aten_rule(A._upsample_bilinear2d_aa.default)
def upsample_bilinear(
    at: At, self: Tensor, output_size: Any, align_corners: bool, scales_h: Any = None, scales_w: Any = None
) -> Tensor:
    """As `interpolate` with antialias."""
    return _resized(self, output_size, align_corners, (scales_h, scales_w), "bilinear", at)


@aten_rule(A._upsample_bicubic2d_aa.default)
def upsample_bicubic(
    at: At, self: Tensor, output_size: Any, align_corners: bool, scales_h: Any = None, scales_w: Any = None
) -> Tensor:
    """Likewise."""
    return _resized(self, output_size, align_corners, (scales_h, scales_w), "bicubic", at)


_INTERPOLATE = ("input", "size", "scale_factor", "mode", "align_corners", "recompute_scale_factor", "antialias")


def _interpolate(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
    given = dict(zip(_INTERPOLATE, args)) | kwargs
    if not given.pop("antialias", False):
        return by_name("nn.functional.interpolate", args, {k: v for k, v in kwargs.items() if k != "antialias"}, at)
    x, mode = given["input"], given.get("mode", "nearest")
    if mode not in _FILTERS or x.ndim != 4:
        raise Unsupported(f"interpolate with antialias and mode={mode!r}")
    size, factors = given.get("size"), given.get("scale_factor")
    if size is None:
        factors = [factors] * 2 if isinstance(factors, (int, float)) else list(factors)
        size = [math.floor(int(n) * f) for n, f in zip(x.shape[2:], factors)]
        factors = [None, None] if given.get("recompute_scale_factor") else factors
    else:
        size, factors = [size] * 2 if isinstance(size, int) else list(size), [None, None]
    return _resized(x, size, bool(given.get("align_corners")), factors, mode, at)


FUNCTIONS[F.interpolate] = _interpolate


_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


@aten_rule(A.grid_sampler_3d.default)
def grid_sampler_3d(
    at: At, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Volumes read between their elements; modes are numbers."""
    modes = [_MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners]
    return call("nn.functional.grid_sample", [input, grid, *modes], {}, at)
