"""ATen's overloads whose arguments are not those of one of our operators: what AOTAutograd and `__torch_dispatch__`
give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch._prims

from .._core import Dtype, Tensor, Unsupported
from .calls import BOOL, At, Handler, agrees, by_name, call, convert, copied, known, method_call, our_dtype, reading

A = torch.ops.aten
Args, Kwargs = list[Any], dict[str, Any]
TABLE: dict[Any, Handler] = {}


def op(*targets: Any) -> Callable[[Handler], Handler]:
    """Says how these overloads are recorded."""

    def add(handler: Handler) -> Handler:
        for target in targets:
            TABLE[target] = handler
        return handler

    return add


def renamed(name: str, count: int | None = None) -> Handler:
    """The operator of another name with the same arguments."""
    return lambda a, k, at: by_name(name, list(a if count is None else a[:count]), k, at)


def same(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.same`."""
    return a[0]


for t in (A.alias.default, A.detach.default, A.lift_fresh_copy.default, A.lift_fresh.default):
    TABLE[t] = same
TABLE[A.clone.default] = renamed("clone", 1)
TABLE[A._unsafe_view.default] = renamed("reshape")
TABLE[A.view.default] = renamed("view")
TABLE[A.reshape.default] = renamed("reshape")
TABLE[A.expand.default] = lambda a, k, at: call("expand", [a[0], list(a[1])], {}, at)
TABLE[A.select.int] = renamed("select")
TABLE[A.transpose.int] = renamed("transpose")
TABLE[A.t.default] = renamed("t")
TABLE[A.squeeze.dims] = renamed("squeeze")
TABLE[A.squeeze.dim] = renamed("squeeze")
TABLE[A.repeat.default] = renamed("repeat")
TABLE[A.convolution.default] = renamed("prims.convolution")
TABLE[A.native_layer_norm.default] = lambda a, k, at: call("prims.layer_norm", list(a), {}, at)
TABLE[A.split_with_sizes.default] = lambda a, k, at: call("split", [a[0], list(a[1])] + list(a[2:]), {}, at)
TABLE[A.split.Tensor] = lambda a, k, at: call("split", list(a), {}, at)
TABLE[A.linear.default] = renamed("nn.functional.linear")


