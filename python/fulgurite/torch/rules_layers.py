"""Rules of layers: distances, losses, bags of embeddings, pooling at random places, and softmax of masked rows."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F

from .._core import Dtype, Tensor, Unsupported, compositions
from .aten import REDUCTION, A
from .calls import FUNCTIONS, At, call, convert, with_zero_gradient
from .rules import _handler, aten_rule, rule


@rule("cdist", "_cdist_forward")
def cdist(at: At, x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: Any = None) -> Tensor:
    """Distances of rows of two matrices."""
    if p < 0:
        raise Unsupported("cdist with a negative p")
    return compositions.cdist(x1, x2, float(p), at)


@rule("pdist", "_pdist_forward")
def pdist(at: At, self: Tensor, p: float = 2.0) -> Tensor:
    """Distances of the rows of one matrix."""
    if p < 0 or self.ndim != 2:
        raise Unsupported("pdist of such arguments")
    return compositions.pdist(self, float(p), at)


@rule("ctc_loss")
def ctc_loss(
    at: At,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: Any = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The reduction has a name in `torch.nn.functional`, a number in ATen."""
    name = reduction if isinstance(reduction, str) else REDUCTION[reduction]
    lengths = [_lengths(x, at) for x in (input_lengths, target_lengths)]
    return compositions.ctc_loss(log_probs, convert(targets, Dtype.int64, at), *lengths, blank, name, zero_infinity, at)


def _lengths(given: Any, at: At) -> Tensor:
    if isinstance(given, Tensor):
        return convert(given, Dtype.int64, at)
    return call("prims.integer_tensor", [list(given)], {}, at)


_MODES = ("sum", "mean", "max")


