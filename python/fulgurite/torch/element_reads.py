"""Methods of tensors that give elements to Python: the subgraph recorded so far is run before them."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .calls import TORCH_DTYPE

# Methods that read one element.
ELEMENTS = {"item": lambda v: v, "__bool__": bool, "__int__": int, "__float__": float, "__index__": int}


def array_of(value: Tensor, dtype: Any = None) -> Any:
    """A NumPy array of the elements of a value of the trace."""
    import numpy

    own = numpy.array(value.tolist(), dtype=str(TORCH_DTYPE[value.dtype]).removeprefix("torch."))
    return own if dtype is None else own.astype(dtype)


# Methods that read all elements.
LISTS = {"tolist": lambda value: value.tolist(), "numpy": array_of, "__array__": array_of}