@op(A.slice.Tensor)
def slice_(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.slice`."""
    given = dict(zip(("dim", "start", "end", "step"), a[1:])) | k
    index: list[Any] = [slice(None)] * a[0].ndim
    index[given.get("dim", 0)] = slice(given.get("start"), given.get("end"), given.get("step", 1))
    return call("__getitem__", [a[0], index], {}, at)


@op(A._to_copy.default)
def to_copy(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.to_copy`."""
    d = k.get("dtype")
    x = a[0]
    if d is None or x.dtype == our_dtype(d):
        return call("clone", [x], {}, at)
    return convert(x, d, at)


@op(torch.ops.prims.convert_element_type.default)
def convert_element_type(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.convert_element_type`."""
    return convert(a[0], a[1], at)


@op(A.copy.default)
def copy(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.copy`."""
    return call("expand", [convert(a[1], a[0].dtype, at), list(a[0].shape)], {}, at)


@op(A.copy_.default)
def copy_(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.copy`."""
    return copied(a[0], a[1], at)


def scale_of(q: Tensor, scale: float | None) -> float:
    """The scale of attention scores."""
    return float(scale if scale is not None else float(q.shape[-1]) ** -0.5)


def dtype_kw(k: Kwargs) -> Kwargs:
    """Our keyword for a dtype."""
    return {"dtype": our_dtype(k["dtype"])} if k.get("dtype") is not None else {}


for n in ("zeros", "ones", "empty", "full", "arange", "eye"):
    for t in (getattr(getattr(A, n), o) for o in getattr(A, n).overloads()):
        TABLE[t] = lambda a, k, at, n=n: call(
            n, [list(a[0]), *a[1:]] if isinstance(a[0], (list, tuple)) else list(a), dtype_kw(k), at
        )
for n in ("zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like"):
    TABLE[getattr(A, n).default] = lambda a, k, at, n=n: call(n, list(a), dtype_kw(k), at)
TABLE[A.scalar_tensor.default] = lambda a, k, at: call("full", [[], a[0]], dtype_kw(k), at)
TABLE[A.new_zeros.default] = lambda a, k, at: call("zeros", [list(a[1])], dtype_kw(k) or {"dtype": a[0].dtype}, at)
TABLE[A.new_ones.default] = lambda a, k, at: call("ones", [list(a[1])], dtype_kw(k) or {"dtype": a[0].dtype}, at)
TABLE[A.new_full.default] = lambda a, k, at: call("full", [list(a[1]), a[2]], dtype_kw(k) or {"dtype": a[0].dtype}, at)
TABLE[A.new_empty_strided.default] = lambda a, k, at: call(
    "empty", [list(a[1])], dtype_kw(k) or {"dtype": a[0].dtype}, at
)
TABLE[A.empty_strided.default] = lambda a, k, at: call("empty", [list(a[0])], dtype_kw(k), at)
TABLE[A.empty.memory_format] = lambda a, k, at: call("empty", [list(a[0])], dtype_kw(k), at)
TABLE[A._is_all_true.default] = lambda a, k, at: call("all", [a[0]], {}, at)
TABLE[A._is_any_true.default] = lambda a, k, at: call("any", [a[0]], {}, at)
TABLE[A.empty_permuted.default] = lambda a, k, at: call("empty", [list(a[0])], dtype_kw(k), at)


@op(A.numpy_T.default)
def numpy_t(a: Args, k: Kwargs, at: At) -> Any:
    """`x.T`."""
    return call("permute", [a[0], list(range(a[0].ndim))[::-1]], {}, at)


@op(A.mT.default, A.mH.default, A.matrix_H.default)
def matrix_t(a: Args, k: Kwargs, at: At) -> Any:
    """`x.mT`, and `x.H` of real numbers."""
    return call("transpose", [a[0], -2, -1], {}, at)


@op(A._softmax.default)
def softmax(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.softmax`."""
    return call("softmax", [a[0], a[1]], {}, at)


@op(A._log_softmax.default)
def log_softmax(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.log_softmax`."""
    return call("log_softmax", [a[0], a[1]], {}, at)


TABLE[A._softmax_backward_data.default] = lambda a, k, at: convert(
    call("prims.softmax_backward", list(a[:3]), {}, at), a[3], at
)
TABLE[A._log_softmax_backward_data.default] = lambda a, k, at: convert(
    call("prims.log_softmax_backward", list(a[:3]), {}, at), a[3], at
)


@op(A.embedding.default)
def embedding(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.embedding`."""
    return call("nn.functional.embedding", [a[1], a[0]], {}, at)


@op(A.embedding_dense_backward.default)
def embedding_backward(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.embedding_backward`."""
    return call("prims.embedding_backward", list(a[:4]), {}, at)


@op(A.gelu_backward.default)
def gelu_backward(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.gelu_backward`."""
    return call("prims.gelu_backward", [a[0], a[1], k.get("approximate", "none")], {}, at)


@op(A.gelu.default)
def gelu(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.gelu`."""
    return call("nn.functional.gelu", [a[0]], {"approximate": k.get("approximate", "none")}, at)


@op(A.native_layer_norm_backward.default)
def layer_norm_backward(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.layer_norm_backward`."""
    g, x, shape, mean, rstd, w, b, mask = a
    out = call("prims.layer_norm_backward", [g, x, mean, rstd, w, list(shape)], {}, at)
    return tuple(o if m else None for o, m in zip(out, mask))


REDUCTION = ("none", "mean", "sum")


@op(A.nll_loss_forward.default)
def nll_loss_forward(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.nll_loss_forward`."""
    x, target, w, reduction, ignore = a
    loss = call(
        "nn.functional.nll_loss",
        [x, target],
        {"weight": w, "ignore_index": ignore, "reduction": REDUCTION[reduction]},
        at,
    )
    kept = convert(call("ne", [target, ignore], {}, at), x.dtype, at)
    return (loss, call("sum", [kept], {}, at))


@op(A.nll_loss_backward.default)
def nll_loss_backward(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.nll_loss_backward`."""
    g, x, target, w, reduction, ignore, total = a
    return call("prims.nll_loss_backward", [g, target, w, x.shape[1], ignore, REDUCTION[reduction]], {}, at)


@op(A.native_dropout.default)
def native_dropout(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.native_dropout`."""
    x, p, train = a
    if train is False or p == 0:
        return (call("clone", [x], {}, at), call("ones_like", [x], {"dtype": BOOL}, at))
    mask = call("ge", [call("rand_like", [x], {"dtype": Dtype.float32}, at), p], {}, at)
    scaled = call("mul", [x, 1.0 / (1.0 - p)], {}, at)
    return (call("mul", [scaled, convert(mask, x.dtype, at)], {}, at), mask)


@op(A._scaled_dot_product_flash_attention_for_cpu.default)
def flash(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.flash`."""
    q, key, v = a[:3]
    p = a[3] if len(a) > 3 else k.get("dropout_p", 0.0)
    causal = a[4] if len(a) > 4 else k.get("is_causal", False)
    scale = k.get("scale")
    if p:
        raise Unsupported("attention dropout in _scaled_dot_product_flash_attention_for_cpu")
    out, lse = call(
        "prims.scaled_dot_product_attention",
        [q, key, v, k.get("attn_mask"), causal, scale_of(q, scale)],
        {},
        at,
    )
    return (call("transpose", [out, 1, 2], {}, at), call("detach", [lse], {}, at))


@op(A._scaled_dot_product_flash_attention_for_cpu_backward.default)
def flash_backward(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.flash_backward`."""
    g, q, key, v, out, lse, p, causal = a[:8]
    scale = k.get("scale")
    return tuple(
        call("transpose", [t, 1, 2], {}, at)
        for t in call(
            "prims.scaled_dot_product_attention_backward",
            [g, q, key, v, lse, k.get("attn_mask"), causal, scale_of(q, scale)],
            {},
            at,
        )
    )


@op(A.index.Tensor)
def index(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.index`."""
    full = [slice(None) if i is None else i for i in a[1]]
    return call("__getitem__", [a[0], full], {}, at)


@op(A.index_put.default, A._unsafe_index_put.default)
def index_put(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.index_put`."""
    x, idx, v = a[:3]
    acc = a[3] if len(a) > 3 else False
    if any(i is not None and i.dtype == BOOL for i in idx):
        return call("index_put", [x, list(idx), v, acc], {}, at)
    return call("prims.index_put", [x, list(idx), v, acc], {}, at)


@op(A.scatter.value, A.scatter.src)
def scatter(a: Args, k: Kwargs, at: At) -> Any:
    """`aten.scatter`."""
    return call("scatter", list(a), {}, at)


TABLE[A.pow.Scalar] = renamed("pow")
if hasattr(torch.ops.prims, "fma"):
    TABLE[torch.ops.prims.fma.default] = lambda a, k, at: call("add", [call("mul", [a[0], a[1]], {}, at), a[2]], {}, at)
TABLE[A._local_scalar_dense.default] = reading(lambda a, k, at: a[0].item(at))
# Our kernels raise by themselves where a matrix is singular.
TABLE[A._linalg_check_errors.default] = lambda a, k, at: None
TABLE[A._assert_async.msg] = lambda a, k, at: None
TABLE[A.sym_size.int] = lambda a, k, at: a[0].shape[a[1]]
TABLE[A.scaled_dot_product_attention.default] = lambda a, k, at: call(
    "nn.functional.scaled_dot_product_attention", list(a), {x: v for x, v in k.items()}, at
)
TABLE[A.layer_norm.default] = lambda a, k, at: call("nn.functional.layer_norm", list(a[:5]), {}, at)


def is_mutable(target: Any) -> bool:
    """Returns True if an overload writes into an argument."""
    schema = getattr(target, "_schema", None)
    return schema is not None and schema.is_mutable


def _in_place(target: Any, args: Args, kwargs: Kwargs, at: At) -> Any:
    name = target.overloadpacket._qualified_op_name.split("::")[1]
    if not name.endswith("_") or target.namespace != "aten":
        raise Unsupported(str(target))
    method_call(name, list(args), dict(kwargs), at)
    return args[0]


def run(target: Any, args: Args, kwargs: Kwargs, at: At) -> Any:
    """Records a call of an ATen operator; Unsupported where there is none of ours for it."""
    h = TABLE.get(target)
    if h is None and isinstance(target, torch._ops.OpOverloadPacket):
        h = next((TABLE[o] for o in (getattr(target, name) for name in target.overloads()) if o in TABLE), None)
    if h is not None:
        return h(args, kwargs, at)
    if is_mutable(target):
        return _in_place(target, args, kwargs, at)
    packet = target if isinstance(target, torch._ops.OpOverloadPacket) else target.overloadpacket
    name = packet._qualified_op_name.split("::")[1]
    if packet._qualified_op_name.split("::")[0] != "aten":
        raise Unsupported(str(target))
    for n in (name, "nn.functional." + name, "linalg." + name.replace("linalg_", "")):
        if (known(n) or (n.endswith("_") and known(n[:-1]))) and agrees(n, target):
            return by_name(n, args, kwargs, at)
    raise Unsupported(str(target))


from . import aten_layers  # noqa: E402, F401  it fills the table