def embedding_bag(
    at: At,
    input: Tensor,
    weight: Tensor,
    offsets: Any = None,
    max_norm: Any = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means and maxima of bags of rows."""
    if max_norm is not None or sparse:
        raise Unsupported("embedding_bag with max_norm or sparse gradients")
    return compositions.embedding_bag(
        convert(input, Dtype.int64, at),
        weight,
        None if offsets is None else convert(offsets, Dtype.int64, at),
        mode,
        per_sample_weights,
        include_last_offset,
        padding_idx,
        scale_grad_by_freq,
        at,
    )


FUNCTIONS[F.embedding_bag] = _handler("embedding_bag", embedding_bag)


@rule("_embedding_bag_forward_only", "_embedding_bag")
def embedding_bag_parts(
    at: At,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """With results that only PyTorch's own gradient reads."""
    padding = None if padding_idx < 0 else padding_idx
    out = embedding_bag(
        at,
        indices,
        weight,
        offsets,
        None,
        2,
        scale_grad_by_freq,
        _MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding,
    )
    nothing = call("zeros", [[0]], {"dtype": Dtype.int64}, at)
    return out, nothing, nothing, nothing


@rule("_safe_softmax")
def safe_softmax(at: At, self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Rows that are masked everywhere are zero, and so is their gradient."""
    x = self if dtype is None else convert(self, dtype, at)
    masked = call("all", [call("eq", [x, float("-inf")], {}, at), [dim], True], {}, at)
    softened = call("softmax", [call("masked_fill", [x, masked, 0.0], {}, at), dim], {}, at)
    return call("masked_fill", [softened, masked, 0.0], {}, at)


def _starts(samples: Tensor, size: int, wanted: int, kernel: int, at: At) -> Tensor:
    """The first index of each window that random numbers [..., 1] choose: [..., wanted]."""
    if wanted == 1:
        return call("full_like", [samples, float(size - kernel)], {}, at)
    step = (size - kernel) / (wanted - 1)
    numbers = call("arange", [wanted - 1], {"dtype": samples.dtype}, at)
    moved = call("floor", [call("mul", [call("add", [numbers, samples], {}, at), step], {}, at)], {}, at)
    first = call("floor", [call("mul", [samples, step], {}, at)], {}, at)
    starts = call("sub", [moved, first], {}, at)
    return call("cat", [[starts, call("full_like", [samples, float(size - kernel)], {}, at)], -1], {}, at)


def _windows(x: Tensor, samples: Tensor, kernel: list[int], wanted: list[int], at: At) -> Tensor:
    """The places, in the flattened planes, of all elements of all windows: [batch, channels, windows, elements]."""
    n = len(kernel)
    sizes = [int(s) for s in x.shape[-n:]]
    places: Any = 0
    for d in range(n):
        # In two dimensions PyTorch's first number is for the last one.
        chosen = call("narrow", [samples, 2, 1 - d if n == 2 else d, 1], {}, at)
        starts = convert(_starts(chosen, sizes[d], wanted[d], kernel[d], at), Dtype.int64, at)
        lead = list(starts.shape[:2])
        inside = call("arange", [kernel[d]], {"dtype": Dtype.int64}, at)
        outer = call("reshape", [starts, lead + [wanted[d] if i == d else 1 for i in range(n)] + [1] * n], {}, at)
        inner = call("reshape", [inside, [kernel[d] if i == d else 1 for i in range(n)]], {}, at)
        along = call("add", [outer, inner], {}, at)
        places = along if d == 0 else call("add", [call("mul", [places, sizes[d]], {}, at), along], {}, at)
    return call("flatten", [call("flatten", [places, 2 + n, -1], {}, at), 2, 1 + n], {}, at)


def _fractional(at: At, x: Tensor, kernel: Any, wanted: Any, samples: Tensor) -> Any:
    n = len(kernel)
    batched = x if x.ndim == n + 2 else call("unsqueeze", [x, 0], {}, at)
    if any(k > s for k, s in zip(kernel, batched.shape[-n:])) or samples.ndim != 3:
        raise Unsupported("fractional pooling of such sizes")
    if samples.shape[0] > batched.shape[0]:  # PyTorch reads those of as many images as there are
        samples = call("narrow", [samples, 0, 0, batched.shape[0]], {}, at)
    planes = call("flatten", [batched, -n, -1], {}, at)
    places = _windows(batched, samples, list(kernel), list(wanted), at)
    lead, windows, elements = list(planes.shape[:2]), places.shape[2], places.shape[3]
    places = call("expand", [places, [*lead, windows, elements]], {}, at)
    taken = call("gather", [planes, 2, call("flatten", [places, 2, 3], {}, at)], {}, at)
    largest, which = call("prims.max_with_indices", [call("reshape", [taken, list(places.shape)], {}, at), 3], {}, at)
    indices = call("gather", [places, 3, call("unsqueeze", [which, 3], {}, at)], {}, at)
    shape = [*batched.shape[: 2 if x.ndim == n + 2 else 0], *([batched.shape[1]] if x.ndim != n + 2 else [])]
    shape += list(wanted)
    return call("reshape", [largest, shape], {}, at), call("reshape", [indices, shape], {}, at)


@rule("fractional_max_pool2d", "fractional_max_pool3d")
def fractional_max_pool(at: At, self: Tensor, kernel_size: Any, output_size: Any, random_samples: Tensor) -> Any:
    """Largest elements of windows at places that random numbers choose, and where they are."""
    return _fractional(at, self, kernel_size, output_size, random_samples)


_REDUCTIONS = ("none", "mean", "sum")


@aten_rule(A.multilabel_margin_loss_forward.default)
def multilabel_margin_loss(at: At, self: Tensor, target: Tensor, reduction: int) -> Any:
    """The loss, and the classes that are among the targets. PyTorch's decomposition gives the loss of a vector without
    reduction a dimension."""
    given = call("cumprod", [convert(call("ge", [target, 0], {}, at), Dtype.int64, at), -1], {}, at)
    index = call("mul", [target, given], {}, at)
    nothing = call("zeros_like", [given], {}, at)
    counts = call("scatter_add", [nothing, -1, index, given], {}, at)
    own = call("unsqueeze", [call("gather", [self, -1, index], {}, at), -1], {}, at)
    gap = call("add", [call("sub", [call("unsqueeze", [self, -2], {}, at), own], {}, at), 1.0], {}, at)
    is_target = call("unsqueeze", [call("ne", [given, 0], {}, at), -1], {}, at)
    is_other = call("unsqueeze", [call("eq", [counts, 0], {}, at), -2], {}, at)
    is_pair = call("logical_and", [is_target, is_other], {}, at)
    excess = call("where", [is_pair, call("clamp_min", [gap, 0.0], {}, at), 0.0], {}, at)
    loss = call("div", [call("sum", [excess, [-2, -1]], {}, at), self.shape[-1]], {}, at)
    if _REDUCTIONS[reduction] != "none":
        loss = call(_REDUCTIONS[reduction], [loss], {}, at)
    return loss, convert(call("ne", [counts, 0], {}, at), self.dtype, at)


@aten_rule(A.max_pool2d_with_indices_backward.default)
def max_pool_backward(at: At, grad_output: Tensor, self: Tensor, *sizes: Any, indices: Any = None) -> Tensor:
    """The gradient at the places of the largest elements."""
    where = indices if indices is not None else sizes[-1]
    shape = list(self.shape)
    flat, places = (call("flatten", [t, -2, -1], {}, at) for t in (grad_output, where))
    zero = call("zeros", [[*shape[:-2], shape[-2] * shape[-1]]], {"dtype": grad_output.dtype}, at)
    out = call("reshape", [call("scatter_add", [zero, -1, places, flat], {}, at), shape], {}, at)
    return with_zero_gradient(out, self, at)


def _per_group(x: Tensor, groups: int, at: At) -> Tensor:
    return call("reshape", [x, [x.shape[0], groups, x.numel() // max(x.shape[0] * groups, 1)]], {}, at)


@rule("native_group_norm")
def native_group_norm(
    at: At, input: Tensor, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    """The result, the means and the reciprocal deviations."""
    rows = _per_group(input, group, at)
    var, mean = call("var_mean", [rows, [-1]], {"correction": 0}, at)
    rstd = call("rsqrt", [call("add", [var, eps], {}, at)], {}, at)
    out = call("nn.functional.group_norm", [input, group, weight, bias, eps], {}, at)
    return out, mean, rstd


@rule("native_layer_norm")
def native_layer_norm(at: At, input: Tensor, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Likewise; these keep the dimensions."""
    out, *parts = call("prims.layer_norm", [input, list(normalized_shape), weight, bias, float(eps)], {}, at)
    if weight is None or weight.dtype == input.dtype:
        parts = [convert(part, input.dtype, at) for part in parts]
    return out, *_detached(parts, at)


def _detached(parts: Any, at: At) -> list[Tensor]:
    """Results that PyTorch's gradient takes for constants."""
    return [call("detach", [part], {}, at) for part in parts]


def _statistics(at: At, x: Tensor, training: bool, mean: Any, var: Any, eps: float) -> tuple[Any, Any, Any]:
    """The mean, the variance and the reciprocal deviation that normalize, one a channel."""
    dims = [0, *range(2, x.ndim)]
    if training:
        var, mean = call("var_mean", [x, dims], {"correction": 0}, at)
    return mean, var, call("rsqrt", [call("add", [var, eps], {}, at)], {}, at)


def _batch_norm(
    at: At, x: Tensor, weight: Any, bias: Any, rm: Any, rv: Any, training: bool, momentum: float, eps: float
) -> Any:
    if not training and (rm is None or rv is None):
        raise Unsupported("batch norm without statistics")
    mean, _, rstd = _statistics(at, x, training, rm, rv, eps)
    out = call("nn.functional.batch_norm", [x, rm, rv, weight, bias, training, momentum, eps], {}, at)
    if training:
        return out, *_detached((mean, rstd), at)
    nothing = call("zeros", [[0]], {"dtype": x.dtype}, at)
    return out, nothing, nothing


@rule("native_batch_norm", "_native_batch_norm_legit")
def native_batch_norm(
    at: At,
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """The result, the means and the reciprocal deviations; in training the statistics are written."""
    if isinstance(running_mean, bool):  # the overload without statistics
        training, momentum, eps = running_mean, running_var, training
        running_mean = running_var = None
    return _batch_norm(at, input, weight, bias, running_mean, running_var, training, momentum, eps)


@rule("_batch_norm_with_update")
def batch_norm_with_update(
    at: At,
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> Any:
    """In training, with one more result for a library that is not used."""
    parts = _batch_norm(at, input, weight, bias, running_mean, running_var, True, momentum, eps)
    return (*parts, call("zeros", [[0]], {"dtype": Dtype.uint8}, at))
