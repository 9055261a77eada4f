"""Functions and methods of PyTorch whose arguments are not those of one of our operators."""

from __future__ import annotations

import builtins
import operator
from typing import Any

import torch
import torch.nn.functional as F

from .. import _core
from .._core import Dtype, Tensor, Unsupported
from .calls import (
    BOOL,
    FLOATING,
    FUNCTIONS,
    METHODS,
    At,
    Handler,
    by_name,
    call,
    check_device,
    convert,
    copied,
    function,
    has_tensor,
    method,
    reading,
)

_SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_NEED_TENSOR_FIRST = {"floor_divide", "bitwise_left_shift", "bitwise_right_shift"}


def _binary(op: str, python: Any) -> Handler:
    def handler(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
        if not has_tensor(args):
            return python(*args)
        a, b = args
        if not isinstance(a, Tensor) and op in _SWAPPED:
            return call(_SWAPPED[op], [b, a], {}, at)
        if not isinstance(a, Tensor) and op in _NEED_TENSOR_FIRST:
            a = call("full", [[], a], {}, at)
        return call(op, [a, b], {}, at)

    return handler


def _unary(op: str, python: Any) -> Handler:
    return lambda args, kwargs, at: call(op, args, {}, at) if isinstance(args[0], Tensor) else python(*args)


_BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and_": "bitwise_and",
    "or_": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "eq": "eq",
    "ne": "ne",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
}
_IN_PLACE = {
    "iadd": "add_",
    "isub": "sub_",
    "imul": "mul_",
    "itruediv": "div_",
    "iand": "bitwise_and_",
    "ior": "bitwise_or_",
    "ixor": "bitwise_xor_",
    "ipow": "pow_",
    "imod": "remainder_",
}
for _name, _op in {**_BINARY, **_IN_PLACE}.items():
    _python = builtins.getattr(operator, _name)
    FUNCTIONS[_python] = _handler = _binary(_op, _python)
    METHODS[f"__{_name.rstrip('_')}__"] = _handler
    if _name in _BINARY and _op not in _SWAPPED:
        METHODS[f"__r{_name.rstrip('_')}__"] = lambda args, kwargs, at, h=_handler: h([args[1], args[0]], kwargs, at)
for _python, _op in ((operator.neg, "neg"), (operator.invert, "bitwise_not"), (operator.abs, "abs")):
    FUNCTIONS[_python] = METHODS[f"__{_python.__name__}__"] = _unary(_op, _python)


