"""Sizes that are symbols of the trace, as the integers that PyTorch's code computes with.

A `Symbol` is a torch.SymInt, which PyTorch takes wherever it takes an int. Sums, differences, products, quotients and
remainders stay symbols; where a number itself is needed (comparisons, ranges, floats, PyTorch's C++ code), the program
is for calls in which the comparison has that result, or the size that value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental._constant_symnode import ConstantIntNode
from torch.utils._pytree import tree_map

from .. import _core


def symbol_of(value: Any) -> Any:
    """A Symbol of what depends on a size, else an int."""
    return Symbol(value) if isinstance(value, _core.Int) and value.is_symbolic else int(value)


def _recorded(compute: Callable[[Any, Any], Any], is_reversed: bool = False) -> Callable[..., Any]:
    """An operator that is recorded for integers, and for others computed with the size's value."""

    def call(self: Symbol, other: Any) -> Any:
        if isinstance(other, Symbol):
            other = other._fg
        elif isinstance(other, int):
            other = _core.Int(int(other))
        elif isinstance(other, (float, complex)):
            return compute(other, int(self)) if is_reversed else compute(int(self), other)
        else:
            return NotImplemented
        return symbol_of(compute(other, self._fg) if is_reversed else compute(self._fg, other))

    return call


def _of_values(compute: Callable[..., Any]) -> Callable[..., Any]:
    """An operator on the values."""

    def call(self: Symbol, *others: Any) -> Any:
        if not all(isinstance(x, (Symbol, int, float, complex)) for x in others):
            return NotImplemented
        return compute(int(self), *[int(x) if isinstance(x, Symbol) else x for x in others])

    return call


def _reversed(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: compute(b, a)


def _compared(compute: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A comparison, whose result the program is for."""

    def call(self: Symbol, other: Any) -> Any:
        if isinstance(other, Symbol):
            return compute(self._fg, other._fg)
        if isinstance(other, int):
            return compute(self._fg, _core.Int(int(other)))
        return compute(int(self), other) if isinstance(other, (float, complex)) else NotImplemented

    return call


class Symbol(torch.SymInt):
    """An integer that is a symbol of the trace."""

    def __init__(self, value: _core.Int) -> None:
        self._fg = value

    @property
    def node(self) -> ConstantIntNode:
        """For PyTorch's C++ code, which computes with the value."""
        return ConstantIntNode(int(self))

    def __int__(self) -> int:
        return int(self._fg)

    __index__ = __trunc__ = __int__

    def __float__(self) -> float:
        return float(int(self))

    def __complex__(self) -> complex:
        return complex(int(self))

    def __bool__(self) -> bool:
        return bool(self._fg)

    def __hash__(self) -> int:
        return hash(int(self))

    def __repr__(self) -> str:
        return repr(int(self))

    def __format__(self, form: str) -> str:
        return format(int(self), form)

    def __neg__(self) -> Any:
        return symbol_of(-self._fg)

    def __pos__(self) -> Symbol:
        return self

    def __round__(self, ndigits: int | None = None) -> Any:
        return self if ndigits is None or ndigits >= 0 else round(int(self), ndigits)

    def __copy__(self) -> Symbol:
        return self

    def __deepcopy__(self, memo: Any) -> Symbol:
        return self

    __floor__ = __ceil__ = conjugate = __pos__
    __abs__ = _of_values(abs)
    __invert__ = _of_values(operator.invert)


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(Symbol, f"__{_name}__", _recorded(getattr(operator, _name)))
    setattr(Symbol, f"__r{_name}__", _recorded(getattr(operator, _name), is_reversed=True))
for _name in ("truediv", "pow", "and_", "or_", "xor", "lshift", "rshift"):
    _compute = getattr(operator, _name)
    setattr(Symbol, f"__{_name.rstrip('_')}__", _of_values(_compute))
    setattr(Symbol, f"__r{_name.rstrip('_')}__", _of_values(_reversed(_compute)))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Symbol, f"__{_name}__", _compared(getattr(operator, _name)))
setattr(Symbol, "__divmod__", _of_values(divmod))
setattr(Symbol, "__rdivmod__", _of_values(_reversed(divmod)))


def sizes_of(value: _core.Tensor) -> list[Any]:
    """The sizes of a value of the trace."""
    return [size if isinstance(size, int) else symbol_of(size) for size in value.shape]


def fix_sizes(value: _core.Tensor) -> None:
    """The program is for calls with these sizes: PyTorch's C++ code reads them."""
    for size in value.shape:
        int(size)


def with_values(tree: Any) -> Any:
    """The same with integers in the place of symbols."""
    return tree_map(lambda x: int(x) if isinstance(x, Symbol) else x, tree)


def metadata(value: _core.Tensor, name: str, given: tuple[Any, ...]) -> Any:
    """The result of PyTorch's attribute or method of a tensor; NotImplemented where it does not depend on symbols."""
    sizes = sizes_of(value)
    if not any(isinstance(size, Symbol) for size in sizes):
        return NotImplemented
    if name == "shape" or (name == "size" and (not given or given[0] is None)):
        return torch.Size(sizes)
    if name == "size":
        return sizes[given[0]]
    if name in ("numel", "nelement"):
        return _product(sizes)
    if name == "stride":
        strides = [_product(sizes[i + 1 :]) for i in range(len(sizes))]
        return strides[given[0]] if given and given[0] is not None else tuple(strides)
    if name in ("__len__", "nbytes", "untyped_storage", "__repr__", "__format__"):
        fix_sizes(value)
    return NotImplemented


def _product(sizes: list[Any]) -> Any:
    product: Any = 1
    for size in sizes:
        product = product * size
    return product
