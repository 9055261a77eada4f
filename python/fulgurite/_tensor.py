"""Members of `fulgurite.Tensor` that are written in Python: operators as methods, indexing, NumPy and DLPack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core, ops
from ._core import Dtype, Tensor

_BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_COMPARISONS = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
_UNARY = {"neg": "neg", "abs": "abs", "invert": "bitwise_not"}
# Methods that take their sizes one after another.
_SIZES = frozenset({"view", "reshape", "permute", "expand", "repeat", "tile", "flip", "broadcast_to"})
_CASTS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
}


def from_dlpack(x: Any) -> Tensor:
    """A tensor over the memory of `x`: an array or tensor of PyTorch, NumPy, JAX or whatever else has `__dlpack__`.

    Nothing is copied: writes through either are seen by both. TypeError where the memory is not the CPU's or the
    dtype is unknown.
    """
    return _core.from_dlpack(x)


def tensor(data: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A new tensor with the numbers of nested lists, or a copy of another tensor or array."""
    wanted = None if dtype is None else _core.dtype(dtype)
    if hasattr(data, "__dlpack__"):
        copy = _cast(_core.call("clone", [_core.from_dlpack(data)]).detach(), wanted)
        return copy.requires_grad_() if requires_grad else copy
    return _core.tensor(data, wanted, requires_grad)


def asarray(data: Any, *, dtype: Any = None) -> Tensor:
    """`data` as a tensor: over its memory where it has some that can be shared, else a copy."""
    if isinstance(data, Tensor):
        return _cast(data, None if dtype is None else _core.dtype(dtype))
    if hasattr(data, "__dlpack__"):
        try:
            return _cast(from_dlpack(data), None if dtype is None else _core.dtype(dtype))
        except (ValueError, BufferError):  # read-only, or turned round
            data = data.copy() if hasattr(data, "copy") else data
            return _cast(from_dlpack(data), None if dtype is None else _core.dtype(dtype))
    return tensor(data, dtype=dtype)


def _cast(x: Tensor, dtype: Dtype | None) -> Tensor:
    return x if dtype is None or x.dtype == dtype else _core.call("prims.convert_element_type", [x, dtype])


def _binary(name: str) -> Callable[[Tensor, Any], Any]:
    def method(self: Tensor, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        return _core.call(name, [self, other])

    return method


def _reflected(name: str) -> Callable[[Tensor, Any], Any]:
    def method(self: Tensor, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        if name in ("floor_divide", "matmul", "bitwise_left_shift", "bitwise_right_shift"):
            other = _core.tensor(other, None, False)
        return _core.call(name, [other, self])

    return method


def _in_place(name: str) -> Callable[[Tensor, Any], Any]:
    def method(self: Tensor, other: Any) -> Any:
        _core.call(name + "_", [self, other])
        return self

    return method


def _is_operand(x: Any) -> bool:
    return (
        isinstance(x, (Tensor, int, float, _core.Int, _core.Float))
        or hasattr(x, "__dlpack__")
        or hasattr(x, "__index__")
    )


def _getitem(self: Tensor, index: Any) -> Any:
    return _core.call("__getitem__", [self, list(index) if isinstance(index, tuple) else [index]])


def _iter(self: Tensor) -> Any:
    for i in range(len(self)):
        yield self[i]


def _to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    dtype = kwargs.get("dtype")
    for argument in args:
        if isinstance(argument, Tensor):
            dtype = argument.dtype
        elif str(argument).split(":")[0] not in ("cpu", "cuda", "meta"):
            dtype = argument
        elif not str(argument).startswith("cpu"):
            raise _core.Error(f"to: device {argument}: fulgurite runs on the CPU")
    return self if dtype is None else _cast(self, _core.dtype(dtype))


def _numpy(self: Tensor) -> Any:
    """The elements as a NumPy array over the same memory. Of bf16, which NumPy does not have, an error."""
    if self.requires_grad:
        raise _core.Error("numpy: the tensor requires grad; use .detach().numpy()")
    if self.dtype == Dtype.bfloat16:
        raise _core.Error("numpy: NumPy has no bfloat16; use .float().numpy()")
    import numpy

    return numpy.from_dlpack(self)


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    import numpy

    array = _numpy(self.detach() if self.requires_grad else self)
    return numpy.array(array, dtype=dtype, copy=True) if copy else numpy.asarray(array, dtype=dtype)


def _dlpack(
    self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    if self.requires_grad:
        raise BufferError("the tensor requires grad; use .detach()")
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError("fulgurite's tensors are on the CPU")
    shared = _core.call("clone", [self]) if copy else self
    return _core.to_capsule(shared, max_version is not None and max_version[0] >= 1)


def _method(self: Tensor, name: str) -> Callable[..., Any]:
    """The operator `name` as a method: what Tensor is asked for and does not have yet."""
    if name.startswith("__"):
        raise AttributeError(f"fulgurite.Tensor has no attribute {name!r}")
    try:
        function = getattr(ops, name)
    except AttributeError:
        raise AttributeError(f"fulgurite.Tensor has no attribute {name!r}, and there is no such operator") from None
    if name in _SIZES:

        def method(self: Tensor, *sizes: Any, **kwargs: Any) -> Any:
            if sizes and not isinstance(sizes[0], (list, tuple)):
                sizes = (list(sizes),)
            return function(self, *sizes, **kwargs)
    else:

        def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            return function(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, function.__doc__
    setattr(Tensor, name, method)
    return method.__get__(self)


def _copy_(self: Tensor, source: Any) -> Tensor:
    """Writes `source` over all elements."""
    _core.set_item(self, ..., source, None)
    return self


def _transposed(self: Tensor) -> Any:
    return _core.call("permute", [self, list(range(self.ndim))[::-1]])


def complete() -> None:
    """Gives the extension's class its Python part; called once, when the package is imported."""
    for python, name in _BINARY.items():
        setattr(Tensor, f"__{python}__", _binary(name))
        setattr(Tensor, f"__r{python}__", _reflected(name))
        setattr(Tensor, f"__i{python}__", _in_place(name))
    for python, name in _COMPARISONS.items():
        setattr(Tensor, f"__{python}__", _binary(name))
    for python, name in _UNARY.items():
        setattr(Tensor, f"__{python}__", lambda self, name=name: _core.call(name, [self]))
    for method, dtype in _CASTS.items():
        setattr(Tensor, method, lambda self, dtype=dtype: _cast(self, getattr(Dtype, dtype)))
    members = {
        "__getitem__": _getitem,
        "__iter__": _iter,
        "__hash__": object.__hash__,
        "__array__": _array,
        "__dlpack__": _dlpack,
        "__dlpack_device__": lambda self: (1, 0),
        "__getattr__": _method,
        "to": _to,
        "type": _to,
        "numpy": _numpy,
        "cpu": lambda self: self,
        "copy_": _copy_,
        "T": property(_transposed),
        "mT": property(lambda self: _core.call("transpose", [self, -2, -1])),
        "__dlpack_c_exchange_api__": _core.exchange_capsule(),
    }
    for name, member in members.items():
        setattr(Tensor, name, member)