@function(operator.getitem)
@method("__getitem__")
def getitem(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
    """An index, of a tensor or of what holds some."""
    x, index = args
    if not isinstance(x, Tensor):
        return x[index]
    return call("__getitem__", [x, list(index) if isinstance(index, tuple) else [index]], {}, at)


@function(operator.setitem)
@method("__setitem__")
def setitem(args: list[Any], kwargs: dict[str, Any], at: At) -> None:
    """A write through an index."""
    x, index, value = args
    _core.set_item(x, index, value, at)


@function(builtins.getattr)
def get_attribute(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
    """An attribute that Dynamo left in its graph."""
    return attribute(args[0], args[1], at)


def attribute(x: Any, name: str, at: At) -> Any:
    """An attribute of a tensor of ours, as PyTorch's tensor has it."""
    if not isinstance(x, Tensor):
        return builtins.getattr(x, name)
    if name in ("shape", "dtype", "ndim", "requires_grad"):
        return builtins.getattr(x, name)
    if name == "T":
        return call("permute", [x, list(range(x.ndim))[::-1]], {}, at)
    if name in ("mT", "H"):
        return call("transpose", [x, -2, -1], {}, at)
    if name == "device":
        return torch.device("cpu")
    if name == "data":
        return call("detach", [x], {}, at)
    if name in ("is_cuda", "is_sparse", "is_quantized", "is_meta", "is_nested"):
        return False
    if name == "real":
        return x
    raise Unsupported(f"torch.Tensor.{name} (no such attribute while a function is recorded)")


_CASTS = {
    "float": Dtype.float32,
    "double": Dtype.float64,
    "half": Dtype.float16,
    "bfloat16": Dtype.bfloat16,
    "int": Dtype.int32,
    "long": Dtype.int64,
    "bool": BOOL,
    "byte": Dtype.uint8,
    "short": Dtype.int16,
    "char": Dtype.int8,
}
for _name, _dtype in _CASTS.items():
    METHODS[_name] = lambda args, kwargs, at, d=_dtype: convert(args[0], d, at)


@method("to", "type")
def to(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
    """Another dtype; a device other than the CPU is not ours."""
    x, dtype = args[0], kwargs.get("dtype")
    check_device(kwargs.get("device"))
    for argument in args[1:]:
        if isinstance(argument, (torch.dtype, Dtype)):
            dtype = argument
        elif isinstance(argument, Tensor):
            dtype = argument.dtype
        elif isinstance(argument, (str, torch.device)):
            check_device(argument)
    if kwargs.get("other") is not None:
        dtype = kwargs["other"].dtype
    out = convert(x, dtype, at) if dtype is not None else x
    return call("clone", [x], {}, at) if kwargs.get("copy") and out is x else out


METHODS["type_as"] = lambda args, kwargs, at: convert(args[0], args[1].dtype, at)
for _name in ("cpu", "pin_memory"):
    METHODS[_name] = lambda args, kwargs, at: args[0]
METHODS["alias"] = lambda args, kwargs, at: call("view", [args[0], list(args[0].shape)], {}, at)


METHODS["requires_grad_"] = METHODS["cpu"]  # Dynamo ends a graph where it would be seen


@method("detach_")
def detach_(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
    """The history of what is recorded stays."""
    raise Unsupported("detach_() of a tensor inside of a compiled function; use detach()")


@method("size")
def size(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
    """Sizes are numbers, or symbols."""
    rest = args[1:] or ([kwargs["dim"]] if "dim" in kwargs else [])
    return args[0].shape[rest[0]] if rest else args[0].shape


METHODS["dim"] = METHODS["ndimension"] = lambda args, kwargs, at: args[0].ndim
METHODS["numel"] = METHODS["nelement"] = FUNCTIONS[torch.numel] = lambda args, kwargs, at: args[0].numel()
METHODS["is_floating_point"] = FUNCTIONS[torch.is_floating_point] = lambda args, kwargs, at: args[0].dtype in FLOATING
METHODS["is_complex"] = FUNCTIONS[torch.is_complex] = lambda args, kwargs, at: False
METHODS["is_contiguous"] = lambda args, kwargs, at: True
METHODS["__len__"] = lambda args, kwargs, at: args[0].shape[0]


def _several(op: str, keyword: str) -> Handler:
    """Sizes one after another, or in one list."""

    def handler(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
        sizes = args[1:]
        if len(sizes) == 1 and isinstance(sizes[0], (torch.dtype, Dtype)):
            raise Unsupported(f"{op} as another dtype")
        if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
            sizes = sizes[0]
        if not args[1:] and keyword in kwargs:
            sizes = kwargs[keyword]
        return call(op, [args[0], list(sizes)], {}, at)

    return handler


for _name, _keyword in (
    ("view", "size"),
    ("reshape", "shape"),
    ("permute", "dims"),
    ("expand", "size"),
    ("repeat", "repeats"),
    ("flip", "dims"),
    ("tile", "dims"),
    ("broadcast_to", "size"),
):
    METHODS[_name] = _several(_name, _keyword)


@function(torch.functional.einsum, torch.einsum)
def einsum(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
    """Operands one after another, or in one list."""
    operands = args[1] if len(args) == 2 and isinstance(args[1], (list, tuple)) else args[1:]
    return call("einsum", [args[0], list(operands)], {}, at)


@function(torch.functional.meshgrid, torch.meshgrid)
def meshgrid(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
    """Likewise."""
    tensors = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return call("meshgrid", [list(tensors)], {k: v for k, v in kwargs.items() if v is not None}, at)


@function(torch.functional.split, torch.split)
@method("split", "split_with_sizes")
def split(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
    """The size of parts has several names."""
    sizes = (
        args[1]
        if len(args) > 1
        else next(kwargs[k] for k in ("split_size_or_sections", "split_size", "split_sizes") if k in kwargs)
    )
    return call("split", [args[0], sizes, args[2] if len(args) > 2 else kwargs.get("dim", 0)], {}, at)


@function(torch.layer_norm)
def layer_norm(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
    """Without what chooses a library."""
    return call("nn.functional.layer_norm", args[:5], {k: v for k, v in kwargs.items() if k != "cudnn_enable"}, at)


@function(torch.dropout)
def dropout(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
    """`train` must be given."""
    return call("nn.functional.dropout", [args[0], args[1], args[2] if len(args) > 2 else kwargs["train"]], {}, at)


@function(torch.batch_norm)
def batch_norm(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
    """The statistics stand behind the weights."""
    x, weight, bias, mean, variance, training, momentum, eps = args[:8]
    return call("nn.functional.batch_norm", [x, mean, variance, weight, bias, training, momentum, eps], {}, at)


@function(torch.rsub)
def rsub(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
    """Subtraction the other way round."""
    alpha = kwargs.get("alpha", args[2] if len(args) > 2 else 1)
    return call("sub", [args[1], args[0]], {} if alpha == 1 else {"alpha": alpha}, at)


def _cropped(x: Tensor, widths: list[int], at: At) -> Tensor:
    """Without what negative widths of a circular padding take away, which happens before."""
    for i in range(0, len(widths), 2):
        dim, low, high = x.ndim - 1 - i // 2, max(-widths[i], 0), max(-widths[i + 1], 0)
        x = call("narrow", [x, dim, low, x.shape[dim] - low - high], {}, at)
    return x


@function(F.pad, torch._C._nn.pad)
def pad(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
    """The widths may be a tuple."""
    mode = args[2] if len(args) > 2 else kwargs.get("mode", "constant")
    if mode == "circular" and any(isinstance(width, int) and width < 0 for width in args[1]):
        args = [_cropped(args[0], list(args[1]), at), [max(width, 0) for width in args[1]], *args[2:]]
    return by_name("nn.functional.pad", [args[0], list(args[1]), *args[2:]], kwargs, at)


@function(torch.diff)
@method("diff")
def diff(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
    """Differences of neighbours, as often as is asked."""
    x = args[0]
    n = args[1] if len(args) > 1 else kwargs.get("n", 1)
    dim = args[2] if len(args) > 2 else kwargs.get("dim", -1)
    if n < 0:
        raise Unsupported("diff of a negative order")
    ends = {"prepend": kwargs.get("prepend"), "append": kwargs.get("append")} | dict(
        zip(("prepend", "append"), args[3:])
    )
    if n == 0:
        return call("clone", [x], {}, at)
    parts = [t for t in (ends["prepend"], x, ends["append"]) if t is not None]
    if len(parts) > 1:
        x = call("cat", [parts, dim], {}, at)
    for _ in range(min(n, int(x.shape[dim]))):
        rest = x.shape[dim] - 1
        later, earlier = call("narrow", [x, dim, 1, rest], {}, at), call("narrow", [x, dim, 0, rest], {}, at)
        x = call("logical_xor" if x.dtype == BOOL else "sub", [later, earlier], {}, at)
    return x


@method("item", "tolist")
def reads_elements(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
    """Elements are not known while a graph is recorded."""
    raise Unsupported("the value of a tensor is asked for")


@reading
def _start_is_read(args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
    given = dict(zip(("input", "dim", "start", "length"), args)) | kwargs
    start = given["start"]
    if isinstance(start, Tensor):
        if start.ndim or start.dtype in FLOATING or start.dtype == BOOL:
            raise Unsupported("narrow from such a start")
        given["start"] = int(start.item(at))
    return by_name("narrow", [given.pop("input")], given, at)


FUNCTIONS[torch.narrow] = METHODS["narrow"] = _start_is_read
METHODS["copy_"] = lambda args, kwargs, at: copied(args[0], args[1], at)
METHODS["clone"] = FUNCTIONS[torch.clone] = lambda args, kwargs, at: call("clone", args[:1], {}, at)
METHODS["contiguous"] = lambda args, kwargs, at: call("contiguous", args[:1], {}, at)
for _function in (torch._check, torch._assert, torch._assert_async, torch._C._log_api_usage_once):
    FUNCTIONS[_function] = lambda args, kwargs, at: None


def _extreme(op: str, of_two: str) -> Handler:
    """Among all elements, along a dimension, or of two tensors."""

    def handler(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
        other = args[1] if len(args) > 1 else kwargs.get("other")
        if isinstance(other, Tensor):
            return call(of_two, [args[0], other], {}, at)
        return by_name(op, args, kwargs, at)

    return handler


FUNCTIONS[torch.min] = METHODS["min"] = _extreme("min", "minimum")
FUNCTIONS[torch.max] = METHODS["max"] = _extreme("max", "maximum")
