"""ATen's overloads of batch norm, convolutions and pooling."""

from __future__ import annotations

from typing import Any

from .._core import Tensor, Unsupported
from .aten import A, Args, Kwargs, op
from .calls import At, call


@op(A._native_batch_norm_legit_functional.default)
def batch_norm_functional(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.batch_norm_functional`."""
    x, w, b, rm, rv, training, momentum, eps = a
    n = x.ndim
    dims = [0] + list(range(2, n))
    shape = [1, x.shape[1]] + [1] * (n - 2)

    def flat(t: Tensor) -> Tensor:
        return call("reshape", [t, [x.shape[1]]], {}, at)

    if training:
        var, mean = call("var_mean", [x, dims], {"correction": 0, "keepdim": True}, at)
        count = 1
        for d in dims:
            count *= int(x.shape[d])
        m, v = flat(mean), flat(var)
        new_rm = call("add", [call("mul", [rm, 1 - momentum], {}, at), call("mul", [m, momentum], {}, at)], {}, at)
        new_rv = call(
            "add",
            [call("mul", [rv, 1 - momentum], {}, at), call("mul", [v, momentum * count / (count - 1)], {}, at)],
            {},
            at,
        )
        rstd = call("rsqrt", [call("add", [var, eps], {}, at)], {}, at)
    else:
        mean = call("reshape", [rm, shape], {}, at)
        rstd = call("rsqrt", [call("add", [call("reshape", [rv, shape], {}, at), eps], {}, at)], {}, at)
        new_rm, new_rv = rm, rv
    out = call("mul", [call("sub", [x, mean], {}, at), rstd], {}, at)
    if w is not None:
        out = call("mul", [out, call("reshape", [w, shape], {}, at)], {}, at)
    if b is not None:
        out = call("add", [out, call("reshape", [b, shape], {}, at)], {}, at)
    return (out, flat(mean), flat(rstd), new_rm, new_rv)


@op(A._native_batch_norm_legit_no_training.default)
def batch_norm_inference(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.batch_norm_inference`."""
    x, w, b, rm, rv, momentum, eps = a
    out = call("nn.functional.batch_norm", [x, rm, rv, w, b, False, momentum, eps], {}, at)
    return (out, call("empty", [[0]], {}, at), call("empty", [[0]], {}, at))


@op(A.convolution_backward.default)
def convolution_backward(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.convolution_backward`."""
    g, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask = a
    if transposed:
        raise Unsupported("convolution_backward of a transposed convolution")
    n = x.ndim - 2

    def full(sizes: Any) -> list[Any]:
        return list(sizes) * n if len(sizes) == 1 else list(sizes)

    stride, padding, dilation = full(stride), full(padding), full(dilation)
    gi = gw = gb = None
    if mask[0]:
        out_pad = [
            int(x.shape[2 + i])
            - ((int(g.shape[2 + i]) - 1) * stride[i] - 2 * padding[i] + dilation[i] * (int(w.shape[2 + i]) - 1) + 1)
            for i in range(n)
        ]
        gi = call("prims.convolution", [g, w, None, stride, padding, dilation, True, out_pad, groups], {}, at)
    if mask[1]:
        gw = call(
            "prims.convolution_weight", [g, x, [int(s) for s in w.shape[2:]], stride, padding, dilation, groups], {}, at
        )
    if mask[2]:
        gb = call("sum", [g, [0] + list(range(2, g.ndim))], {}, at)
    return (gi, gw, gb)


@op(A.max_pool2d_with_indices.default)
def max_pool(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.max_pool`."""
    x, kernel = a[:2]
    stride = list(a[2]) if len(a) > 2 and a[2] else list(kernel)
    padding = list(a[3]) if len(a) > 3 else [0, 0]
    dilation = list(a[4]) if len(a) > 4 else [1, 1]

    def two(sizes: Any) -> Any:
        return sizes * 2 if len(sizes) == 1 else sizes

    return call(
        "prims.max_pool",
        [x, two(list(kernel)), two(stride), two(padding), two(dilation), a[5] if len(a) > 5 else False],
        {},
        at,
    )


@op(A.max_pool2d_with_indices_backward.default)
def max_pool_backward(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.max_pool_backward`."""
    g, x = a[:2]
    idx = a[7]
    s = list(x.shape)

    def flat(t: Tensor) -> Tensor:
        return call("flatten", [t, -2, -1], {}, at)

    z = call("zeros", [s[:-2] + [s[-2] * s[-1]]], {"dtype": g.dtype}, at)
    return call("reshape", [call("scatter_add", [z, -1, flat(idx), flat(g)], {}, at), s], {}, at)
